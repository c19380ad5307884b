//! The ACP face over a real log, without agents: who a client is, how long a message may be, what it may ask for.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::daemon::{Daemon, id};

fn request(daemon: &Daemon, method: Method, path: &str) -> RequestBuilder {
    reqwest::Client::new().request(method, format!("{}/v1/acp{path}", daemon.url)).bearer_auth("t")
}

async fn call(daemon: &Daemon, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let response = request(daemon, Method::POST, "/c").json(&message).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    response.json().await.unwrap()
}

async fn agent(daemon: &Daemon) -> Value {
    let list: Value = request(daemon, Method::GET, "").send().await.unwrap().json().await.unwrap();
    list.pointer("/servers/0/agent").cloned().unwrap()
}

#[tokio::test]
async fn a_client_that_names_a_stored_session_has_its_agent_again() {
    let daemon = Daemon::start().await;
    daemon.session_of("claude", &id("s")).await;
    call(&daemon, "session/resume", json!({ "sessionId": "s", "cwd": "/" })).await;
    assert_eq!(agent(&daemon).await, "claude");
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_comes_back_with_a_cursor_has_its_agent_again() {
    let daemon = Daemon::start().await;
    let record = daemon.session_of("claude", &id("s")).await;
    let cursor = format!("r1-{}.1", record.no.0);
    let stream = request(&daemon, Method::GET, "/c").header("last-event-id", cursor).send().await.unwrap();
    assert_eq!(stream.status().as_u16(), 200);
    assert_eq!(agent(&daemon).await, "claude");
    drop(stream);
    daemon.stop().await;
}

#[tokio::test]
async fn a_new_client_that_loads_a_session_keeps_the_configured_agent() {
    let daemon = Daemon::start().await;
    daemon.session_of("claude", &id("s")).await;
    call(&daemon, "initialize", json!({ "protocolVersion": 1 })).await;
    call(&daemon, "session/resume", json!({ "sessionId": "s", "cwd": "/" })).await;
    assert_eq!(agent(&daemon).await, "mock");
    daemon.stop().await;
}

#[tokio::test]
async fn a_message_may_hold_a_picture_and_no_more() {
    let daemon = Daemon::start().await;
    // Other bodies end at one MiB here.
    let answer = call(&daemon, "_none", json!({ "data": "x".repeat(14 << 20) })).await;
    assert_eq!(answer.pointer("/error/code"), Some(&json!(-32601)));
    let endless = request(&daemon, Method::POST, "/c").json(&"x".repeat(32 << 20)).send().await.unwrap();
    assert_eq!(endless.status().as_u16(), 413);
    daemon.stop().await;
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_an_error_in_one_word() {
    let daemon = Daemon::start().await;
    for (method, params, word) in [
        ("session/prompt", json!({}), "invalid_request"),
        ("session/list", json!({ "cursor": "a b" }), "invalid_request"),
        ("session/load", json!({ "sessionId": "a b", "cwd": "/", "mcpServers": [] }), "session_not_found"),
    ] {
        let answer = call(&daemon, method, params).await;
        let meta = answer.pointer("/error/data/_meta").unwrap();
        assert_eq!(meta.get("sandbox-agent/errorType"), Some(&json!(word)), "{method}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_asks_for_the_agents_frames_gets_them() {
    let daemon = Daemon::start().await;
    let record = daemon.session(&id("s")).await;
    daemon.unparsed(&record).await;
    let client = json!({ "_meta": { "sandbox-agent/includeRaw": true } });
    call(&daemon, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": client })).await;
    let cursor = format!("r1-{}.1", record.no.0);
    let stream = request(&daemon, Method::GET, "/c").header("last-event-id", cursor).send().await.unwrap();
    let mut chunks = stream.bytes_stream();
    let mut told = String::new();
    let telling = async {
        while !told.contains("sandbox-agent/unparsed") {
            told.push_str(std::str::from_utf8(&chunks.next().await.unwrap().unwrap()).unwrap());
        }
    };
    tokio::time::timeout(Duration::from_secs(10), telling).await.unwrap();
    assert!(told.contains(r#""sandbox-agent/raw":{"frame":1}"#), "{told}");
    drop(chunks);
    daemon.stop().await;
}
