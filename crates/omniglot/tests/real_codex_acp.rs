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
};

real_agent_tests! {
    CODEX_ACP;
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
    a_rejected_tool_ends_the_turn,
    a_throttled_request_is_a_rate_limit,
    a_key_that_is_refused_is_a_matter_of_auth,
    a_refused_request_is_an_api_error,
    a_prompt_that_is_too_long_is_an_overflow,
    a_failing_server_is_an_api_error,
    an_overloaded_server_is_an_api_error,
    a_broken_stream_ends_the_turn_with_an_error,
    an_empty_answer_ends_the_turn,
    a_cancelled_turn_ends_and_the_next_prompt_works,
    a_cancelled_command_ends_with_its_agent,
    a_cancel_while_the_agent_asks_rejects_the_request,
    another_model_is_asked_from_then_on,
    another_mode_holds_for_the_next_prompt,
    the_agent_remembers_after_a_restart_of_the_daemon,
}
