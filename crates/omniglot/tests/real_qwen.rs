//! The real Qwen Code, driven by the daemon against a scripted model.

use std::path::Path;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const QWEN: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::chat,
    agent: RealAgent::qwen,
    shell: |command| Reply::tool("run_shell_command", json!({"command": command, "is_background": false})),
    read: |path: &Path| Reply::tool("read_file", json!({"file_path": path})),
    write: |path: &Path, content| Reply::tool("write_file", json!({"file_path": path, "content": content})),
    edit: |path: &Path, old, new| {
        Reply::tool("edit", json!({"file_path": path, "old_string": old, "new_string": new}))
    },
    mcp_tool: "mcp__tiny__add",
    other_model: ("other-model(openai)", "other-model"),
    make: |path: &Path| {
        let args = json!({"command": format!("touch {}", path.display()), "is_background": false});
        Reply::tool("run_shell_command", args)
    },
    asking_mode: None,
    stops_when_rejected: true,
    tells_steps: false,
    may_lose_output: true,
};

real_agent_tests! {
    QWEN;
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
    a_skill_of_the_session_is_told_to_the_model,
    permissions_once,
    permissions_for_the_session,
    permissions_reject,
    errors_rate_limit,
    errors_credentials,
    a_code_block_keeps_its_fences_and_blanks,
    a_refused_request_is_an_api_error,
    errors_context_overflow,
    errors_provider,
    errors_broken_stream,
    an_empty_answer_ends_the_turn,
    interrupt,
    interrupt_ends_a_running_command,
    a_cancel_while_the_agent_asks_rejects_the_request,
    model_switch,
    mode_switch,
    resume_after_a_restart,
}
