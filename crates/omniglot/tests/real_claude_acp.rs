//! Claude Code behind its real ACP wrapper, driven by the daemon against a scripted model.

use std::path::Path;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const CLAUDE_ACP: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::anthropic,
    agent: RealAgent::claude_acp,
    shell: |command| Reply::tool("Bash", json!({"command": command, "description": "Run it."})),
    read: |path: &Path| Reply::tool("Read", json!({"file_path": path})),
    write: |path: &Path, content| Reply::tool("Write", json!({"file_path": path, "content": content})),
    edit: |path: &Path, old, new| {
        Reply::tool("Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
    },
    mcp_tool: "mcp__tiny__add",
    other_model: ("haiku", "claude-haiku-5-5"),
    make: |path: &Path| {
        Reply::tool(
            "Bash",
            json!({"command": format!("touch {}", path.display()), "description": "Make it."}),
        )
    },
    asking_mode: None,
    stops_when_rejected: false,
    tells_steps: false,
    may_lose_output: false,
};

real_agent_tests! {
    CLAUDE_ACP;
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
    a_model_that_refuses_is_a_refusal,
    a_refused_request_is_an_api_error,
    errors_context_overflow,
    a_failing_server_is_an_api_error,
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
