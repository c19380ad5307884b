//! Tool calls and their results: in ACP one thing that is announced, runs and completes.
//!
//! The content of a result is left to `result`.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCall, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use omniglot_schema::{CallId, ItemId, UniversalItem};
use omniglot_timeline::view::{self, CallStatus};

use super::blocks::Blobs;
use super::{Out, ResultForms, kind, result, speech};
use crate::faces::acp::wire::meta::{self, Notes};

/// One call, in ACP's words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) input: Option<serde_json::Value>,
    pub(crate) locations: Vec<ToolCallLocation>,
}

pub(super) fn started(call: &view::Call, out: &mut Out<'_>) {
    let told = Call::of(call);
    let announced = ToolCall::new(told.id.as_str().to_owned(), told.title)
        .name(told.name)
        .kind(told.kind)
        .locations(told.locations)
        .raw_input(told.input)
        .meta(notes(call).into_meta());
    out.update(SessionUpdate::ToolCall(announced));
}

pub(super) fn ready(call: &view::Call, before: Option<&view::Call>, out: &mut Out<'_>) {
    let Some(before) = before else { return started(call, out) };
    let mut fields = Call::of(call).since(&Call::of(before));
    if call.status == CallStatus::Failed {
        fields.status = Some(ToolCallStatus::Failed);
    }
    if fields != ToolCallUpdateFields::default() {
        out.update(updated(call, fields, notes(call)));
    }
}

pub(super) fn running(call: &view::Call, out: &mut Out<'_>) {
    // A call that failed before it ran has a result of ours, which says why.
    if call.status == CallStatus::Failed {
        return;
    }
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
    out.update(updated(call, fields, result_notes(call.result.as_ref())));
}

pub(super) fn ended(call: &view::Call, forms: ResultForms, blobs: &Blobs, out: &mut Out<'_>) {
    let Some(result) = &call.result else { return };
    let notes = result_notes(Some(result)).with(meta::RESULT, result::outcome(result));
    let known = result::Known { kind: kind::of(call.kind), locations: kind::locations(&call.subject) };
    out.update(updated(call, result::fields(result, known, forms, blobs), notes));
}

/// How much of the output of each running call the client has, in bytes.
#[derive(Debug, Default)]
pub(super) struct Shown(HashMap<ItemId, usize>);

impl Shown {
    /// Every update carries the whole output, so it is shown again only when it has grown by an eighth: the sum of
    /// what is sent stays a small multiple of the output.
    pub(super) fn output(&mut self, call: &view::Call, out: &mut Out<'_>) {
        let shown = self.0.entry(call.item.clone()).or_default();
        let grown = call.written - *shown;
        if grown > 0 && grown >= *shown / 8 {
            *shown = call.written;
            let text = result::output(&call.output, kind::of(call.kind));
            let fields = ToolCallUpdateFields::new().content(vec![text]);
            out.update(updated(call, fields, result_notes(call.result.as_ref())));
        }
    }

    pub(super) fn forget(&mut self, call: &ItemId) {
        self.0.remove(call);
    }
}

impl Call {
    pub(super) fn of(call: &view::Call) -> Self {
        Self {
            id: call.call_id.clone(),
            name: call.name.clone(),
            title: call.title.clone().unwrap_or_else(|| kind::title(&call.name, &call.subject)),
            kind: kind::of(call.kind),
            locations: kind::locations(&call.subject),
            // They are cut off while they stream.
            input: serde_json::from_str(&call.arguments).ok(),
        }
    }

    /// Returns what is to be told after `told`.
    fn since(self, told: &Self) -> ToolCallUpdateFields {
        ToolCallUpdateFields::new()
            .title((self.title != told.title).then_some(self.title))
            .kind((self.kind != told.kind).then_some(self.kind))
            .locations((self.locations != told.locations).then_some(self.locations))
            .raw_input(self.input.filter(|input| told.input.as_ref() != Some(input)))
    }
}

fn notes(call: &view::Call) -> Notes {
    speech::notes(&call.item, call.native_item_id.as_ref(), call.parent.as_ref())
        .with(meta::TOOL_NAME, Some(&call.name))
}

fn result_notes(result: Option<&UniversalItem>) -> Notes {
    result.map(speech::notes_of).unwrap_or_default()
}

fn updated(call: &view::Call, fields: ToolCallUpdateFields, notes: Notes) -> SessionUpdate {
    let update = ToolCallUpdate::new(call.call_id.as_str().to_owned(), fields).meta(notes.into_meta());
    SessionUpdate::ToolCallUpdate(update)
}
