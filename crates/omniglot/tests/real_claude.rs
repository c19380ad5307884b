//! The real Claude Code in its own protocol, driven by the daemon against a scripted model.
//!
//! The scenarios of every agent are listed here; features of only this one are in the files below.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "real_claude/asking.rs"]
mod asking;
#[path = "real_claude/background.rs"]
mod background;
#[path = "real_claude/bad_input.rs"]
mod bad_input;
#[path = "real_claude/context.rs"]
mod context;
#[path = "real_claude/errors.rs"]
mod errors;
#[path = "real_claude/follow.rs"]
mod follow;
#[path = "real_claude/process.rs"]
mod process;
#[path = "real_claude/settings.rs"]
mod settings;
#[path = "real_claude/tools.rs"]
mod tools;

use std::path::Path;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const CLAUDE: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::anthropic,
    agent: RealAgent::claude,
    shell: |command| Reply::tool("Bash", json!({"command": command, "description": "Run it."})),
    read: |path: &Path| Reply::tool("Read", json!({"file_path": path})),
    write: |path: &Path, content| Reply::tool("Write", json!({"file_path": path, "content": content})),
    edit: |path: &Path, old, new| {
        Reply::tool("Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
    },
    mcp_tool: "mcp__tiny__add",
    other_model: ("haiku", "claude-haiku-5-5"),
    make: |path: &Path| {
        let command = format!("touch {}", path.display());
        Reply::tool("Bash", json!({"command": command, "description": "Make it."}))
    },
    asking_mode: None,
    stops_when_rejected: false,
    tells_steps: true,
    may_lose_output: false,
};

real_agent_tests! {
    CLAUDE;
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
    a_cancel_while_the_agent_asks_rejects_the_request,
    a_terminated_session_stops_its_running_command,
    a_terminated_session_makes_no_more_calls_of_the_model,
    model_switch,
    mode_switch,
    resume_after_a_restart,
}
