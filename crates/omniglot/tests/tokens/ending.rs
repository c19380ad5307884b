//! The end of a token is the end of its streams.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use omniglot_schema::{
    CreateTokenRequest, EventData, PermissionReply, Scope, StopReason, UniversalEventType,
};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::session_driver::SessionDriver;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Holder, ask_permission, daemon, labelled, limited_to_x, two_sessions, wanted};

const STREAMS: [&str; 5] = [
    "/v1/sessions/mine/events/sse",
    "/v1/events/sse",
    "/v1/acp/c",
    "/opencode/event",
    "/opencode/global/event",
];

/// Opens every kind of stream, and reads each to its end.
async fn read_all(holder: &Holder) -> impl Future<Output = ()> + use<> {
    holder.acp("session/load", json!({ "sessionId": "mine", "cwd": "/", "mcpServers": [] })).await;
    let mut streams = vec![];
    for path in STREAMS {
        let response = holder.request(Method::GET, path).header("accept", "text/event-stream").send().await;
        let response = response.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        streams.push(response.bytes_stream());
    }
    async move {
        for stream in &mut streams {
            while let Some(bytes) = stream.next().await {
                bytes.expect("a stream that ends as a stream ends");
            }
        }
    }
}

/// Opens the streams that need more than to read: the turn of a message, and the output of a process.
async fn read_more(holder: &Holder) -> impl Future<Output = ()> + use<> {
    let process = json!({ "command": "sleep", "args": ["1000"] });
    let process = holder.request(Method::POST, "/v1/processes").json(&process).send().await.unwrap();
    let process: Value = process.json().await.unwrap();
    let logs = format!("/v1/processes/{}/logs?follow=true", process["id"].as_str().unwrap());
    let message = json!({ "message": "[[silence]]" });
    let turn = holder.request(Method::POST, "/v1/sessions/other/messages/stream").json(&message);
    let mut streams = vec![];
    for request in [turn, holder.request(Method::GET, &logs)] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", response.url());
        streams.push(response.bytes_stream());
    }
    async move {
        for stream in &mut streams {
            while let Some(bytes) = stream.next().await {
                bytes.expect("a stream that ends as a stream ends");
            }
        }
    }
}

#[tokio::test]
async fn revoking_a_token_ends_its_streams_within_a_second() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config("[processes]\nenabled = true\n").start();
    two_sessions(&daemon).await;
    let holder = Holder::of(&daemon, &wanted("ann", Scope::Admin)).await;
    let (all_ended, more_ended) = (read_all(&holder).await, read_more(&holder).await);
    daemon.client.revoke_token(&holder.token.info.id).await.unwrap();
    let revoked = Instant::now();
    all_ended.await;
    more_ended.await;
    assert!(revoked.elapsed() < Duration::from_secs(1), "{:?}", revoked.elapsed());
    for path in STREAMS {
        assert_eq!(holder.status(Method::GET, path).await, 401, "{path}");
    }
}

#[tokio::test]
async fn a_token_that_expires_ends_its_streams_and_is_refused() {
    let daemon = daemon();
    two_sessions(&daemon).await;
    let request = CreateTokenRequest { expires_in_seconds: Some(4), ..wanted("ann", Scope::Read) };
    let holder = Holder::of(&daemon, &request).await;
    let stream = holder.request(Method::GET, STREAMS[0]).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert!(stream.text().await.unwrap().contains("session.started"));
    assert_eq!(holder.status(Method::GET, "/v1/sessions").await, 401);
}

#[tokio::test]
async fn a_session_that_loses_its_label_is_gone_for_a_limited_token_and_streams_begin_again_without_it() {
    let daemon = daemon();
    let [mine, _] = two_sessions(&daemon).await;
    let holder = Holder::of(&daemon, &limited_to_x(Scope::Read)).await;
    let all_ended = read_all(&holder).await;
    let relabelled = serde_json::from_value(json!({ "labels": { "app": null, "old": "1" } })).unwrap();
    let detail = daemon.client.patch(&mine.id, &relabelled).await.unwrap();
    assert_eq!(detail.info.labels, [("old".to_owned(), "1".to_owned())].into());
    all_ended.await;
    assert_eq!(holder.status(Method::GET, STREAMS[0]).await, 404);
    SessionDriver::of(&daemon.client, "mine").post("[[text:1]]").await;
    let anew = holder.request(Method::GET, "/v1/events/sse?offset=0").send().await.unwrap();
    let mut bytes = anew.bytes_stream();
    let newer = SessionDriver::create_with(&daemon.client, "newer", &labelled("x")).await;
    newer.turn("[[text:1]]", PermissionReply::Once).await;
    let mut told = String::new();
    while !told.contains("turn.ended") {
        told.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(told.contains("\"newer\"") && !told.contains("\"mine\""), "{told}");
}

#[tokio::test]
async fn the_turn_of_a_token_that_is_revoked_goes_on() {
    let daemon = daemon();
    let ann = Holder::of(&daemon, &wanted("ann", Scope::Drive)).await;
    let session = SessionDriver::create(&ann.client, "s").await;
    let asked = ask_permission(&session).await;
    daemon.client.revoke_token(&ann.token.info.id).await.unwrap();
    assert_eq!(ann.status(Method::GET, "/v1/sessions/s").await, 401);
    let session = SessionDriver::of(&daemon.client, "s");
    session.reply(&asked, PermissionReply::Once).await.unwrap();
    let ended = session.wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    let EventData::TurnEnded(ended) = ended.data else { panic!("{ended:?}") };
    assert_eq!(ended.metadata.stop_reason, StopReason::EndTurn);
}
