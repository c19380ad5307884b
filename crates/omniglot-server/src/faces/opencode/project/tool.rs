//! Tool calls: pending, then running when the input is known, then completed or failed.
//!
//! The name of the tool and the words of its input are in `input`; what its part shows of the result, in
//! `result`.

mod input;
mod result;

use omniglot_schema::{
    CallId, ContentPart, ItemDeltaData, ItemId, ItemStatus, ToolKind, ToolSubject, UniversalItem,
};
use serde_json::json;

use self::input::ToolUse;
use super::Projector;
use super::diffs::changes;
use crate::faces::opencode::ids::Id;
use crate::faces::opencode::wire::{
    PartBody, QuestionInfo, Record, Span, ToolPart, ToolReference, ToolState, tool_names,
};

/// A call without its result.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    message: Id,
    part: Id,
    tool: String,
    kind: Option<ToolKind>,
    subject: ToolSubject,
    title: Option<String>,
    input: Record,
    start: i64,
    /// The end of what it has written so far.
    output: String,
    /// Set once the call asked a person something: it is a question from then on.
    asks: bool,
    /// What the person answered, where the call is a question.
    answers: Option<Vec<Vec<String>>>,
}

/// As much of a running command's output as each event repeats.
const PREVIEW: usize = 8 * 1024;

/// Returns the call that an item is, and its id.
fn called(item: &UniversalItem) -> Option<(&CallId, ToolUse<'_>)> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolCall { name, arguments, call_id, title, kind, subject } => {
            let subject = subject.as_deref().cloned().unwrap_or_default();
            let (title, kind) = (title.as_deref(), *kind);
            Some((call_id, ToolUse { name, arguments, title, kind, subject }))
        }
        _ => None,
    })
}

impl Projector {
    pub(super) fn call_started(&mut self, item: &UniversalItem) {
        let Some((call, told)) = called(item) else { return };
        self.no_retry();
        let Some(message) = self.assistant() else { return };
        let part = self.ids.part(self.now);
        let reference = ToolReference { message_id: message.clone(), call_id: call.to_string() };
        self.called.insert(item.item_id.clone(), reference);
        let open = OpenCall {
            message,
            part,
            tool: told.in_words().0,
            kind: told.kind,
            subject: told.subject,
            title: None,
            input: Record::new(),
            start: self.now,
            output: String::new(),
            asks: false,
            answers: None,
        };
        self.say_call(call, &open, ToolState::Pending { input: Record::new(), raw: String::new() });
        self.calls.insert(call.clone(), open);
    }

    pub(super) fn call_completed(&mut self, item: &UniversalItem) {
        let Some((call, told)) = called(item) else { return };
        let Some(mut open) = self.calls.remove(call) else { return };
        open.title = told.title.map(str::to_owned);
        if !open.asks {
            (open.tool, open.input) = told.in_words();
        }
        (open.kind, open.subject) = (told.kind, told.subject);
        open.start = self.now;
        // What failed here never ran; its result follows and says so.
        if item.status == ItemStatus::Completed {
            let state = running(&open);
            self.say_call(call, &open, state);
        }
        self.calls.insert(call.clone(), open);
    }

    pub(super) fn output_grew(&mut self, delta: &ItemDeltaData) {
        let Some(call) = self.call_of_result(&delta.item_id) else { return };
        let Some(mut open) = self.calls.remove(&call) else { return };
        open.output.push_str(&delta.delta);
        open.output = result::end_of(&open.output, PREVIEW).to_owned();
        let state = running(&open);
        self.say_call(&call, &open, state);
        self.calls.insert(call, open);
    }

    pub(super) fn result_started(&mut self, item: &UniversalItem) {
        if let Some(call) = call_of(item) {
            self.results.insert(item.item_id.clone(), call.clone());
        }
    }

    pub(super) fn result_completed(&mut self, item: &UniversalItem) {
        self.results.remove(&item.item_id);
        let Some(call) = call_of(item) else { return };
        let Some(open) = self.calls.remove(call) else { return };
        let changes = changes(&item.content);
        let state = result::state(&open, item, &changes, self);
        self.say_call(call, &open, state);
        for change in changes {
            self.diffs.add(change.clone());
            if let Some(turn) = &mut self.turn {
                turn.diffs.add(change);
            }
        }
    }

    /// A call that asks a person is OpenCode's question, and shows what it asks. One whose kind is known does
    /// something else and asks about it, such as a change of mode.
    pub(super) fn call_asks(&mut self, item: &ItemId, questions: &[QuestionInfo]) {
        let Some(call) = self.called.get(item).map(|call| CallId(call.call_id.clone())) else { return };
        let Some(mut open) = self.calls.remove(&call) else { return };
        if matches!(open.kind, None | Some(ToolKind::Other | ToolKind::Think)) {
            open.asks = true;
            open.tool = tool_names::QUESTION.to_owned();
            open.input.insert("questions".to_owned(), json!(questions));
            let state = running(&open);
            self.say_call(&call, &open, state);
        }
        self.calls.insert(call, open);
    }

    /// Returns the permission that a call needs and its subject, both in OpenCode's words; nothing for a call
    /// whose kind is not told.
    pub(super) fn permission_of(&self, item: &ItemId) -> Option<(&str, Record)> {
        let call = self.called.get(item)?;
        let open = self.calls.get(&CallId(call.call_id.clone()))?;
        let permission = tool_names::permission(open.kind?, &open.tool);
        let mut words = input::words(&open.tool, &open.subject, None);
        // A permission to change a file spells this word otherwise than the tools do.
        if permission == tool_names::EDIT
            && let Some(file) = words.shift_remove("filePath")
        {
            words.insert("filepath".to_owned(), file);
        }
        Some((permission, words))
    }

    /// The person answered the question that this call asks.
    pub(super) fn call_answered(&mut self, item: &ItemId, answers: &[Vec<String>]) {
        let call = self.called.get(item).map(|call| CallId(call.call_id.clone()));
        if let Some(open) = call.and_then(|call| self.calls.get_mut(&call)) {
            open.answers = Some(answers.to_vec());
        }
    }

    fn call_of_result(&self, item: &ItemId) -> Option<CallId> {
        self.results.get(item).cloned()
    }

    fn say_call(&mut self, call: &CallId, open: &OpenCall, state: ToolState) {
        let part = ToolPart { call_id: call.to_string(), tool: open.tool.clone(), state };
        self.say_part(open.part.clone(), open.message.clone(), PartBody::Tool(part));
    }
}

fn running(open: &OpenCall) -> ToolState {
    let mut metadata = Record::new();
    if !open.output.is_empty() {
        metadata.insert("output".to_owned(), json!(open.output));
    }
    ToolState::Running {
        input: open.input.clone(),
        title: open.title.clone(),
        metadata,
        time: Span { start: open.start, end: None },
    }
}

fn call_of(item: &UniversalItem) -> Option<&CallId> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    })
}
