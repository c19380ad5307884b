//! Our codes of errors (T16) by OpenCode's names.

use omniglot_schema::{ErrorCode, ErrorData};
use serde_json::Value;

use crate::faces::opencode::wire::OcError;

pub(super) fn error(agent: &str, data: &ErrorData) -> OcError {
    use ErrorCode as C;
    let message = data.message.clone();
    match data.code.unwrap_or(C::Unknown) {
        C::ProviderAuth => OcError::ProviderAuthError { provider_id: agent.to_owned(), message },
        C::ContextOverflow => OcError::ContextOverflowError { message },
        C::OutputLength => OcError::MessageOutputLengthError { message },
        C::Aborted => OcError::MessageAbortedError { message },
        C::RateLimit => api(data, true),
        C::ApiError => api(data, false),
        C::MaxTurns
        | C::MaxBudget
        | C::ExecutionError
        | C::AgentCrashed
        | C::AgentUnavailable
        | C::Timeout
        | C::DaemonRestarted
        | C::Unknown => OcError::UnknownError { message },
    }
}

/// OpenCode's clients show this name as an interruption, not as a failure.
pub(super) fn aborted() -> OcError {
    OcError::MessageAbortedError { message: "Aborted".to_owned() }
}

fn api(data: &ErrorData, is_retryable: bool) -> OcError {
    let status = data.details.as_ref().and_then(|details| details.get("status")).and_then(Value::as_u64);
    let status_code = status.and_then(|status| u16::try_from(status).ok());
    OcError::APIError { message: data.message.clone(), status_code, is_retryable }
}
