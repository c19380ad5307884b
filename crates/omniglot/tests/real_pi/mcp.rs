//! MCP servers of a session with Pi: our gate registers them, and asks before their tools run.

use omniglot_schema::{CreateSessionRequest, McpCommand, McpServerConfig, PermissionReply};
use omniglot_testkit::agents::mcp_server;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::models::Reply;
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::{SessionDriver, session_id};
use serde_json::json;

use crate::{OLDER_PI, PI};

fn with_server(name: &str) -> impl FnOnce(&mut CreateSessionRequest) {
    let server = McpServerConfig::Local {
        command: McpCommand::Line(mcp_server()),
        args: vec![],
        cwd: None,
        env: None,
        enabled: None,
        timeout_ms: None,
    };
    let servers = [(name.to_owned(), server)].into_iter().collect();
    |request| request.mcp = Some(servers)
}

fn add() -> Reply {
    Reply::tool(PI.mcp_tool, json!({"a": 40, "b": 2}))
}

/// Returns the problem that a session with a server of this name gets, if the user has this `mcp.json`.
async fn refused(pi: &Dialect, name: &str, own: &str) -> (Option<u16>, String) {
    let model = (pi.script)().start();
    let agent = (pi.agent)(&model);
    std::fs::write(agent.home().join(".pi/agent/mcp.json"), own).unwrap();
    let daemon = Setup::new(pi.program).config(agent.toml()).start();
    let mut request = CreateSessionRequest::new(agent.name());
    with_server(name)(&mut request);
    let refused = daemon.client.create(&session_id("s"), &request).await.unwrap_err();
    (refused.status(), refused.to_string())
}

#[tokio::test]
async fn the_gate_asks_before_a_tool_of_a_server_runs() {
    let fixture = PI.fixture_with([add(), Reply::text("It did not run.")], with_server("tiny")).await;
    let turn = fixture.session.turn("Add 40 and 2.", PermissionReply::Reject).await;
    assert_eq!((turn.asked().len(), turn.text().as_str()), (1, "It did not run."), "{turn}");
    assert!(!fixture.model.last().tool_results().concat().contains("sum 42"));
    fixture.session.history().await;
}

#[tokio::test]
async fn a_resumed_session_has_its_servers_again() {
    let fixture = PI.fixture_with([Reply::text("Hello.")], with_server("tiny")).await;
    fixture.turn("Hello.").await;
    let fixture = fixture.restart();
    fixture.model.push(add());
    fixture.model.push(Reply::text("It is 42."));
    let turn = fixture.turn("Add 40 and 2.").await;
    assert!(turn.outputs().concat().contains("sum 42"), "{turn}");
    fixture.session.history().await;
}

/// The servers of the user's own configuration stay beside those of the session.
#[tokio::test]
async fn servers_of_the_user_stay() {
    let model = (PI.script)().reply(Reply::text("Hello.")).start();
    let agent = (PI.agent)(&model);
    let command = mcp_server();
    let own =
        json!({"mcpServers": {"mine": {"command": command[0], "args": command[1..], "exposure": "direct"}}});
    std::fs::write(agent.home().join(".pi/agent/mcp.json"), own.to_string()).unwrap();
    let daemon = Setup::new(PI.program).config(agent.toml()).start();
    let mut request = CreateSessionRequest::new(agent.name());
    with_server("tiny")(&mut request);
    let session = SessionDriver::create_with(&daemon.client, "s", &request).await;
    session.turn("Hello.", PermissionReply::Once).await;
    assert!(model.last().offers("mcp__mine__add") && model.last().offers("mcp__tiny__add"));
}

#[tokio::test]
async fn a_server_with_the_name_of_one_of_the_users_is_400() {
    let own = r#"{"mcpServers": {"my_tools": {"command": "true"}}}"#;
    let (status, words) = refused(&PI, "my-tools", own).await;
    assert_eq!(status, Some(400), "{words}");
    assert!(words.contains("my-tools") && words.contains("give it another one"), "{words}");
}

#[tokio::test]
async fn a_name_that_pi_does_not_take_is_400() {
    let (status, words) = refused(&PI, "my tools", "{}").await;
    assert_eq!(status, Some(400), "{words}");
    assert!(words.contains("my tools"), "{words}");
}

#[tokio::test]
async fn a_version_without_mcp_is_400() {
    let (status, words) = refused(&OLDER_PI, "tiny", "{}").await;
    assert_eq!(status, Some(400), "{words}");
    assert!(words.contains("has no MCP"), "{words}");
}
