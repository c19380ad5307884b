//! Codex behind its real ACP wrapper, driven by the daemon against a scripted model.

use std::path::Path;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const CODEX_ACP: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::responses,
    agent: RealAgent::codex_acp,
    shell: |command| Reply::tool("exec_command", json!({"cmd": command})),
    read: |path: &Path| Reply::tool("exec_command", json!({"cmd": format!("cat {}", path.display())})),
    write: |path: &Path, content| {
        let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
        Reply::custom_tool(
            "apply_patch",
            &format!("*** Begin Patch\n*** Add File: {}\n{lines}*** End Patch", path.display()),
        )
    },
    edit: |path: &Path, old, new| {
        Reply::custom_tool(
            "apply_patch",
            &format!(
                "*** Begin Patch\n*** Update File: {}\n@@\n-{old}\n+{new}\n*** End Patch",
                path.display()
            ),
        )
    },
    mcp_tool: "mcp__tiny/add",
    other_model: ("gpt-5.6-sol", "gpt-5.6-sol"),
    // Commands run in its sandbox without a question; edits of a read-only session do ask.
    make: |path: &Path| {
        let patch = format!("*** Begin Patch\n*** Add File: {}\n+made\n*** End Patch", path.display());
        Reply::custom_tool("apply_patch", &patch)
    },
    asking_mode: Some("plan"),
    stops_when_rejected: true,
    tells_steps: false,
    may_lose_output: false,
};

real_agent_tests! {
    CODEX_ACP;
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
    a_failing_server_is_an_api_error,
    errors_provider,
    errors_broken_stream,
    an_empty_answer_ends_the_turn,
    interrupt,
    a_cancelled_command_ends_with_its_agent,
    a_cancel_while_the_agent_asks_rejects_the_request,
    model_switch,
    mode_switch,
    resume_after_a_restart,
}
