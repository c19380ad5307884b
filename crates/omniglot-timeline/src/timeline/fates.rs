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
//! A call has two items under one key, and so two states: that of the call and that of its result.
//!
//! A key leaves the map when the second turn after its end begins: an agent that speaks of older items speaks to
//! nobody, and a long session must not keep them all. Two kinds of calls stay until the agent's process is gone:
//! those that a turn left without the agent's own result (`owed`, a command may outlive many turns), and those
//! that began something which goes on (`lasting`).

use std::collections::HashMap;

use omniglot_schema::{CallId, ItemId};

use super::bodies::Content;
use crate::draft::ItemKey;

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
    by_key: HashMap<ItemKey, Fate>,
    /// How many turns have begun.
    turn: u64,
}

#[derive(Debug, Default)]
struct Fate {
    item: State,
    result: State,
    /// The call that began under this key in the running turn.
    call: Option<Call>,
    /// The item that stands for a call whose own result may still come.
    owed: Option<ItemId>,
    /// The item of a call that has begun something which goes on.
    lasting: Option<ItemId>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unknown,
    Open(OpenItem),
    Ended(Ended),
    Late(LateItem),
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
}

#[derive(Debug)]
struct Ended {
    id: ItemId,
    /// How many turns had begun.
    turn: u64,
    /// The text that was streamed of an item which the agent did not end itself.
    cut: Option<String>,
}

/// An item of the agent that is heard of too late.
#[derive(Debug)]
pub(super) struct LateItem {
    pub(super) parent: Option<ItemId>,
    /// The status item that tells it, once there are words.
    pub(super) item: Option<ItemId>,
    ended: Option<Ended>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
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
        Some(match at.half {
            Half::Item => &fate.item,
            Half::Result => &fate.result,
        })
    }

    fn state_mut(&mut self, at: Slot<'_>) -> Option<&mut State> {
        self.by_key.get_mut(at.key).map(|fate| fate.half_mut(at.half))
    }

    fn states_mut(&mut self) -> impl Iterator<Item = &mut State> {
        self.by_key.values_mut().flat_map(|fate| [&mut fate.item, &mut fate.result])
    }

    fn fate(&mut self, key: &ItemKey) -> &mut Fate {
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

    pub(super) fn is_open_item(&self, id: &ItemId) -> bool {
        let halves = self.by_key.values().flat_map(|fate| [&fate.item, &fate.result]);
        halves.filter_map(State::open).any(|open| open.id == *id)
    }

    pub(super) fn open_item_mut(&mut self, id: &ItemId) -> Option<&mut OpenItem> {
        self.states_mut().filter_map(State::open_mut).find(|open| open.id == *id)
    }

    pub(super) fn late(&self, at: Slot<'_>) -> Option<&LateItem> {
        if let State::Late(late) = self.state(at)? { Some(late) } else { None }
    }

    pub(super) fn is_late(&self, at: Slot<'_>) -> bool {
        self.late(at).is_some()
    }

    /// Whether the item is open, has ended, or was heard of too late.
    pub(super) fn is_known(&self, at: Slot<'_>) -> bool {
        self.state(at).is_some_and(|state| !matches!(state, State::Unknown))
    }

    /// Returns the item that has ended, whether or not more was heard of it since.
    pub(super) fn ended(&self, at: Slot<'_>) -> Option<&ItemId> {
        self.state(at)?.ended().map(|ended| &ended.id)
    }

    pub(super) fn owed(&self, key: &ItemKey) -> Option<&ItemId> {
        self.by_key.get(key)?.owed.as_ref()
    }

    /// Returns the item that stands for what comes too late.
    pub(super) fn late_parent(&self, at: Slot<'_>) -> Option<&ItemId> {
        let of_call = || self.ended(Slot::item(at.key)).filter(|_| at.half == Half::Result);
        self.ended(at).or_else(|| self.owed(at.key)).or_else(of_call)
    }

    /// Returns the item that others may have for their parent: of a call, the call itself.
    pub(super) fn item(&self, key: &ItemKey) -> Option<&ItemId> {
        let Fate { item, lasting, .. } = self.by_key.get(key)?;
        match item {
            State::Unknown => lasting.as_ref(),
            State::Open(open) => Some(&open.id),
            State::Ended(ended) => Some(&ended.id),
            State::Late(late) => {
                let ended = late.ended.as_ref().map(|ended| &ended.id);
                ended.or(lasting.as_ref()).or(late.item.as_ref())
            }
        }
    }

    pub(super) fn call(&self, key: &ItemKey) -> Option<&Call> {
        self.by_key.get(key)?.call.as_ref()
    }

    pub(super) fn call_of_item(&mut self, item: &ItemId) -> Option<&mut Call> {
        self.by_key.values_mut().filter_map(|fate| fate.call.as_mut()).find(|call| call.item == *item)
    }

    pub(super) fn call_named(&self, id: &CallId) -> Option<&ItemKey> {
        let is_named = |fate: &Fate| fate.call.as_ref().is_some_and(|call| call.id == *id);
        self.by_key.iter().find(|(_, fate)| is_named(fate)).map(|(key, _)| key)
    }

    pub(super) fn begin(&mut self, at: Slot<'_>, open: OpenItem) {
        *self.fate(at.key).half_mut(at.half) = State::Open(open);
    }

    pub(super) fn begin_call(&mut self, key: &ItemKey, call: Call) {
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
        let turn = self.turn;
        let is_meant = |state: &&mut State| state.open().is_some_and(|open| open.id == *id);
        if let Some(state) = self.states_mut().find(is_meant) {
            state.end(turn);
        }
    }

    /// Remembers that the turn ended this item, after so much of its text.
    pub(super) fn cut(&mut self, at: Slot<'_>, streamed: String) {
        let Some(fate) = self.by_key.get_mut(at.key) else { return };
        if let State::Ended(ended) = fate.half_mut(at.half) {
            ended.cut = Some(streamed);
            let item = ended.id.clone();
            if at.half == Half::Result {
                fate.owed = Some(item);
            }
        }
    }

    /// Returns the text before the cut of an item that the turn has ended, once.
    pub(super) fn take_cut(&mut self, at: Slot<'_>) -> Option<String> {
        self.state_mut(at)?.ended_mut()?.cut.take()
    }

    /// Forgets an item that nobody but the Timeline knows.
    pub(super) fn forget(&mut self, key: &ItemKey) {
        self.by_key.remove(key);
    }

    pub(super) fn owe(&mut self, key: &ItemKey, item: ItemId) {
        self.fate(key).owed = Some(item);
    }

    /// Remembers that a call has begun something which goes on.
    pub(super) fn goes_on(&mut self, key: &ItemKey) {
        if let Some(fate) = self.by_key.get_mut(key) {
            fate.lasting = fate.call.as_ref().map(|call| call.item.clone());
        }
    }

    /// Remembers the item that tells what comes too late.
    pub(super) fn set_late(&mut self, at: Slot<'_>, parent: Option<ItemId>, item: Option<ItemId>) {
        let state = self.fate(at.key).half_mut(at.half);
        let ended = std::mem::take(state).into_ended();
        *state = State::Late(LateItem { parent, item, ended });
    }

    /// Ends a late item. Without words, nothing but its earlier end is remembered of it.
    pub(super) fn end_late(&mut self, at: Slot<'_>) -> Option<(Option<ItemId>, Option<ItemId>)> {
        let turn = self.turn;
        let state = self.state_mut(at)?;
        let State::Late(late) = &*state else { return None };
        let (parent, item) = (late.parent.clone(), late.item.clone());
        *state = std::mem::take(state).without_late(item.clone(), turn);
        Some((parent, item))
    }

    /// Ends all late items, those without words in the name of their parents.
    pub(super) fn end_all_late(&mut self) {
        let turn = self.turn;
        for state in self.states_mut() {
            if let State::Late(late) = &*state {
                let known = late.item.clone().or_else(|| late.parent.clone());
                *state = std::mem::take(state).without_late(known, turn);
            }
        }
    }

    /// Returns the open items in the order of their start.
    pub(super) fn all_open(&self) -> Vec<(ItemKey, Half)> {
        let open = self.by_key.iter().flat_map(|(key, fate)| {
            let halves = [(Half::Item, fate.item.open()), (Half::Result, fate.result.open())];
            halves.into_iter().filter_map(move |(half, open)| Some((open?.since, key.clone(), half)))
        });
        let mut open: Vec<_> = open.collect();
        open.sort_unstable_by_key(|(since, ..)| *since);
        open.into_iter().map(|(_, key, half)| (key, half)).collect()
    }

    /// Returns the calls without a result, in the order of their start, and why they have none.
    pub(super) fn unanswered_calls(&self) -> Vec<(ItemKey, &'static str)> {
        let unanswered = self.by_key.iter().filter(|(_, fate)| matches!(fate.result, State::Unknown));
        let mut calls: Vec<_> =
            unanswered.filter_map(|(key, fate)| Some((fate.call.as_ref()?, key.clone()))).collect();
        calls.sort_unstable_by_key(|(call, _)| call.since);
        calls.into_iter().map(|(call, key)| (key, call.why_no_result())).collect()
    }

    pub(super) fn turn_began(&mut self) {
        self.turn += 1;
        let turn = self.turn;
        for state in self.states_mut() {
            if state.ended().is_some_and(|ended| ended.turn + 1 < turn) {
                *state = State::Unknown;
            }
        }
        self.by_key.retain(|_, fate| !fate.is_empty());
    }

    /// Forgets what an earlier turn has cut: the rest comes until this moment. A result may come in any turn.
    pub(super) fn forget_cuts(&mut self) {
        for fate in self.by_key.values_mut() {
            if let Some(ended) = fate.item.ended_mut() {
                ended.cut = None;
            }
        }
    }

    pub(super) fn forget_calls(&mut self) {
        self.by_key.values_mut().for_each(|fate| fate.call = None);
    }

    /// Forgets everything: the keys of a process that is gone mean nothing any more.
    pub(super) fn clear(&mut self) {
        self.by_key.clear();
    }
}

impl Fate {
    fn half_mut(&mut self, half: Half) -> &mut State {
        match half {
            Half::Item => &mut self.item,
            Half::Result => &mut self.result,
        }
    }

    fn is_empty(&self) -> bool {
        let Self { item: State::Unknown, result: State::Unknown, call, owed, lasting } = self else {
            return false;
        };
        call.is_none() && owed.is_none() && lasting.is_none()
    }
}

impl State {
    fn open(&self) -> Option<&OpenItem> {
        if let Self::Open(open) = self { Some(open) } else { None }
    }

    fn open_mut(&mut self) -> Option<&mut OpenItem> {
        if let Self::Open(open) = self { Some(open) } else { None }
    }

    fn end(&mut self, turn: u64) -> Option<OpenItem> {
        let id = self.open()?.id.clone();
        let ended = Self::Ended(Ended { id, turn, cut: None });
        if let Self::Open(open) = std::mem::replace(self, ended) { Some(open) } else { None }
    }

    fn ended(&self) -> Option<&Ended> {
        match self {
            Self::Ended(ended) => Some(ended),
            Self::Late(late) => late.ended.as_ref(),
            Self::Unknown | Self::Open(_) => None,
        }
    }

    fn ended_mut(&mut self) -> Option<&mut Ended> {
        match self {
            Self::Ended(ended) => Some(ended),
            Self::Late(late) => late.ended.as_mut(),
            Self::Unknown | Self::Open(_) => None,
        }
    }

    fn into_ended(self) -> Option<Ended> {
        match self {
            Self::Ended(ended) => Some(ended),
            Self::Late(late) => late.ended,
            Self::Unknown | Self::Open(_) => None,
        }
    }

    /// Returns the state after the end of a late item: its earlier end, or else that of `known`.
    fn without_late(self, known: Option<ItemId>, turn: u64) -> Self {
        let ended = self.into_ended().or_else(|| known.map(|id| Ended { id, turn, cut: None }));
        ended.map_or(Self::Unknown, Self::Ended)
    }
}
