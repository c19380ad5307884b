//! The configuration of a directory: sessions that are created there get it beside their own, and only an `admin`
//! sees and changes it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_client::Client;
use omniglot_schema::{
    CreateSessionRequest, CreateTokenRequest, McpServerConfig, McpServers, PermissionReply, Scope,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, status_of};
use omniglot_testkit::skills::{SkillFolder, from};

fn server(json: &str) -> McpServerConfig {
    serde_json::from_str(json).unwrap()
}

fn work(daemon: &Daemon) -> String {
    daemon.work().to_str().unwrap().to_owned()
}

async fn servers(daemon: &Daemon, name: &str, request: &CreateSessionRequest) -> String {
    let session = SessionDriver::create_with(&daemon.client, name, request).await;
    session.turn("[[mcp]]", PermissionReply::Once).await.text()
}

#[tokio::test]
async fn sessions_of_the_directory_get_its_servers_and_their_own_count_more() {
    let mut daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let (a, b) = (
        server(r#"{"type":"stdio","command":"a","env":{"A_TOKEN":"canary-1"}}"#),
        server(r#"{"type":"local","command":["b","--of-directory"]}"#),
    );
    // Another name of the same directory.
    let below = format!("{}/../work", work(&daemon));
    daemon.client.set_mcp_config(&below, "a", &a).await.unwrap();
    daemon.client.set_mcp_config(&work(&daemon), "b", &b).await.unwrap();
    daemon.stop();
    let daemon = daemon.restart();
    assert_eq!(daemon.client.mcp_config(&work(&daemon), "a").await.unwrap(), a);
    let own: McpServers = serde_json::from_str(r#"{"b":{"type":"local","command":"own"}}"#).unwrap();
    let request = CreateSessionRequest { mcp: Some(own), ..CreateSessionRequest::new("mock") };
    let told = servers(&daemon, "with", &request).await;
    assert_eq!(told, "My MCP servers: b = own ; a = a  A_TOKEN=***.");
    let elsewhere = tempfile::tempdir().unwrap();
    let directory = elsewhere.path().to_str().map(str::to_owned);
    let request = CreateSessionRequest { directory, ..CreateSessionRequest::new("mock") };
    assert_eq!(servers(&daemon, "elsewhere", &request).await, "My MCP servers: .");
    daemon.client.delete_mcp_config(&work(&daemon), "a").await.unwrap();
    daemon.client.delete_mcp_config(&work(&daemon), "a").await.unwrap();
    assert_eq!(status_of(daemon.client.mcp_config(&work(&daemon), "a").await), 404);
    let request = CreateSessionRequest::new("mock");
    assert_eq!(servers(&daemon, "later", &request).await, "My MCP servers: b = b --of-directory.");
}

#[tokio::test]
async fn what_could_never_work_is_refused_and_a_project_configures_nothing() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let client = &daemon.client;
    let bad = server(r#"{"type":"remote","url":"gopher://x"}"#);
    assert_eq!(status_of(client.set_mcp_config(&work(&daemon), "x", &bad).await), 400);
    let good = server(r#"{"type":"local","command":"a"}"#);
    assert_eq!(status_of(client.set_mcp_config("/no/such/directory", "x", &good).await), 400);
    assert_eq!(status_of(client.set_mcp_config(&work(&daemon), "", &good).await), 400);
    let source = omniglot_testkit::skills::source("git", "ext::sh -c true");
    let skills = from([source]).unwrap();
    assert_eq!(status_of(client.set_skills_config(&work(&daemon), "x", &skills).await), 400);
    let own = daemon.work().join(".sandbox-agent/config");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("mcp.json"), r#"{"evil":{"type":"local","command":"evil"}}"#).unwrap();
    let told = servers(&daemon, "s", &CreateSessionRequest::new("mock")).await;
    assert_eq!(told, "My MCP servers: .");
}

#[tokio::test]
async fn the_skills_of_the_directory_are_given_to_sessions_of_callers_who_may_not_name_them() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let folder = SkillFolder::default();
    folder.add("weather", "Foretells it.");
    let skills = from([folder.as_local()]).unwrap();
    let drive = CreateTokenRequest {
        name: "ann".into(),
        scope: Scope::Drive,
        sessions: None,
        expires_in_seconds: None,
    };
    let secret = daemon.client.create_token(&drive).await.unwrap().secret;
    let ann = Client::new(&daemon.url, Some(secret)).unwrap();
    let request = CreateSessionRequest { skills: Some(skills.clone()), ..CreateSessionRequest::new("mock") };
    let id = omniglot_testkit::session_driver::session_id("s");
    assert_eq!(status_of(ann.create(&id, &request).await), 403);
    assert_eq!(status_of(ann.skills_config(&work(&daemon), "lore").await), 403);
    assert_eq!(status_of(ann.set_skills_config(&work(&daemon), "lore", &skills).await), 403);
    daemon.client.set_skills_config(&work(&daemon), "lore", &skills).await.unwrap();
    let session = SessionDriver::create(&ann, "s").await;
    let told = session.turn("[[skills]]", PermissionReply::Once).await.text();
    assert_eq!(told, "My skills: weather = Foretells it..");
    assert_eq!(ann.detail(&id).await.unwrap().info.skills, Some(skills));
}
