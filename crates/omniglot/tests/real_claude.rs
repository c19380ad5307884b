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
};

real_agent_tests! {
    CLAUDE;
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
    a_cancel_while_the_agent_asks_rejects_the_request,
    a_terminated_session_stops_its_running_command,
    another_model_is_asked_from_then_on,
    another_mode_holds_for_the_next_prompt,
    the_agent_remembers_after_a_restart_of_the_daemon,
}
