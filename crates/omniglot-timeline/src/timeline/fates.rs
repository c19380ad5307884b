//! The fate of every item that the agent may still speak of, by its key (T5, T9).
//!
//! ```text
//!             started             the agent ends it
//!  unknown ───────────▶ open ───────────────────────────▶ ended
//!     │                   │  the turn ends before that      ▲ │
//!     │                   └───▶ ended, cut: the rest may ───┤ │ words for an item that has ended
//!     │                         come until the next turn    │ │
//!     │                         ends                        │ ▼
//!     └──────────────────────────────────────────────────▶ late
//!       words while no turn runs           the agent ends it, or a turn begins or ends
//! ```
//!
//! An item that has ended and then is spoken of is both, which is why these two are one state here, `Over`. A call
//! has two items under one key, and so two states: that of the call and that of its result.
//!
//! A key leaves the map when the second turn after its end begins: an agent that speaks of older items speaks to
//! nobody, and a long session must not keep them all. Two kinds of calls are kept until the agent's process is gone:
//! those that a turn left without the agent's own result (a command may outlive many turns), and those that began
//! something which goes on.

use std::collections::HashMap;

use omniglot_schema::{CallId, ItemId, ItemRole};

use super::bodies::Content;
use crate::draft::{Body, ItemKey};

/// One of the items of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot<'a> {
    pub(super) key: &'a ItemKey,
    pub(super) half: Half,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    /// An item without a result, or the call itself.
    Item,
    /// The result of the call.
    Result,
}

impl<'a> Slot<'a> {
    pub(super) fn item(key: &'a ItemKey) -> Self {
        Self { key, half: Half::Item }
    }

    pub(super) fn result(key: &'a ItemKey) -> Self {
        Self { key, half: Half::Result }
    }
}

#[derive(Debug, Default)]
pub(super) struct Fates {
    by_key: HashMap<ItemKey, ItemFate>,
    /// The keys of items and calls by their ids, so that nobody looks for one among all. A key may have another item
    /// by now.
    items: HashMap<ItemId, (ItemKey, Half)>,
    calls: HashMap<CallId, ItemKey>,
    /// How many turns have begun.
    turn: u64,
}

#[derive(Debug, Default)]
struct ItemFate {
    item: State,
    result: State,
    /// The call that began under this key in the running turn.
    call: Option<Call>,
    is_kept: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unknown,
    Open(OpenItem),
    Over(Over),
}

#[derive(Debug)]
pub(super) struct OpenItem {
    pub(super) id: ItemId,
    /// The sequence of its start.
    pub(super) since: u64,
    pub(super) native_id: Option<String>,
    pub(super) parent: Option<ItemId>,
    pub(super) body: Content,
    /// The deltas so far.
    pub(super) streamed: String,
    /// Whether there were more than its bound.
    pub(super) is_full: bool,
}

impl OpenItem {
    pub(super) fn is_of_user(&self) -> bool {
        matches!(self.body, Content::Plain(Body::Message { role: ItemRole::User, .. }))
    }
}

/// An item that has ended, or that had no turn to begin in.
#[derive(Debug, Default)]
struct Over {
    /// The item that has ended.
    id: Option<ItemId>,
    /// How many turns had begun.
    turn: u64,
    /// The text that was streamed of an item which the agent did not end itself.
    cut: Option<String>,
    late: Option<LateItem>,
    /// More of it is dropped: it has reached its bound.
    is_full: bool,
}

/// Something that is told too late, until the agent ends it or a turn begins or ends.
#[derive(Debug, Clone)]
pub(super) struct LateItem {
    pub(super) parent: Option<ItemId>,
    /// The status item that tells it, once there are words.
    pub(super) item: Option<ItemId>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    /// The item of the call, which may share its key with a message that contradicts it.
    pub(super) item: ItemId,
    /// The sequence of its start.
    pub(super) since: u64,
    pub(super) native_id: Option<String>,
    pub(super) parent: Option<ItemId>,
    /// Somebody rejected it: an agent may never mention it again.
    pub(super) rejected: bool,
}

impl Fates {
    fn state(&self, at: Slot<'_>) -> Option<&State> {
        let fate = self.by_key.get(at.key)?;
        Some(if at.half == Half::Item { &fate.item } else { &fate.result })
    }

    fn state_mut(&mut self, at: Slot<'_>) -> Option<&mut State> {
        self.by_key.get_mut(at.key).map(|fate| fate.half_mut(at.half))
    }

    fn states_mut(&mut self) -> impl Iterator<Item = &mut State> {
        self.by_key.values_mut().flat_map(|fate| [&mut fate.item, &mut fate.result])
    }

    fn fate(&mut self, key: &ItemKey) -> &mut ItemFate {
        self.by_key.entry(key.clone()).or_default()
    }

    pub(super) fn open(&self, at: Slot<'_>) -> Option<&OpenItem> {
        self.state(at)?.open()
    }

    pub(super) fn open_mut(&mut self, at: Slot<'_>) -> Option<&mut OpenItem> {
        self.state_mut(at)?.open_mut()
    }

    pub(super) fn is_open(&self, at: Slot<'_>) -> bool {
        self.open(at).is_some()
    }

    pub(super) fn open_item_mut(&mut self, id: &ItemId) -> Option<&mut OpenItem> {
        let (key, half) = self.items.get(id)?;
        let state = self.by_key.get_mut(key)?.half_mut(*half);
        state.open_mut().filter(|open| open.id == *id)
    }

    pub(super) fn late(&self, at: Slot<'_>) -> Option<&LateItem> {
        self.state(at)?.over()?.late.as_ref()
    }

    pub(super) fn is_late(&self, at: Slot<'_>) -> bool {
        self.late(at).is_some()
    }

    /// Returns the item that has ended, whether or not more was heard of it since.
    pub(super) fn ended(&self, at: Slot<'_>) -> Option<&ItemId> {
        self.state(at)?.over()?.id.as_ref()
    }

    /// Whether the item is open, has ended, or was heard of too late.
    pub(super) fn is_known(&self, at: Slot<'_>) -> bool {
        self.is_open(at) || self.is_late(at) || self.ended(at).is_some()
    }

    /// Returns the item that stands for what comes too late.
    pub(super) fn late_parent(&self, at: Slot<'_>) -> Option<&ItemId> {
        let of_call = || self.item(at.key).filter(|_| at.half == Half::Result);
        self.ended(at).or_else(of_call)
    }

    /// Returns the item that others may have for their parent: of a call, the call itself.
    pub(super) fn item(&self, key: &ItemKey) -> Option<&ItemId> {
        let at = Slot::item(key);
        let late = || self.late(at)?.item.as_ref();
        self.open(at).map(|open| &open.id).or_else(|| self.ended(at)).or_else(late)
    }

    pub(super) fn call(&self, key: &ItemKey) -> Option<&Call> {
        self.by_key.get(key)?.call.as_ref()
    }

    pub(super) fn call_of_item(&mut self, item: &ItemId) -> Option<&mut Call> {
        let (key, _) = self.items.get(item)?;
        self.by_key.get_mut(key)?.call.as_mut().filter(|call| call.item == *item)
    }

    pub(super) fn call_named(&self, id: &CallId) -> Option<&ItemKey> {
        self.calls.get(id).filter(|key| self.call(key).is_some_and(|call| call.id == *id))
    }

    pub(super) fn begin(&mut self, at: Slot<'_>, open: OpenItem) {
        self.items.insert(open.id.clone(), (at.key.clone(), at.half));
        *self.fate(at.key).half_mut(at.half) = State::Open(open);
    }

    pub(super) fn begin_call(&mut self, key: &ItemKey, call: Call) {
        self.calls.insert(call.id.clone(), key.clone());
        let fate = self.fate(key);
        fate.call = Some(call);
        fate.result = State::Unknown;
    }

    /// Ends an open item.
    pub(super) fn end(&mut self, at: Slot<'_>) -> Option<OpenItem> {
        let turn = self.turn;
        self.state_mut(at)?.end(turn)
    }

    pub(super) fn end_item(&mut self, id: &ItemId) {
        let (turn, place) = (self.turn, self.items.get(id));
        let state = place.and_then(|(key, half)| Some(self.by_key.get_mut(key)?.half_mut(*half)));
        let meant = state.filter(|state| state.open().is_some_and(|open| open.id == *id));
        meant.and_then(|state| state.end(turn));
    }

    /// Remembers that the turn ended this item, after so much of its text. The agent owes the rest.
    pub(super) fn cut(&mut self, at: Slot<'_>, streamed: String) {
        if let Some(over) = self.state_mut(at).and_then(State::over_mut) {
            over.cut = Some(streamed);
        }
        if at.half == Half::Result {
            self.keep(at.key);
        }
    }

    /// Returns the text before the cut of an item that the turn has ended, once.
    pub(super) fn take_cut(&mut self, at: Slot<'_>) -> Option<String> {
        self.state_mut(at)?.over_mut()?.cut.take()
    }

    /// Drops whatever is said of an ended item from now on.
    pub(super) fn fill(&mut self, at: Slot<'_>) {
        if let Some(over) = self.state_mut(at).and_then(State::over_mut) {
            over.is_full = true;
        }
    }

    pub(super) fn is_full(&self, at: Slot<'_>) -> bool {
        self.state(at).and_then(State::over).is_some_and(|over| over.is_full)
    }

    /// Forgets an item that nobody but the Timeline knows.
    pub(super) fn forget(&mut self, key: &ItemKey) {
        self.by_key.remove(key);
    }

    /// Keeps a call until the agent's process is gone.
    pub(super) fn keep(&mut self, key: &ItemKey) {
        self.fate(key).is_kept = true;
    }

    /// Remembers the item that tells what comes too late.
    pub(super) fn set_late(&mut self, at: Slot<'_>, parent: Option<ItemId>, item: Option<ItemId>) {
        let state = self.fate(at.key).half_mut(at.half);
        if state.over().is_none() {
            *state = State::Over(Over::default());
        }
        if let Some(over) = state.over_mut() {
            over.late = Some(LateItem { parent, item });
        }
    }

    /// Ends a late item. Without words, nothing but its earlier end is remembered of it.
    pub(super) fn end_late(&mut self, at: Slot<'_>) -> Option<LateItem> {
        let turn = self.turn;
        let over = self.state_mut(at)?.over_mut()?;
        let late = over.late.take()?;
        over.ended_as(late.item.clone(), turn);
        Some(late)
    }

    /// Ends all late items, those without words in the name of their parents.
    pub(super) fn end_all_late(&mut self) {
        let turn = self.turn;
        for over in self.states_mut().filter_map(State::over_mut) {
            if let Some(LateItem { parent, item }) = over.late.take() {
                over.ended_as(item.or(parent), turn);
            }
        }
    }

    /// Returns the open items in the order of their start.
    pub(super) fn all_open(&self) -> Vec<(ItemKey, Half)> {
        let slots = self.by_key.keys().flat_map(|key| [Slot::item(key), Slot::result(key)]);
        let mut open: Vec<_> = slots.filter_map(|at| Some((self.open(at)?.since, at))).collect();
        open.sort_unstable_by_key(|(since, _)| *since);
        open.into_iter().map(|(_, at)| (at.key.clone(), at.half)).collect()
    }

    /// Returns the calls without a result, in the order of their start, and why they have none.
    pub(super) fn unanswered_calls(&self) -> Vec<(ItemKey, &'static str)> {
        let unanswered = self.by_key.keys().filter(|key| !self.is_known(Slot::result(key)));
        let mut calls: Vec<_> = unanswered.filter_map(|key| Some((self.call(key)?, key))).collect();
        calls.sort_unstable_by_key(|(call, _)| call.since);
        calls.into_iter().map(|(call, key)| (key.clone(), call.why_no_result())).collect()
    }

    pub(super) fn turn_began(&mut self) {
        self.turn += 1;
        let turn = self.turn;
        self.by_key.retain(|_, fate| {
            let is_old = |state: &State| state.over().is_none_or(|over| over.turn + 1 < turn);
            fate.is_kept || !is_old(&fate.item) || !is_old(&fate.result)
        });
        self.items.retain(|_, (key, _)| self.by_key.contains_key(key));
        self.calls.retain(|_, key| self.by_key.contains_key(key));
    }

    /// Forgets what an earlier turn has cut: the rest comes until this moment. A result may come in any turn.
    pub(super) fn forget_cuts(&mut self) {
        for fate in self.by_key.values_mut() {
            if let Some(over) = fate.item.over_mut() {
                over.cut = None;
            }
        }
    }

    pub(super) fn forget_calls(&mut self) {
        self.by_key.values_mut().for_each(|fate| fate.call = None);
    }

    /// Forgets everything: the keys of a process that is gone mean nothing any more.
    pub(super) fn clear(&mut self) {
        self.by_key.clear();
        self.items.clear();
        self.calls.clear();
    }
}

impl ItemFate {
    fn half_mut(&mut self, half: Half) -> &mut State {
        match half {
            Half::Item => &mut self.item,
            Half::Result => &mut self.result,
        }
    }
}

impl State {
    fn open(&self) -> Option<&OpenItem> {
        if let Self::Open(open) = self { Some(open) } else { None }
    }

    fn open_mut(&mut self) -> Option<&mut OpenItem> {
        if let Self::Open(open) = self { Some(open) } else { None }
    }

    fn over(&self) -> Option<&Over> {
        if let Self::Over(over) = self { Some(over) } else { None }
    }

    fn over_mut(&mut self) -> Option<&mut Over> {
        if let Self::Over(over) = self { Some(over) } else { None }
    }

    fn end(&mut self, turn: u64) -> Option<OpenItem> {
        let id = Some(self.open()?.id.clone());
        let ended = Self::Over(Over { id, turn, ..Over::default() });
        if let Self::Open(open) = std::mem::replace(self, ended) { Some(open) } else { None }
    }
}

impl Over {
    /// Remembers the end of a late item, unless it had ended before.
    fn ended_as(&mut self, item: Option<ItemId>, turn: u64) {
        if self.id.is_none() {
            (self.id, self.turn) = (item, turn);
        }
    }
}
