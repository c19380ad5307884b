//! The real `codex app-server`, shared by sessions, driven by the daemon against a scripted model.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "real_codex/control.rs"]
mod control;
#[path = "real_codex/login.rs"]
mod login;
#[path = "real_codex/refusals.rs"]
mod refusals;
#[path = "real_codex/requests.rs"]
mod requests;
#[path = "real_codex/sharing.rs"]
mod sharing;
#[path = "real_codex/work.rs"]
mod work;

use std::path::Path;

use omniglot_schema::{StopReason, UniversalEvent, UniversalEventType};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use omniglot_timeline::check::Allow;
use serde_json::json;

const CODEX: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::responses,
    agent: RealAgent::codex,
    shell,
    read: |path: &Path| shell(&format!("cat {}", path.display())),
    write: |path: &Path, content| {
        let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
        patch(&format!("*** Add File: {}\n{lines}", path.display()))
    },
    edit: |path: &Path, old, new| {
        patch(&format!("*** Update File: {}\n@@\n-{old}\n+{new}\n", path.display()))
    },
    mcp_tool: "mcp__tiny/add",
    other_model: ("gpt-5.6-sol", "gpt-5.6-sol"),
    // Commands run in its sandbox without a question; edits of a read-only session do ask.
    make: |path: &Path| patch(&format!("*** Add File: {}\n+made\n", path.display())),
    asking_mode: Some("plan"),
    stops_when_rejected: false,
    tells_steps: true,
    may_lose_output: false,
};

real_agent_tests! {
    CODEX;
    text_messages,
    streaming_deltas,
    reasoning,
    several_turns,
    images,
    tool_calls_and_results,
    command_execution,
    file_changes_as_diffs,
    parallel_tools,
    mcp_tools,
    a_fork_may_end_before_a_turn,
    a_skill_of_the_session_is_told_to_the_model,
    an_appended_system_prompt_reaches_the_model,
    a_replaced_system_prompt_reaches_the_model,
    permissions_once,
    permissions_for_the_session,
    permissions_reject,
    errors_rate_limit,
    errors_credentials,
    a_code_block_keeps_its_fences_and_blanks,
    a_model_that_refuses_is_a_refusal,
    a_refused_request_is_an_api_error,
    errors_context_overflow,
    a_failing_server_is_an_api_error,
    errors_provider,
    errors_broken_stream,
    an_empty_answer_ends_the_turn,
    interrupt,
    a_terminated_session_stops_its_running_command,
    a_terminated_session_makes_no_more_calls_of_the_model,
    model_switch,
    mode_switch,
    resume_after_a_restart,
}

fn shell(command: &str) -> Reply {
    Reply::tool("exec_command", json!({"cmd": command, "yield_time_ms": 30_000}))
}

fn patch(hunks: &str) -> Reply {
    Reply::custom_tool("apply_patch", &format!("*** Begin Patch\n{hunks}*** End Patch"))
}

/// A command that leaves the sandbox, which always needs a permission.
fn escalated(command: &str) -> Reply {
    let args = json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"});
    Reply::tool("exec_command", args)
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

fn ended_so(reason: StopReason) -> impl Fn(&UniversalEvent) -> bool {
    move |event| match &event.data {
        omniglot_schema::EventData::TurnEnded(end) => end.metadata.stop_reason == reason,
        _ => false,
    }
}

/// A history that is read while a turn runs.
const CUT: Allow = Allow { open_turn: true, unparsed: false };
