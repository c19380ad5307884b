//! Tool calls: pending, then running when the input is known, then completed or failed.
//!
//! The name of the tool and the words of its input are in `input`; what its part shows of the result, in
//! `result`.

mod input;
mod result;

use omniglot_schema::{CallId, ItemId, ToolKind};
use omniglot_timeline::view::{Call, CallStatus};
use serde_json::json;

use super::Projector;
use super::diffs::changes;
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{PartBody, QuestionInfo, Record, Span, ToolPart, ToolState, tool_names};

/// The part of a call, in the words of OpenCode.
#[derive(Debug, Clone)]
pub(super) struct CallPart {
    pub(super) call_id: CallId,
    pub(super) message: Id,
    part: Id,
    tool: String,
    pub(super) input: Record,
    /// The session of the subagent that it has started.
    subagent: Option<Id>,
    start: i64,
    /// Set once the call asked a person something: it is a question from then on.
    asks: bool,
    /// The answers of the person, where the call is a question.
    answers: Option<Vec<Vec<String>>>,
}

impl CallPart {
    fn metadata(&self) -> Record {
        let subagent = self.subagent.iter().map(|id| ("sessionId".to_owned(), json!(id)));
        subagent.collect()
    }
}

/// As much of a running command's output as each event repeats.
const PREVIEW: usize = 8 * 1024;

impl Projector {
    pub(super) fn call_started(&mut self, call: &Call) {
        self.no_retry();
        let Some(message) = self.message_within(call.within.as_ref()) else { return };
        let part = CallPart {
            call_id: call.call_id.clone(),
            subagent: None,
            message,
            part: self.ids.part(self.now),
            tool: input::in_words(call).0,
            input: Record::new(),
            start: self.now,
            asks: false,
            answers: None,
        };
        let state = ToolState::Pending { input: Record::new(), raw: String::new() };
        self.say_call(&call.call_id, &part, state);
        self.calls.insert(call.item.clone(), part);
    }

    pub(super) fn call_ready(&mut self, call: &Call) {
        let Some(part) = self.calls.get_mut(&call.item) else { return };
        if !part.asks {
            (part.tool, part.input) = input::in_words(call);
        }
        part.start = self.now;
        // What failed here never ran; its result follows and says so.
        if call.status == CallStatus::Ready {
            self.say_running(call);
        }
    }

    pub(super) fn call_ended(&mut self, call: &Call) {
        let (Some(part), Some(result)) = (self.calls.remove(&call.item), &call.result) else { return };
        let changes = changes(&result.content);
        let state = result::state(&part, call, result, &changes, self);
        self.say_call(&call.call_id, &part, state);
        self.end_subagent(&call.call_id);
        for change in changes.into_iter().map(|change| change.below(&self.summary.worktree)) {
            self.diffs.add(change.clone());
            if let Some(turn) = &mut self.turn {
                turn.diffs.add(change);
            }
        }
    }

    /// The part of a call leads to the session of its subagent.
    pub(super) fn show_subagent(&mut self, call: &CallId, subagent: Id) {
        let Some(part) = self.calls.values_mut().find(|part| part.call_id == *call) else { return };
        part.subagent = Some(subagent);
        let part = part.clone();
        let state = ToolState::Running {
            input: part.input.clone(),
            title: None,
            metadata: part.metadata(),
            time: Span { start: part.start, end: None },
        };
        self.say_call(call, &part, state);
    }

    /// A call that asks a person is OpenCode's question, and shows what it asks. One whose kind is known does
    /// something else and asks about it, such as a change of mode.
    pub(super) fn call_asks(&mut self, item: &ItemId, questions: &[QuestionInfo]) {
        let (Some(call), Some(part)) = (self.view.call(item), self.calls.get_mut(item)) else { return };
        if matches!(call.kind, None | Some(ToolKind::Other | ToolKind::Think)) {
            part.asks = true;
            part.tool = tool_names::QUESTION.to_owned();
            part.input.insert("questions".to_owned(), json!(questions));
            let call = call.clone();
            self.say_running(&call);
        }
    }

    /// Returns the permission that a call needs and its subject, both in OpenCode's words; nothing for a call
    /// whose kind is not told.
    pub(super) fn permission_of(&self, item: &ItemId) -> Option<(&str, Record)> {
        let (call, part) = (self.view.call(item)?, self.calls.get(item)?);
        let permission = tool_names::permission(call.kind?, &part.tool);
        let mut words = input::words(&part.tool, &call.subject, None);
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
        if let Some(part) = self.calls.get_mut(item) {
            part.answers = Some(answers.to_vec());
        }
    }

    pub(super) fn say_running(&mut self, call: &Call) {
        let Some(part) = self.calls.get(&call.item).cloned() else { return };
        let state = running(&part, call);
        self.say_call(&call.call_id, &part, state);
    }

    fn say_call(&mut self, call: &CallId, part: &CallPart, state: ToolState) {
        let tool = ToolPart { call_id: call.to_string(), tool: part.tool.clone(), state };
        self.say_part(part.part.clone(), part.message.clone(), PartBody::Tool(tool));
    }
}

fn running(part: &CallPart, call: &Call) -> ToolState {
    let mut metadata = part.metadata();
    if !call.output.is_empty() {
        metadata.insert("output".to_owned(), json!(result::end_of(&call.output, PREVIEW)));
    }
    ToolState::Running {
        input: part.input.clone(),
        title: call.title.clone().filter(|_| call.status != CallStatus::Writing),
        metadata,
        time: Span { start: part.start, end: None },
    }
}
