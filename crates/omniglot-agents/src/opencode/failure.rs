//! OpenCode's errors: in our codes (T16), and where they are told.

use omniglot_schema::{ErrorCode, StatusLabel};
use omniglot_timeline::Failure;
use serde_json::json;

use super::translate::Whose;
use super::turn::Ending;
use super::wire::{NamedError, SessionError};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output};

const ABORTED: &str = "MessageAbortedError";

impl OpenCode {
    pub(crate) fn error(&mut self, event: SessionError, out: &mut Vec<Output>) {
        let Some(error) = event.error else { return };
        let whose = event.session.as_deref().map(|session| self.whose(session));
        match (whose, &mut self.turn) {
            (Some(Whose::Mine), Some(turn)) => {
                // An abort of ours is no error; one of somebody else's is.
                if !(turn.is_aborted() && error.name == ABORTED) {
                    turn.fails(&error);
                }
                out.push(dropped(DropReason::Superseded));
            }
            (Some(Whose::Mine), None) => self.error_outside_turn(&error, out),
            // Its call may end without a word about it. Who stops a turn stops its subagents.
            (Some(Whose::Child(call)), _) if error.name != ABORTED => {
                self.told(StatusLabel::Warning, failure(&error).message, call, out);
            }
            (Some(Whose::Child(_) | Whose::Other), _) => {}
            (None, _) => out.push(Draft::Error(failure(&error)).into()),
        }
    }

    /// After a turn that failed it is about that one, often the same once more with its stack (T9).
    fn error_outside_turn(&mut self, error: &NamedError, out: &mut Vec<Output>) {
        match self.ended_so {
            Ending::Aborted if error.name == ABORTED => out.push(dropped(DropReason::Echo)),
            Ending::Aborted | Ending::Failed => {
                self.told(StatusLabel::Late, failure(error).message, None, out);
            }
            Ending::Well => out.push(Draft::Error(failure(error)).into()),
        }
    }
}

pub(crate) fn failure(error: &NamedError) -> Failure {
    let message = error.data.message.clone().unwrap_or_else(|| error.name.clone());
    let body = error.data.response_body.as_deref().unwrap_or_default();
    let code = match error.name.as_str() {
        ABORTED => ErrorCode::Aborted,
        "ProviderAuthError" => ErrorCode::ProviderAuth,
        "ContextOverflowError" => ErrorCode::ContextOverflow,
        "MessageOutputLengthError" => ErrorCode::OutputLength,
        "APIError" => api_code(error.data.status_code, &message, body),
        // What it has no name for is most often a model or provider that it does not know.
        "UnknownError" if is_unknown_model(&message) => ErrorCode::ApiError,
        "StructuredOutputError" => ErrorCode::ExecutionError,
        _ => ErrorCode::Unknown,
    };
    let mut details = json!({"name": error.name, "status": error.data.status_code});
    if code == ErrorCode::RateLimit
        && let Some(details) = details.as_object_mut()
    {
        let quota = error.data.status_code == Some(402) || is_quota(&message) || is_quota(body);
        details.insert("kind".to_owned(), if quota { "quota" } else { "rate" }.into());
    }
    Failure { code, message, details: Some(details) }
}

fn api_code(status: Option<u16>, message: &str, body: &str) -> ErrorCode {
    let says = |word: &str| [message, body].iter().any(|text| text.to_ascii_lowercase().contains(word));
    match status {
        Some(401 | 403) => ErrorCode::ProviderAuth,
        Some(402 | 429) => ErrorCode::RateLimit,
        _ if says("insufficient_quota") || says("rate limit") || says("usage limit") => ErrorCode::RateLimit,
        Some(400 | 413) if says("context length") || says("context_length") || says("too long") => {
            ErrorCode::ContextOverflow
        }
        _ => ErrorCode::ApiError,
    }
}

fn is_quota(words: &str) -> bool {
    let lower = words.to_ascii_lowercase();
    ["quota", "usage limit", "credit", "billing"].iter().any(|sign| lower.contains(sign))
}

fn is_unknown_model(message: &str) -> bool {
    message.starts_with("Model not found") || message.contains("ProviderModelNotFoundError")
}

/// A turn without an answer that ended while nobody could listen.
pub(crate) fn unheard() -> Failure {
    let message =
        "OpenCode gave up the turn while its event stream was cut; the reason was not received".to_owned();
    Failure { code: ErrorCode::Unknown, message, details: None }
}

/// An answer that is no success, in words.
pub(crate) fn refused(answer: &crate::http::Answer) -> Failure {
    let named: Option<NamedError> = serde_json::from_str(answer.body.get()).ok();
    let said = named.as_ref().and_then(|error| error.data.message.clone());
    let message = match (said, answer.status) {
        (Some(said), _) => said,
        (None, Some(status)) => format!("OpenCode answered {status}"),
        (None, None) => {
            let why: String = serde_json::from_str(answer.body.get()).unwrap_or_default();
            format!("OpenCode did not answer: {why}")
        }
    };
    let code = if answer.status.is_some() { ErrorCode::ExecutionError } else { ErrorCode::AgentUnavailable };
    Failure { code, message, details: answer.status.map(|status| json!({"status": status})) }
}
