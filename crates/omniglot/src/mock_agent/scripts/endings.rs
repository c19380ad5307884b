//! Words about the end of a turn: errors, stop reasons, silence, late text, a clean exit.

use std::time::Duration;

use agent_client_protocol_schema::v1::{Error, StopReason};
use serde_json::json;

use crate::mock_agent::turn::{Flow, Halt, Turn};

pub(in crate::mock_agent) fn error_auth(_: &mut Turn<'_>, _: u64) -> Flow {
    Err(Halt::Failed(Error::auth_required()))
}

pub(in crate::mock_agent) fn error_rate_limit(_: &mut Turn<'_>, _: u64) -> Flow {
    fail("rate_limit", "API Error: Request rejected (429): this request would exceed your rate limit.")
}

pub(in crate::mock_agent) fn error_context(_: &mut Turn<'_>, _: u64) -> Flow {
    fail("invalid_request", "Prompt is too long: 250000 tokens, limit 200000.")
}

pub(in crate::mock_agent) fn error_output_length(_: &mut Turn<'_>, _: u64) -> Flow {
    fail("max_output_tokens", "API Error: the response exceeded the 32000 output token maximum.")
}

pub(in crate::mock_agent) fn error_api(_: &mut Turn<'_>, _: u64) -> Flow {
    fail("server_error", "API Error: 500 Internal server error. Try again in a moment.")
}

pub(in crate::mock_agent) fn error_execution(_: &mut Turn<'_>, _: u64) -> Flow {
    fail("execution_error", "the tool runner broke down.")
}

pub(in crate::mock_agent) fn error_unknown(_: &mut Turn<'_>, _: u64) -> Flow {
    Err(Halt::Failed(Error::new(-32099, "Something went wrong.")))
}

/// Returns an error in the form of claude-agent-acp: a general code, and the kind in `data`.
fn fail(kind: &str, message: &str) -> Flow {
    let error = Error::new(-32603, format!("Internal error: {message}"));
    Err(Halt::Failed(error.data(json!({ "errorKind": kind }))))
}

pub(in crate::mock_agent) fn stop_max_tokens(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("This answer is too long to be finis")?;
    Err(Halt::Stopped(StopReason::MaxTokens))
}

pub(in crate::mock_agent) fn stop_max_turn_requests(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("I have asked the model too often.")?;
    Err(Halt::Stopped(StopReason::MaxTurnRequests))
}

pub(in crate::mock_agent) fn stop_refusal(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("I will not do that.")?;
    Err(Halt::Stopped(StopReason::Refusal))
}

pub(in crate::mock_agent) fn silence(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.wait(None)
}

pub(in crate::mock_agent) fn silence_for(turn: &mut Turn<'_>, milliseconds: u64) -> Flow {
    turn.wait(Some(Duration::from_millis(milliseconds)))
}

pub(in crate::mock_agent) fn late(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.epilogue.late_text = true;
    turn.say("I will say more after the end.")
}

pub(in crate::mock_agent) fn exit(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.epilogue.exit = true;
    turn.say("I answer, and then I am gone.")
}
