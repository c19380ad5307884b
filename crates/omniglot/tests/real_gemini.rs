//! The real Gemini CLI, driven by the daemon against a scripted model.

use std::path::Path;
use std::process::Command;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::real_agent_tests;
use omniglot_testkit::scenarios::Dialect;
use serde_json::json;

const GEMINI: Dialect = Dialect {
    program: env!("CARGO_BIN_EXE_omniglot"),
    script: Model::gemini,
    agent: RealAgent::gemini,
    shell: |command| Reply::tool("run_shell_command", json!({"command": command})),
    read: |path: &Path| Reply::tool("read_file", json!({"file_path": path})),
    write: |path: &Path, content| Reply::tool("write_file", json!({"file_path": path, "content": content})),
    edit: |path: &Path, old, new| {
        let args = json!({"file_path": path, "instruction": "Edit.", "old_string": old, "new_string": new});
        Reply::tool("replace", args)
    },
    mcp_tool: "mcp_tiny_add",
    other_model: ("gemini-2.5-pro", "gemini-2.5-pro"),
    make: |path: &Path| {
        Reply::tool("run_shell_command", json!({"command": format!("touch {}", path.display())}))
    },
    asking_mode: None,
};

real_agent_tests! {
    GEMINI;
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
    a_cancel_stops_a_running_command,
    a_cancel_while_the_agent_asks_rejects_the_request,
    another_model_is_asked_from_then_on,
    another_mode_holds_for_the_next_prompt,
    the_agent_remembers_after_a_restart_of_the_daemon,
}

/// As in the README: the program on the PATH, a key in the environment, no configuration.
#[test]
fn it_runs_at_the_command_line_without_any_configuration() {
    let model = Model::gemini().reply(Reply::text("Two crates and a test.")).start();
    let agent = RealAgent::gemini(&model);
    let data = agent.home().join("data");
    let ran = Command::new(GEMINI.program)
        .args(["run", "--agent", "gemini", "--approve", "once", "What is in this folder?"])
        .env_clear()
        .envs(agent.variables().iter().cloned())
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", agent.installed_on_path().display()))
        .env("OMNIGLOT_HOME", &data)
        .current_dir(agent.home())
        .output()
        .unwrap();
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{shown}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(shown.contains("Two crates and a test.") && shown.contains("── end_turn"), "{shown}");
    assert!(!data.join("omniglot.toml").exists());
}
