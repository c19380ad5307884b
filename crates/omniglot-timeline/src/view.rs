//! The reader's view of a stream: a fold of events to turns, messages and tool calls, each call with its result.
//!
//! A stream has two items for a call, tied by a call id, and tells subagents by parents. Every reader needs them
//! joined, so the join is made here once. [`View::apply`] takes the events of one session in order and says what
//! each has changed; [`View::call`] finds a call by its item, which requests name. All types are plain data, and
//! the fold needs nothing but events, so that it can be written again in another language.
//!
//! ```text
//!   item.started   tool_call     CallStarted     Writing
//!   item.delta     tool_input    CallInput          │
//!   item.completed tool_call     CallReady       Ready, or Failed if it will not run
//!   item.started   tool_result   CallRunning     Running
//!   item.delta     tool_output   CallOutput         │
//!   item.completed tool_result   CallEnded       Completed or Failed
//! ```
//!
//! Other items but status are messages: MessageStarted, MessageText for each delta, MessageEnded. An item belongs
//! to a subagent (`within`) when its parent is a call, or an item of that subagent; results do not count.
//!
//! Memory: a message leaves when it has ended. A call gives its texts away when it has ended (arguments, output,
//! result), and leaves when its turn ends, since no request names it any more. A call of kind `agent` stays for
//! the session: its subagent may go on in the background. Of output only the last [`OUTPUT`] bytes or a little
//! more are kept.

mod message;
#[cfg(test)]
mod tests;
mod tool_call;

use std::collections::HashMap;

use omniglot_schema::{
    CallId, DeltaPart, EventData, ItemDeltaData, ItemId, ItemKind, ToolKind, TurnEndedData, UniversalEvent,
    UniversalItem,
};

pub use message::{Message, Turn};
pub use tool_call::{Call, CallStatus, OUTPUT};

/// A session's turn, open messages and calls, up to the last event that was applied.
#[derive(Debug, Clone, Default)]
pub struct View {
    turn: Option<Turn>,
    messages: HashMap<ItemId, Message>,
    calls: HashMap<ItemId, Call>,
    /// The item of each call.
    by_call: HashMap<CallId, ItemId>,
    /// The call of each open result.
    results: HashMap<ItemId, CallId>,
    /// The spawning call of each item of a subagent.
    within: HashMap<ItemId, CallId>,
}

/// The change that one event makes.
#[derive(Debug)]
pub enum Change<'a> {
    TurnStarted(&'a Turn),
    TurnEnded {
        /// Absent when the view did not see its begin.
        turn: Option<Turn>,
        end: &'a TurnEndedData,
    },
    MessageStarted(&'a Message),
    MessageText {
        message: &'a Message,
        part: DeltaPart,
        delta: &'a str,
    },
    MessageEnded(Box<Message>),
    CallStarted(&'a Call),
    /// A preview of the arguments (T7).
    CallInput {
        call: &'a Call,
        delta: &'a str,
    },
    /// The arguments are final.
    CallReady {
        call: &'a Call,
        /// The call as it was started.
        before: Option<Box<Call>>,
    },
    /// The result has begun.
    CallRunning(&'a Call),
    /// A preview of the output (T7).
    CallOutput {
        call: &'a Call,
        delta: &'a str,
    },
    CallEnded(Box<Call>),
    /// A status item, which is told once.
    Happened(&'a UniversalItem),
    /// The event is about something else: the session, its state, a request, a failure.
    Other,
}

impl View {
    /// The turn that runs.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// The call that an item is.
    pub fn call(&self, item: &ItemId) -> Option<&Call> {
        self.calls.get(item)
    }

    /// Folds the next event of the session.
    pub fn apply<'a>(&'a mut self, event: &'a UniversalEvent) -> Change<'a> {
        match &event.data {
            EventData::TurnStarted(data) => Change::TurnStarted(self.turn.insert(Turn::of(data))),
            EventData::TurnEnded(end) => Change::TurnEnded { turn: self.end_turn(), end },
            EventData::ItemStarted(data) => self.started(&data.item).unwrap_or(Change::Other),
            EventData::ItemDelta(data) => self.grew(data).unwrap_or(Change::Other),
            EventData::ItemCompleted(data) => self.completed(&data.item).unwrap_or(Change::Other),
            EventData::Error(data) => {
                self.turn.iter_mut().for_each(|turn| turn.failure = Some(data.clone()));
                Change::Other
            }
            EventData::SessionStarted(_)
            | EventData::SessionEnded(_)
            | EventData::SessionUpdated(_)
            | EventData::PermissionRequested(_)
            | EventData::PermissionResolved(_)
            | EventData::QuestionRequested(_)
            | EventData::QuestionResolved(_)
            | EventData::AgentUnparsed(_) => Change::Other,
        }
    }

    fn started(&mut self, item: &UniversalItem) -> Option<Change<'_>> {
        Some(match item.kind {
            ItemKind::ToolCall => Change::CallStarted(self.add(Call::of(item)?)),
            ItemKind::ToolResult => {
                let call = self.result(item)?;
                call.run(item);
                Change::CallRunning(call)
            }
            ItemKind::Message | ItemKind::System | ItemKind::Unknown => {
                let message = self.message(item);
                let place = self.messages.entry(item.item_id.clone());
                Change::MessageStarted(place.insert_entry(message).into_mut())
            }
            ItemKind::Status => return None,
        })
    }

    fn grew<'a>(&'a mut self, data: &'a ItemDeltaData) -> Option<Change<'a>> {
        let (item, delta) = (&data.item_id, data.delta.as_str());
        let part = data.part_type.unwrap_or(DeltaPart::Text);
        Some(match part {
            DeltaPart::Text | DeltaPart::Reasoning => {
                let message = self.messages.get_mut(item)?;
                message.grow(part, delta);
                Change::MessageText { message, part, delta }
            }
            DeltaPart::ToolInput => {
                let call = self.calls.get_mut(item)?;
                call.input.push_str(delta);
                Change::CallInput { call, delta }
            }
            DeltaPart::ToolOutput => {
                let call = self.calls.get_mut(self.by_call.get(self.results.get(item)?)?)?;
                call.write(delta);
                Change::CallOutput { call, delta }
            }
        })
    }

    fn completed<'a>(&'a mut self, item: &'a UniversalItem) -> Option<Change<'a>> {
        Some(match item.kind {
            ItemKind::ToolCall => {
                let mut call = Call::of(item)?;
                let before = self.calls.remove(&item.item_id).map(Box::new);
                call.ready(item, before.as_deref());
                Change::CallReady { call: self.add(call), before }
            }
            ItemKind::ToolResult => {
                let ended = self.result(item)?.end(item);
                self.results.remove(&item.item_id);
                Change::CallEnded(Box::new(ended))
            }
            ItemKind::Message | ItemKind::System | ItemKind::Unknown => {
                let open = self.messages.remove(&item.item_id);
                let mut message = open.unwrap_or_else(|| self.message(item));
                message.end(item);
                Change::MessageEnded(Box::new(message))
            }
            ItemKind::Status => Change::Happened(item),
        })
    }

    /// Adds a call that is new, or replaces one that is known.
    fn add(&mut self, mut call: Call) -> &Call {
        let item = call.item.clone();
        call.within = self.place(&item, call.parent.as_ref());
        self.by_call.insert(call.call_id.clone(), item.clone());
        self.calls.entry(item).insert_entry(call).into_mut()
    }

    /// Returns the call of a result; one that the view has not seen has only the ids of its result.
    fn result(&mut self, item: &UniversalItem) -> Option<&mut Call> {
        let call_id = tool_call::call_of(item)?;
        self.results.insert(item.item_id.clone(), call_id.clone());
        let call = self.by_call.entry(call_id.clone()).or_insert_with(|| item.item_id.clone());
        Some(self.calls.entry(call.clone()).or_insert_with(|| Call::new(call.clone(), call_id.clone())))
    }

    fn message(&mut self, item: &UniversalItem) -> Message {
        let within = self.place(&item.item_id, item.parent_id.as_ref());
        let mut message = Message::of(item, within);
        if let Some(turn) = &mut self.turn {
            turn.begins_with(&mut message);
        }
        message
    }

    /// Returns the call whose subagent an item belongs to, and puts the item among that call's children.
    fn place(&mut self, item: &ItemId, parent: Option<&ItemId>) -> Option<CallId> {
        let parent = parent?;
        let call = self.calls.get(parent).map(|call| &call.call_id);
        let within = call.or_else(|| self.within.get(parent))?.clone();
        if self.within.insert(item.clone(), within.clone()).is_none()
            && let Some(call) = self.by_call.get(&within).and_then(|item| self.calls.get_mut(item))
        {
            call.children.push(item.clone());
        }
        Some(within)
    }

    fn end_turn(&mut self) -> Option<Turn> {
        self.messages.clear();
        self.results.clear();
        self.within.clear();
        self.calls.retain(|_, call| call.kind == Some(ToolKind::Agent));
        self.calls.values_mut().for_each(|call| call.children.clear());
        self.by_call.retain(|_, item| self.calls.contains_key(item));
        self.turn.take()
    }
}
