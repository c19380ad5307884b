//! Commands that a person has run in the session's directory: each is a turn of its own, written down at its end.
//!
//! The agent has no part in such a turn and is not told of it.

use omniglot_schema::{
    ContentPart, Delivered, MessageId, ProcessRunResponse, StopReason, ToolKind, ToolSubject,
};
use omniglot_timeline::{
    Author, CallEnd, CallStart, Draft, ItemKey, Origin, Outcome, ToolCall, ToolResult, TurnEnd,
};

use super::undelivered::Effect;
use super::{Posted, Session};
use crate::error::RuntimeError;

/// A command that has ended.
#[derive(Debug, Clone)]
pub(crate) struct UserCommand {
    pub(crate) command: String,
    pub(crate) directory: String,
    pub(crate) result: ProcessRunResponse,
    pub(crate) author: Author,
}

impl Session {
    /// Writes a command down as a turn. While another turn runs or waits there is no place for it.
    pub(super) fn record_command(&mut self, done: UserCommand) -> Result<Effect, RuntimeError> {
        let fold = self.timeline.fold();
        if fold.open_turn.is_some() || !self.queue.is_empty() {
            return Err(RuntimeError::Busy);
        }
        if fold.ended {
            return Err(RuntimeError::InvalidRequest(
                "the session has ended; a message starts it again".into(),
            ));
        }
        let after = fold.last_seq;
        let message_id = MessageId(format!("msg_{}", uuid::Uuid::now_v7().simple()));
        self.timeline.name_message(&message_id, done.author.clone());
        for draft in drafts(message_id.clone(), done) {
            self.draft(draft);
        }
        self.step.says_nothing_of_agent();
        Ok(Effect::Posted(Posted { message_id, delivered: Delivered::Started, after }))
    }
}

fn drafts(message_id: MessageId, done: UserCommand) -> [Draft; 5] {
    let key = ItemKey(format!("command_{message_id}"));
    let UserCommand { command, directory, result, author: _ } = done;
    let content = vec![ContentPart::Text { text: format!("!{command}") }];
    let arguments = serde_json::json!({ "command": command }).to_string();
    let subject = ToolSubject { command: Some(command), cwd: Some(directory), ..ToolSubject::default() };
    let call = ToolCall {
        kind: Some(ToolKind::Execute),
        subject: Some(Box::new(subject)),
        ..ToolCall::new("shell", arguments)
    };
    [
        Draft::TurnStarted(Origin::User { message_id: Some(message_id), content }),
        Draft::CallStarted(CallStart { key: key.clone(), native_id: None, parent: None, call }),
        Draft::CallReady { key: key.clone(), call: None },
        Draft::CallEnded(CallEnd { key, outcome: outcome(&result), result: result_of(result) }),
        Draft::TurnEnded(TurnEnd::new(StopReason::EndTurn)),
    ]
}

fn outcome(result: &ProcessRunResponse) -> Outcome {
    if result.timed_out { Outcome::Failed } else { Outcome::Completed }
}

fn result_of(result: ProcessRunResponse) -> ToolResult {
    let mut stderr = result.stderr;
    let mut note = |is_so: bool, words: &str| {
        if is_so {
            stderr.push_str(words);
        }
    };
    note(result.stdout_truncated || result.stderr_truncated, "\n(the output was longer)\n");
    note(result.timed_out, "\n(killed: its time was over)\n");
    let exit_code = result.exit_code.map(i64::from);
    ToolResult {
        output: result.stdout,
        stderr: Some(stderr).filter(|stderr| !stderr.is_empty()),
        is_error: Some(exit_code != Some(0)),
        exit_code,
        duration_ms: Some(result.duration_ms),
        parts: vec![],
        goes_on: false,
    }
}
