//! The session and turn that lines of the log happened in, as fields of a span around the session's actor.

use omniglot_schema::{EventData, SessionId, UniversalEvent};
use tracing::Span;
use tracing::field::{Empty, display};

/// The target of the span, by which a log that has no use for it switches it off.
pub const LOG_CONTEXT: &str = "omniglot_context";

pub(crate) fn of_session(id: &SessionId) -> Span {
    tracing::info_span!(target: LOG_CONTEXT, "session", session = %id, turn = Empty)
}

/// Notes the turn that begins, or that none runs any more. Called within the span.
pub(crate) fn note(event: &UniversalEvent) {
    match &event.data {
        EventData::TurnStarted(start) => drop(Span::current().record("turn", display(&start.turn_id))),
        EventData::TurnEnded(_) => drop(Span::current().record("turn", "")),
        _ => {}
    }
}
