//! The ACP face over a real log, without agents: clients' names, the length of messages, allowed requests.

use std::time::Duration;

use futures_util::StreamExt as _;
use omniglot_store::SessionRecord;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

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

fn cursor(record: &SessionRecord, sequence: u64) -> String {
    format!("r1-{}.{}.{sequence}", record.no.0, record.epoch.get(..8).unwrap())
}

async fn stream(daemon: &Daemon, last: Option<&str>) -> Response {
    let request = request(daemon, Method::GET, "/c");
    let request = last.into_iter().fold(request, |request, last| request.header("last-event-id", last));
    request.send().await.unwrap()
}

/// Reads the stream until `wanted` accepts the text so far.
async fn told(stream: Response, wanted: impl Fn(&str) -> bool) -> String {
    let mut chunks = stream.bytes_stream();
    let mut told = String::new();
    let telling = async {
        while !wanted(&told) {
            told.push_str(std::str::from_utf8(&chunks.next().await.unwrap().unwrap()).unwrap());
        }
    };
    tokio::time::timeout(Duration::from_secs(10), telling).await.unwrap();
    told
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
    let cursor = cursor(&record, 1);
    let stream = stream(&daemon, Some(&cursor)).await;
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
    let cursor = cursor(&record, 1);
    let told =
        told(stream(&daemon, Some(&cursor)).await, |told| told.contains("sandbox-agent/unparsed")).await;
    assert!(told.contains(r#""sandbox-agent/raw":{"frame":1}"#), "{told}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_cursor_of_another_log_or_of_a_deleted_session_is_gone() {
    let daemon = Daemon::start().await;
    let record = daemon.session(&id("s")).await;
    let other = SessionRecord { epoch: "0123456789abcdef".into(), ..record.clone() };
    for (cursor, status) in [
        (cursor(&record, 1), 200),
        (cursor(&record, 2), 410),
        (cursor(&other, 1), 410),
        (format!("{}.1", cursor(&record, 2)), 410),
    ] {
        assert_eq!(stream(&daemon, Some(&cursor)).await.status().as_u16(), status, "{cursor}");
    }
    daemon.hub.delete(&id("s")).await.unwrap();
    let of_deleted = cursor(&record, 1);
    assert_eq!(stream(&daemon, Some(&of_deleted)).await.status().as_u16(), 410);
    let left = daemon.session(&id("left")).await;
    let both = format!("{of_deleted}{}", cursor(&left, 1).trim_start_matches("r1"));
    assert_eq!(stream(&daemon, Some(&both)).await.status().as_u16(), 200, "{both}");
    daemon.stop().await;
}

async fn read_until(stream: &mut TcpStream, told: &mut String, wanted: &str) {
    let mut piece = vec![0; 64 << 10];
    let mut seen = 0;
    while !told.get(seen..).unwrap().contains(wanted) {
        seen = told.len().saturating_sub(wanted.len());
        let read = stream.read(&mut piece).await.unwrap();
        assert_ne!(read, 0, "the stream goes on");
        told.push_str(std::str::from_utf8(piece.get(..read).unwrap()).unwrap());
    }
}

#[tokio::test]
async fn a_long_story_is_told_in_small_pieces() {
    let daemon = Daemon::start().await;
    let record = daemon.session(&id("s")).await;
    daemon.unparsed_many(&record, 2000, &"x".repeat(1000)).await;
    call(&daemon, "initialize", json!({ "protocolVersion": 1 })).await;
    let host = daemon.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.unwrap();
    let get = format!("GET /v1/acp/c HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer t\r\n\r\n");
    stream.write_all(get.as_bytes()).await.unwrap();
    let mut told = String::new();
    read_until(&mut stream, &mut told, ": connected").await;
    let load = json!({ "sessionId": "s", "cwd": "/", "mcpServers": [] });
    // The answer is the last message.
    let telling = read_until(&mut stream, &mut told, r#""id":1,"#);
    let (answer, ()) = tokio::join!(call(&daemon, "session/load", load), telling);
    assert!(answer["result"].is_object(), "{answer}");
    // The chunks of a body without a length begin with their own.
    let pieces =
        told.lines().filter(|line| line.len() <= 8).filter_map(|line| usize::from_str_radix(line, 16).ok());
    let pieces: Vec<_> = pieces.collect();
    assert!(pieces.iter().sum::<usize>() > 2_000_000, "{pieces:?}");
    assert!(pieces.iter().all(|piece| *piece < 256 << 10), "{pieces:?}");
    drop(stream);
    daemon.stop().await;
}

#[tokio::test]
async fn answers_wait_for_a_client_however_many_they_are() {
    const MANY: u64 = 1500;
    let daemon = Daemon::start().await;
    let http = reqwest::Client::new();
    for number in 0..MANY {
        let message = json!({ "jsonrpc": "2.0", "id": number, "method": "_none" });
        let post = http.post(format!("{}/v1/acp/c", daemon.url)).bearer_auth("t").json(&message);
        let response = post.header("prefer", "respond-async").send().await.unwrap();
        assert_eq!(response.status().as_u16(), 202);
    }
    let last = format!(r#""id":{},"#, MANY - 1);
    let answers = |told: &str| told.matches("data: ").count();
    let all = told(stream(&daemon, None).await, |told| told.contains(&last)).await;
    assert_eq!(u64::try_from(answers(&all)), Ok(MANY));
    // The server learns what has arrived only from the client, by a message or a new stream.
    let ids: Vec<_> = all.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    let again = told(stream(&daemon, None).await, |told| told.contains(&last)).await;
    assert_eq!(u64::try_from(answers(&again)), Ok(MANY));
    let near_end = ids[ids.len() - 3];
    let message = json!({ "jsonrpc": "2.0", "method": "_none" });
    let post = request(&daemon, Method::POST, "/c").json(&message).header("last-event-id", near_end);
    assert_eq!(post.send().await.unwrap().status().as_u16(), 202);
    let rest = told(stream(&daemon, None).await, |told| told.contains(&last)).await;
    assert_eq!(answers(&rest), 2);
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_reads_no_answers_is_refused_before_any_is_lost() {
    let daemon = Daemon::start().await;
    let id = "x".repeat(1 << 20);
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": "_none" });
    let mut taken = 0;
    let refused = loop {
        let post = request(&daemon, Method::POST, "/c").json(&message).header("prefer", "respond-async");
        match post.send().await.unwrap().status().as_u16() {
            202 => taken += 1,
            status => break status,
        }
    };
    // A request is accepted a moment before its answer exists.
    assert!(refused == 429 && (16..20).contains(&taken), "{taken} {refused}");
    // A client that waits for the answer itself needs no room.
    let held = request(&daemon, Method::POST, "/c").json(&message).send().await.unwrap();
    assert_eq!(held.status().as_u16(), 200);
    daemon.stop().await;
}

#[tokio::test]
async fn a_stream_is_silent_for_no_longer_than_the_server_allows() {
    let daemon = Daemon::start_with(|config| config.heartbeat = Duration::from_millis(20)).await;
    call(&daemon, "initialize", json!({ "protocolVersion": 1 })).await;
    told(stream(&daemon, None).await, |told| told.matches(": heartbeat").count() == 2).await;
    daemon.stop().await;
}
