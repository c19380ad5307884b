//! Tool calls and their results: in ACP one thing that is announced, runs and completes.
//!
//! What a result's parts look like is left to `result`.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCall, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use omniglot_schema::{
    CallId, ContentPart, DeltaPart, ItemDeltaData, ItemId, ItemStatus, ToolSubject, UniversalItem,
};

use super::blocks::Blobs;
use super::{Out, kind, result, speech};
use crate::faces::acp::meta::{self, Notes};

/// The calls of the turn that runs.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    by_item: HashMap<ItemId, Call>,
    items: HashMap<CallId, ItemId>,
    running: HashMap<ItemId, Running>,
}

/// One call, as it was last told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) input: Option<serde_json::Value>,
    pub(crate) locations: Vec<ToolCallLocation>,
}

/// A result that is coming in.
#[derive(Debug)]
struct Running {
    call: CallId,
    output: String,
    /// How much of the output the client has, in bytes.
    shown: usize,
    notes: Notes,
}

impl Calls {
    /// The call that an item is.
    pub(crate) fn of_item(&self, item: Option<&ItemId>) -> Option<&Call> {
        self.by_item.get(item?)
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn call_started(&mut self, item: &UniversalItem, out: &mut Out<'_>) {
        let Some(call) = Call::of(item) else { return };
        out.update(SessionUpdate::ToolCall(call.announced(item)));
        self.keep(item, call);
    }

    pub(super) fn call_completed(&mut self, item: &UniversalItem, out: &mut Out<'_>) {
        let Some(call) = Call::of(item) else { return };
        let mut fields = match self.by_item.get(&item.item_id) {
            Some(told) => call.since(told),
            None => return self.call_started(item, out),
        };
        if item.status == ItemStatus::Failed {
            fields.status = Some(ToolCallStatus::Failed);
        }
        if fields != ToolCallUpdateFields::default() {
            out.update(updated(&call.id, fields, call.notes(item)));
        }
        self.keep(item, call);
    }

    fn keep(&mut self, item: &UniversalItem, call: Call) {
        self.items.insert(call.id.clone(), item.item_id.clone());
        self.by_item.insert(item.item_id.clone(), call);
    }

    pub(super) fn result_started(&mut self, item: &UniversalItem, out: &mut Out<'_>) {
        let Some(call) = result_of(item) else { return };
        let notes = speech::notes(item);
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        out.update(updated(call, fields, notes.clone()));
        let running = Running { call: call.clone(), output: String::new(), shown: 0, notes };
        self.running.insert(item.item_id.clone(), running);
    }

    /// Deltas of the input are a preview that ACP has no place for.
    pub(super) fn delta(&mut self, data: &ItemDeltaData, out: &mut Out<'_>) {
        let Some(running) = self.running.get_mut(&data.item_id) else { return };
        if data.part_type == Some(DeltaPart::ToolOutput) {
            running.output.push_str(&data.delta);
            if running.is_worth_showing() {
                running.shown = running.output.len();
                let kind = self.items.get(&running.call).and_then(|item| self.by_item.get(item));
                let text = result::output(&running.output, kind.map_or(ToolKind::Other, |call| call.kind));
                let fields = ToolCallUpdateFields::new().content(vec![text]);
                out.update(updated(&running.call, fields, running.notes.clone()));
            }
        }
    }

    pub(super) fn result_completed(&mut self, item: &UniversalItem, blobs: &Blobs, out: &mut Out<'_>) {
        self.running.remove(&item.item_id);
        let Some(id) = result_of(item) else { return };
        let call = self.items.get(id).and_then(|item| self.by_item.get(item));
        let notes = speech::notes(item).with(meta::RESULT, result::outcome(item));
        out.update(updated(id, result::fields(item, call, blobs), notes));
    }
}

impl Call {
    fn of(item: &UniversalItem) -> Option<Self> {
        item.content.iter().find_map(|part| match part {
            ContentPart::ToolCall { name, arguments, call_id, title, kind, subject } => {
                let nothing = ToolSubject::default();
                let subject = subject.as_deref().unwrap_or(&nothing);
                Some(Self {
                    id: call_id.clone(),
                    name: name.clone(),
                    title: title.clone().unwrap_or_else(|| kind::title(name, subject)),
                    kind: kind::of(*kind),
                    locations: kind::locations(subject),
                    // They are cut off while they stream.
                    input: serde_json::from_str(arguments).ok(),
                })
            }
            _ => None,
        })
    }

    fn announced(&self, item: &UniversalItem) -> ToolCall {
        ToolCall::new(self.id.as_str().to_owned(), self.title.clone())
            .name(self.name.clone())
            .kind(self.kind)
            .locations(self.locations.clone())
            .raw_input(self.input.clone())
            .meta(self.notes(item).into_meta())
    }

    /// What is to be told after `told`.
    fn since(&self, told: &Self) -> ToolCallUpdateFields {
        ToolCallUpdateFields::new()
            .title((self.title != told.title).then(|| self.title.clone()))
            .kind((self.kind != told.kind).then_some(self.kind))
            .locations((self.locations != told.locations).then(|| self.locations.clone()))
            .raw_input(self.input.clone().filter(|_| self.input != told.input))
    }

    fn notes(&self, item: &UniversalItem) -> Notes {
        speech::notes(item).with(meta::TOOL_NAME, Some(&self.name))
    }
}

impl Running {
    /// Every update carries the whole output, so it is shown again only when it has grown by an eighth: what is
    /// sent in all stays a small multiple of the output.
    fn is_worth_showing(&self) -> bool {
        let grown = self.output.len() - self.shown;
        grown > 0 && grown >= self.shown / 8
    }
}

fn result_of(item: &UniversalItem) -> Option<&CallId> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    })
}

fn updated(call: &CallId, fields: ToolCallUpdateFields, notes: Notes) -> SessionUpdate {
    let update = ToolCallUpdate::new(call.as_str().to_owned(), fields).meta(notes.into_meta());
    SessionUpdate::ToolCallUpdate(update)
}
