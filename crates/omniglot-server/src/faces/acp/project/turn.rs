//! Turns: what a failure and the end of a turn come to.

use agent_client_protocol_schema::v1::{self as acp, Error, PromptResponse};
use omniglot_schema::{
    ErrorCode, ErrorData, SessionEndReason, SessionEndedData, StderrOutput, StopReason, TerminatedBy,
    TurnEndedData, Usage,
};
use omniglot_timeline::view::Turn;
use serde::Deserialize;

use super::ended::SessionEnd;
use super::{Out, Outgoing, TurnEnded};
use crate::faces::acp::wire::failure;
use crate::faces::acp::wire::meta::{self, Notes};

/// Answers the prompt. A failure of the turn is told as the answer.
pub(super) fn ended(turn: Option<Turn>, data: &TurnEndedData, out: &mut Out<'_>) {
    let notes =
        Notes::default().with(meta::TURN_ID, Some(&data.turn_id)).with(meta::TURN, Some(&data.metadata));
    let (message_id, failure) = turn.map(|turn| (turn.message, turn.failure)).unwrap_or_default();
    let answer = match (failure, stop_reason(data.metadata.stop_reason)) {
        (None, Some(stop)) => {
            let usage = data.metadata.usage.as_ref().and_then(usage);
            Ok(PromptResponse::new(stop).usage(usage).meta(notes.into_meta()))
        }
        (failure, _) => Err(error(failure, out.event.session_id.as_str(), notes)),
    };
    let ended = TurnEnded { turn_id: data.turn_id.clone(), message_id, answer };
    out.sent.push(Outgoing::TurnEnded(Box::new(ended)));
}

/// Adds the end of the session to the answer of a turn that ended with it.
#[must_use]
pub fn with_session_end(answer: PromptResponse, end: &SessionEndedData) -> PromptResponse {
    let mut notes = answer.meta.clone().unwrap_or_default();
    notes.extend(Notes::default().with(meta::SESSION_END, Some(SessionEnd::from(end))).into_map());
    answer.meta(notes)
}

/// `None` for a turn that failed.
fn stop_reason(reason: StopReason) -> Option<acp::StopReason> {
    match reason {
        StopReason::EndTurn => Some(acp::StopReason::EndTurn),
        StopReason::MaxTokens => Some(acp::StopReason::MaxTokens),
        StopReason::MaxTurns | StopReason::MaxBudget => Some(acp::StopReason::MaxTurnRequests),
        StopReason::Refusal => Some(acp::StopReason::Refusal),
        StopReason::Cancelled => Some(acp::StopReason::Cancelled),
        StopReason::Error => None,
    }
}

/// Only whole: a total without its parts cannot be said.
fn usage(usage: &Usage) -> Option<acp::Usage> {
    let (input, output) = (usage.input_tokens?, usage.output_tokens?);
    let cache = usage.cache_read_tokens.unwrap_or(0).saturating_add(usage.cache_write_tokens.unwrap_or(0));
    let total = usage.total_tokens.unwrap_or_else(|| input.saturating_add(output).saturating_add(cache));
    Some(
        acp::Usage::new(total, input, output)
            .thought_tokens(usage.reasoning_tokens)
            .cached_read_tokens(usage.cache_read_tokens)
            .cached_write_tokens(usage.cache_write_tokens),
    )
}

fn error(failure: Option<ErrorData>, session: &str, notes: Notes) -> Error {
    let failure = failure.unwrap_or_else(|| ErrorData {
        message: "the turn failed".to_owned(),
        code: Some(ErrorCode::Unknown),
        details: None,
    });
    let notes = notes
        .with(meta::SESSION_ID, Some(session))
        .with(meta::SESSION_END, crash(&failure).as_ref().map(SessionEnd::from));
    failure::of_turn(&failure, notes)
}

/// A crash ends the turn first and the session right after it; what the session's end will say stands in the
/// failure already.
fn crash(failure: &ErrorData) -> Option<SessionEndedData> {
    #[derive(Deserialize)]
    struct Details {
        exit_code: Option<i32>,
        stderr: Option<StderrOutput>,
    }
    let details = failure.details.as_ref().filter(|_| failure.code == Some(ErrorCode::AgentCrashed))?;
    let Details { exit_code, stderr } = Details::deserialize(details).ok()?;
    Some(SessionEndedData {
        reason: SessionEndReason::Error,
        terminated_by: TerminatedBy::Agent,
        message: Some(failure.message.clone()),
        exit_code,
        stderr,
    })
}
