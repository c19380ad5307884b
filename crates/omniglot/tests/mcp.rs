//! MCP servers of a session: they reach the agent, also after a restart, and their secrets reach no client.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_client::EventsQuery;
use omniglot_schema::{CreateSessionRequest, PermissionReply};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id};

const SERVERS: &str = r#"{
    "files": {"type": "local", "command": ["file-server", "--here"], "args": ["a b"],
        "env": {"FILES_TOKEN": "canary-one-1", "SHORT": "x"}},
    "web": {"type": "remote", "url": "http://127.0.0.1:9/mcp",
        "headers": {"Authorization": "Bearer canary-two-2"}, "envHeaders": {"X-Path": "PATH"}},
    "off": {"type": "remote", "url": "http://127.0.0.1:9/", "transport": "sse", "enabled": false}
}"#;

fn request(servers: &str) -> CreateSessionRequest {
    CreateSessionRequest {
        mcp: Some(serde_json::from_str(servers).unwrap()),
        ..CreateSessionRequest::new("mock")
    }
}

/// Returns everything that a client can read of the session.
async fn seen(daemon: &Daemon, session: &SessionDriver) -> String {
    let query = EventsQuery { include_raw: true, ..Default::default() };
    let events = daemon.client.events(&session.id, &query).await.unwrap();
    let detail = daemon.client.detail(&session.id).await.unwrap();
    let list = daemon.client.list(&Default::default()).await.unwrap();
    format!("{} {} {}", json(&events), json(&detail), json(&list))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

#[tokio::test]
async fn servers_reach_the_agent_also_after_a_restart_and_their_secrets_nobody_else() {
    let mut daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let session = SessionDriver::create_with(&daemon.client, "s", &request(SERVERS)).await;
    let told = "My MCP servers: files = file-server --here a b FILES_TOKEN=*** SHORT=x; \
        web = http http://127.0.0.1:9/mcp Authorization=*** X-Path=***.";
    assert_eq!(session.turn("[[mcp]]", PermissionReply::Once).await.text(), told);
    let all = seen(&daemon, &session).await;
    assert!(all.contains(r#""SHORT":"***""#) && !all.contains("canary"), "{all}");
    daemon.stop();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    assert_eq!(session.turn("[[mcp]]", PermissionReply::Once).await.text(), told);
    let all = seen(&daemon, &session).await;
    assert!(all.contains(r#""SHORT":"***""#) && !all.contains("canary"), "{all}");
    session.history().await;
}

#[tokio::test]
async fn a_server_that_the_agent_cannot_use_is_refused_before_there_is_a_session() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let cases = [
        (r#"{"a":{"type":"remote","url":"http://x","transport":"sse"}}"#, "does not speak SSE"),
        (r#"{"a":{"type":"remote","url":"http://x","oauth":{"clientId":"i"}}}"#, "no `oauth`"),
        (r#"{"a":{"type":"remote","url":"gopher://x"}}"#, "does not begin with http"),
        (r#"{"a":{"type":"remote","url":"http://x","bearerTokenEnvVar":"NOT_SET"}}"#, "NOT_SET"),
        (r#"{"a":{"type":"local","command":"x","cwd":"/"}}"#, "no `cwd`"),
        (r#"{"a":{"type":"local","command":"x","timeoutMs":5}}"#, "no `timeoutMs`"),
        (r#"{"a":{"type":"remote","url":"http://x","timeoutMs":5}}"#, "no `timeoutMs`"),
        (r#"{"a":{"type":"local","command":[]}}"#, "command is empty"),
    ];
    for (servers, why) in cases {
        let refused = daemon.client.create(&session_id("s"), &request(servers)).await.unwrap_err();
        assert_eq!(refused.status(), Some(400), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
        assert!(refused.to_string().contains("agent mock"), "{refused}");
    }
    assert!(daemon.client.list(&Default::default()).await.unwrap().is_empty());
}

/// A17: a mistake in a server is told in words of the document, not in those of our types.
#[tokio::test]
async fn a_server_of_the_wrong_form_is_refused_without_words_of_our_code() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let cases = [
        (r#"{"type":"local","command":5}"#, "expected a string or an array of strings"),
        (r#"{"type":"remote","url":"http://x","oauth":5}"#, "expected true, false, or an object"),
    ];
    for (server, words) in cases {
        let answer = reqwest::Client::new()
            .post(format!("{}/v1/sessions/s", daemon.url))
            .bearer_auth(&daemon.token)
            .header("content-type", "application/json")
            .body(format!(r#"{{"agent":"mock","mcp":{{"a":{server}}}}}"#))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 400);
        let told = answer.text().await.unwrap();
        assert!(told.contains(words), "{told}");
        for ours in ["untagged", "enum", "variant", "struct", "Mcp"] {
            assert!(!told.contains(ours), "{ours}: {told}");
        }
    }
}
