//! The real OpenCode server, shared by sessions, driven by the daemon against a scripted model.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "real_opencode/control.rs"]
mod control;
#[path = "real_opencode/cut.rs"]
mod cut;
#[path = "real_opencode/failures.rs"]
mod failures;
#[path = "real_opencode/rare.rs"]
mod rare;
#[path = "real_opencode/requests.rs"]
mod requests;
#[path = "real_opencode/sharing.rs"]
mod sharing;
#[path = "real_opencode/work.rs"]
mod work;

use std::path::Path;

use omniglot_schema::{StopReason, UniversalEvent, UniversalEventType};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const OPENCODE: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::chat,
    agent: RealAgent::opencode,
    shell,
    read: |path: &Path| Reply::tool("read", json!({"filePath": path})),
    write: |path: &Path, content| Reply::tool("write", json!({"filePath": path, "content": content})),
    edit: |path: &Path, old, new| {
        Reply::tool("edit", json!({"filePath": path, "oldString": old, "newString": new}))
    },
    mcp_tool: "tiny_add",
    other_model: ("scripted/other-model", "other-model"),
    make: |path: &Path| shell(&format!("touch {}", path.display())),
    asking_mode: None,
    stops_when_rejected: true,
    tells_steps: true,
    may_lose_output: false,
};

real_agent_tests! {
    OPENCODE;
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
    permissions_once,
    permissions_for_the_session,
    permissions_reject,
    errors_rate_limit,
    a_code_block_keeps_its_fences_and_blanks,
    a_model_that_refuses_is_a_refusal,
    a_failing_server_is_an_api_error,
    errors_provider,
    an_empty_answer_ends_the_turn,
    errors_credentials,
    a_refused_request_is_an_api_error,
    interrupt,
    interrupt_ends_a_running_command,
    a_terminated_session_stops_its_running_command,
    a_terminated_session_makes_no_more_calls_of_the_model,
    a_cancel_while_the_agent_asks_rejects_the_request,
    model_switch,
    mode_switch,
    resume_after_a_restart,
}

fn shell(command: &str) -> Reply {
    Reply::tool("bash", json!({"command": command, "description": "Runs it"}))
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
