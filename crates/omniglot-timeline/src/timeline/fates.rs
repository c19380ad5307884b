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
//! A key leaves the map when the second turn after its end begins: an agent that speaks of older items speaks to
//! nobody, and a long session must not keep them all. Two kinds of calls stay until the agent's process is gone:
//! those that a turn left without the agent's own result (`owed`, a command may outlive many turns), and those
//! that began something which goes on (`lasting`).

use std::collections::HashMap;

use omniglot_schema::{CallId, ItemId};

use crate::draft::{Body, ItemKey};

#[derive(Debug, Default)]
pub(super) struct Fates {
    by_key: HashMap<ItemKey, Fate>,
    /// How many turns have begun.
    turn: u64,
}

#[derive(Debug, Default)]
struct Fate {
    state: State,
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
    pub(super) body: Body,
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
    pub(super) has_result: bool,
    /// Somebody rejected it: an agent may never mention it again.
    pub(super) rejected: bool,
}

impl Fates {
    pub(super) fn open(&self, key: &ItemKey) -> Option<&OpenItem> {
        if let State::Open(open) = &self.by_key.get(key)?.state { Some(open) } else { None }
    }

    pub(super) fn open_mut(&mut self, key: &ItemKey) -> Option<&mut OpenItem> {
        if let State::Open(open) = &mut self.by_key.get_mut(key)?.state { Some(open) } else { None }
    }

    pub(super) fn is_open(&self, key: &ItemKey) -> bool {
        self.open(key).is_some()
    }

    pub(super) fn is_open_item(&self, id: &ItemId) -> bool {
        self.by_key.values().any(|fate| matches!(&fate.state, State::Open(open) if open.id == *id))
    }

    pub(super) fn late(&self, key: &ItemKey) -> Option<&LateItem> {
        if let State::Late(late) = &self.by_key.get(key)?.state { Some(late) } else { None }
    }

    pub(super) fn is_late(&self, key: &ItemKey) -> bool {
        self.late(key).is_some()
    }

    /// Returns the item that has ended under this key, whether or not more was heard of it since.
    pub(super) fn ended(&self, key: &ItemKey) -> Option<&ItemId> {
        self.by_key.get(key)?.state.ended().map(|ended| &ended.id)
    }

    pub(super) fn owed(&self, key: &ItemKey) -> Option<&ItemId> {
        self.by_key.get(key)?.owed.as_ref()
    }

    /// Returns the item that others may have for their parent.
    pub(super) fn item(&self, key: &ItemKey) -> Option<&ItemId> {
        let Fate { state, lasting, .. } = self.by_key.get(key)?;
        match state {
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

    pub(super) fn call_mut(&mut self, key: &ItemKey) -> Option<&mut Call> {
        self.by_key.get_mut(key)?.call.as_mut()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = (&ItemKey, &Call)> {
        self.by_key.iter().filter_map(|(key, fate)| Some((key, fate.call.as_ref()?)))
    }

    pub(super) fn call_of_item(&mut self, item: &ItemId) -> Option<&mut Call> {
        self.by_key.values_mut().filter_map(|fate| fate.call.as_mut()).find(|call| call.item == *item)
    }

    fn fate(&mut self, key: &ItemKey) -> &mut Fate {
        self.by_key.entry(key.clone()).or_default()
    }

    pub(super) fn begin(&mut self, key: ItemKey, open: OpenItem) {
        self.by_key.entry(key).or_default().state = State::Open(open);
    }

    pub(super) fn begin_call(&mut self, key: &ItemKey, call: Call) {
        self.fate(key).call = Some(call);
    }

    /// Ends an open item.
    pub(super) fn end(&mut self, key: &ItemKey) -> Option<OpenItem> {
        let state = &mut self.by_key.get_mut(key)?.state;
        match std::mem::take(state) {
            State::Open(open) => {
                *state = State::Ended(Ended { id: open.id.clone(), turn: self.turn, cut: None });
                Some(open)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// Remembers that the turn ended this item, after so much of its text.
    pub(super) fn cut(&mut self, key: &ItemKey, streamed: String) {
        if let Some(State::Ended(ended)) = self.by_key.get_mut(key).map(|fate| &mut fate.state) {
            ended.cut = Some(streamed);
        }
    }

    /// Returns the text before the cut of an item that the turn has ended, once.
    pub(super) fn take_cut(&mut self, key: &ItemKey) -> Option<String> {
        self.by_key.get_mut(key)?.state.ended_mut()?.cut.take()
    }

    /// Forgets an item that nobody but the Timeline knows.
    pub(super) fn forget(&mut self, key: &ItemKey) {
        self.by_key.remove(key);
    }

    pub(super) fn owe(&mut self, key: &ItemKey, item: ItemId) {
        self.fate(key).owed = Some(item);
    }

    pub(super) fn outlasts(&mut self, key: &ItemKey, item: ItemId) {
        self.fate(key).lasting = Some(item);
    }

    /// Remembers the item that tells what comes too late under this key.
    pub(super) fn set_late(&mut self, key: &ItemKey, parent: Option<ItemId>, item: Option<ItemId>) {
        let state = &mut self.fate(key).state;
        let ended = std::mem::take(state).into_ended();
        *state = State::Late(LateItem { parent, item, ended });
    }

    /// Ends a late item. Without words, nothing but its earlier end is remembered of it.
    pub(super) fn end_late(&mut self, key: &ItemKey) -> Option<(Option<ItemId>, Option<ItemId>)> {
        let fate = self.by_key.get_mut(key)?;
        let State::Late(late) = &fate.state else { return None };
        let (parent, item) = (late.parent.clone(), late.item.clone());
        fate.state = std::mem::take(&mut fate.state).without_late(item.clone(), self.turn);
        Some((parent, item))
    }

    /// Ends all late items, those without words in the name of their parents.
    pub(super) fn end_all_late(&mut self) {
        for fate in self.by_key.values_mut() {
            if let State::Late(late) = &fate.state {
                let known = late.item.clone().or_else(|| late.parent.clone());
                fate.state = std::mem::take(&mut fate.state).without_late(known, self.turn);
            }
        }
    }

    /// Returns the open items in the order of their start.
    pub(super) fn all_open(&self) -> Vec<ItemKey> {
        let open = |(key, fate): (&ItemKey, &Fate)| match &fate.state {
            State::Open(open) => Some((open.since, key.clone())),
            _ => None,
        };
        let mut keys: Vec<_> = self.by_key.iter().filter_map(open).collect();
        keys.sort_unstable_by_key(|(since, _)| *since);
        keys.into_iter().map(|(_, key)| key).collect()
    }

    pub(super) fn turn_began(&mut self) {
        self.turn += 1;
        for fate in self.by_key.values_mut() {
            if fate.state.ended().is_some_and(|ended| ended.turn + 1 < self.turn) {
                fate.state = State::Unknown;
            }
        }
        self.by_key.retain(|_, fate| !fate.is_empty());
    }

    /// The rest of what an earlier turn has cut comes until this moment.
    pub(super) fn forget_cuts(&mut self) {
        for fate in self.by_key.values_mut() {
            if let Some(ended) = fate.state.ended_mut() {
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
    fn is_empty(&self) -> bool {
        let Self { state, call, owed, lasting } = self;
        matches!(state, State::Unknown) && call.is_none() && owed.is_none() && lasting.is_none()
    }
}

impl State {
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
