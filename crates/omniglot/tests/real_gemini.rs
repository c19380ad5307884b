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
    stops_when_rejected: false,
    tells_steps: false,
    may_lose_output: false,
};

real_agent_tests! {
    GEMINI;
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
    interrupt_ends_a_running_command,
    a_cancel_while_the_agent_asks_rejects_the_request,
    model_switch,
    mode_switch,
    resume_after_a_restart,
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
