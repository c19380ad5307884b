//! The real Amp in its execute mode, driven by the daemon against a stand-in for Amp's server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "real_amp/own.rs"]
mod own;
#[path = "real_amp/skills.rs"]
mod skills;

use std::path::Path;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const AMP: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::amp,
    agent: RealAgent::amp,
    shell,
    read: |path: &Path| Reply::tool("Read", json!({"path": path})),
    write: |path: &Path, content| Reply::tool("create_file", json!({"path": path, "content": content})),
    edit: |path: &Path, old, new| {
        Reply::tool("edit_file", json!({"path": path, "old_str": old, "new_str": new}))
    },
    mcp_tool: "mcp__tiny__add",
    // Amp chooses its model by its mode.
    other_model: ("default", "medium"),
    make: |path: &Path| shell(&format!("touch {}", path.display())),
    asking_mode: None,
    stops_when_rejected: false,
    tells_steps: true,
    may_lose_output: false,
};

fn shell(command: &str) -> Reply {
    Reply::tool("shell_command", json!({"command": command}))
}

real_agent_tests! {
    AMP;
    text_messages,
    reasoning,
    several_turns,
    images,
    tool_calls_and_results,
    command_execution,
    file_changes_as_diffs,
    parallel_tools,
    mcp_tools,
    permissions_once,
    permissions_for_the_session,
    permissions_reject,
    errors_rate_limit,
    errors_credentials,
    a_code_block_keeps_its_fences_and_blanks,
    a_refused_request_is_an_api_error,
    errors_context_overflow,
    a_failing_server_is_an_api_error,
    errors_provider,
    errors_broken_stream,
    an_empty_answer_ends_the_turn,
    interrupt,
    interrupt_ends_a_running_command,
    a_terminated_session_stops_its_running_command,
    a_cancel_while_the_agent_asks_rejects_the_request,
    a_terminated_session_makes_no_more_calls_of_the_model,
    mode_switch,
    resume_after_a_restart,
}
