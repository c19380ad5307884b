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
};

real_agent_tests! {
    CODEX;
    text_is_streamed,
    thoughts_are_items_of_their_own,
    the_next_prompt_follows_the_first,
    an_image_reaches_the_model,
    a_shell_command_runs,
    a_file_is_read_and_really_edited,
    parallel_tools_all_get_their_results,
    tools_of_an_mcp_server_run,
    a_permission_once_is_asked_again,
    a_permission_for_ever_is_asked_once,
    a_rejected_tool_does_not_run,
    a_throttled_request_is_a_rate_limit,
    a_key_that_is_refused_is_a_matter_of_auth,
    a_refused_request_is_an_api_error,
    a_prompt_that_is_too_long_is_an_overflow,
    a_failing_server_is_an_api_error,
    an_overloaded_server_is_an_api_error,
    a_broken_stream_ends_the_turn_with_an_error,
    an_empty_answer_ends_the_turn,
    a_cancelled_turn_ends_and_the_next_prompt_works,
    another_model_is_asked_from_then_on,
    another_mode_holds_for_the_next_prompt,
    the_agent_remembers_after_a_restart_of_the_daemon,
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
