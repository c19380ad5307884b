//! Prompts: their answers, their settings and their attachments.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::json;

use super::support::{Face, daemon, event, said, text_prompt};

#[tokio::test]
async fn a_prompt_answers_when_its_turn_is_over_and_every_stream_has_it() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/event").await;
    let answer = face.prompt(&session, "[[text:3]]").await;
    assert_eq!(answer["info"]["role"], "assistant");
    assert!(answer["info"]["time"]["completed"].is_i64(), "{answer}");
    assert_eq!(answer["info"]["providerID"], "mock");
    let seen = events.until("session.idle").await;
    let told: Vec<_> = seen.iter().filter(|frame| event(frame)["type"] == "message.part.updated").collect();
    let text = said(&answer);
    assert!(told.iter().any(|frame| event(frame)["properties"]["part"]["text"] == text), "{text}: {told:?}");
    let listed = face.get(&format!("/session/{session}/message")).await;
    assert_eq!(listed.as_array().unwrap().last().unwrap(), &answer, "events and messages never disagree");
    let path = format!("/session/{session}/message/{}", answer["info"]["id"].as_str().unwrap());
    assert_eq!(face.get(&path).await, answer);
    let newest = face.get(&format!("/session/{session}/message?limit=1")).await;
    assert_eq!(newest.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_client_finds_its_own_ids_again() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/global/event").await;
    let (message, part) = ("msg_1e0da09bd7ffbyRTo4UfAiYmp8", "prt_1e0da09bd7ffbyRTo4UfAiYmp9");
    let body = json!({ "messageID": message, "agent": "build",
        "parts": [{ "id": part, "type": "text", "text": "[[text:1]]" }] });
    let path = format!("/session/{session}/prompt_async");
    assert_eq!(face.ask(Method::POST, &path, Some(body)).await.status().as_u16(), 204);
    events.until("session.idle").await;
    let messages = face.get(&format!("/session/{session}/message")).await;
    assert_eq!(messages[0]["info"]["id"], message);
    assert_eq!(messages[0]["parts"][0]["id"], part);
    assert_eq!(messages[1]["info"]["parentID"], message);
}

#[tokio::test]
async fn model_and_mode_travel_with_the_prompt_and_another_agent_is_refused() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let path = format!("/session/{session}/message");
    let mut body = text_prompt("[[text:1]]");
    body["model"] = json!({ "providerID": "mock", "modelID": "mock-large" });
    body["agent"] = json!("plan");
    let answer = face.post(&path, body.clone()).await;
    assert_eq!(
        (&answer["info"]["modelID"], &answer["info"]["agent"]),
        (&json!("mock-large"), &json!("plan"))
    );
    body["model"] = json!({ "providerID": "mock", "modelID": "default" });
    body["agent"] = json!("build");
    let answer = face.post(&path, body.clone()).await;
    assert_eq!(answer["info"]["modelID"], "mock-large", "the default leaves the choice as it is");
    assert_ne!(answer["info"]["agent"], "plan");
    body["model"] = json!({ "providerID": "claude", "modelID": "opus" });
    let (status, message) = face.refused(Method::POST, &path, Some(body)).await;
    assert_eq!((status, message.contains("driven by mock")), (400, true), "{message}");
}

#[tokio::test]
async fn what_we_cannot_do_is_refused() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let path = format!("/session/{session}/message");
    for (member, value) in [
        ("noReply", json!(true)),
        ("system", json!("be rude")),
        ("parts", json!([])),
        ("agent", json!("nobody")),
    ] {
        let mut body = text_prompt("[[text:1]]");
        body[member] = value;
        let (status, message) = face.refused(Method::POST, &path, Some(body)).await;
        assert_eq!(status, 400, "{member}: {message}");
    }
    assert!(face.get(&format!("/session/{session}/message")).await.as_array().unwrap().is_empty());
}

#[tokio::test]
async fn files_come_along_by_path_or_inside_the_request() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let file = daemon.work().join("a b.txt");
    std::fs::write(&file, "from a file").unwrap();
    let url = format!("file://{}?start=1", file.to_str().unwrap().replace(' ', "%20"));
    let inside = format!("data:text/plain;base64,{}", STANDARD.encode("from inside"));
    let body = json!({ "parts": [
        { "type": "text", "text": "[[attachments]]" },
        { "type": "file", "mime": "text/plain", "filename": "a b.txt", "url": url },
        { "type": "file", "mime": "text/plain", "filename": "../in.txt", "url": inside },
        { "type": "file", "mime": "application/x-directory", "filename": ".", "url": "file:///" },
    ] });
    let answer = face.post(&format!("/session/{session}/message"), body).await;
    let text = said(&answer);
    assert!(text.contains("a%20b.txt") && text.contains("in.txt"), "{text}");
    let kept = daemon.data().join("shared/attachments");
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 1);
    assert_eq!(face.ask(Method::DELETE, &format!("/session/{session}"), None).await.status().as_u16(), 200);
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 0, "they go with their session");
}

#[tokio::test]
async fn stopping_answers_the_prompt_and_drops_what_waits() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/global/event").await;
    let path = format!("/session/{session}/message");
    let running = face.post(&path, text_prompt("[[text:1]] [[silence]]"));
    let waiting = face.refused(Method::POST, &path, Some(text_prompt("[[text:1]]")));
    let stop = async {
        events.until("message.part.delta").await;
        // The second message is in the stream as soon as it is queued.
        events.until("message.updated").await;
        face.post(&format!("/session/{session}/abort"), json!({})).await
    };
    let mut watch = face.stream("/event").await;
    let ordered = async {
        // Posted second, so that this message is the queued one.
        watch.until("message.part.delta").await;
        waiting.await
    };
    let (answer, (status, message), stopped) = tokio::join!(running, ordered, stop);
    assert_eq!(stopped, true);
    assert_eq!(answer["info"]["error"]["name"], "MessageAbortedError", "{answer}");
    assert_eq!((status, message.contains("taken back")), (400, true), "{message}");
    let seen = events.until("session.idle").await;
    assert!(!seen.is_empty());
}

#[tokio::test]
async fn a_picture_comes_back_as_what_a_page_can_show() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/global/event").await;
    let url = format!("data:image/png;base64,{PIXEL}");
    let body = json!({ "parts": [
        { "type": "text", "text": "[[attachments]]" },
        { "type": "file", "mime": "image/png", "filename": "pixel.png", "url": url },
    ] });
    face.post(&format!("/session/{session}/message"), body).await;
    let messages = face.get(&format!("/session/{session}/message")).await;
    let picture = &messages[0]["parts"][1];
    assert_eq!((&picture["type"], &picture["mime"]), (&json!("file"), &json!("image/png")), "{messages}");
    assert_eq!(picture["url"], url, "the picture itself, and no address that wants a token");
    let seen = events.until("session.idle").await;
    assert!(seen.iter().any(|frame| event(frame)["properties"]["part"] == *picture), "{seen:?}");
}

/// The smallest image.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
