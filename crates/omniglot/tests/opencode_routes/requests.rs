//! Permissions and questions: sent again to later clients, and answered by either route.

use omniglot_testkit::daemon::Setup;
use serde_json::{Value, json};

use super::support::{Events, Face, daemon, event, said};

/// Returns the id of the next request in the stream.
async fn asked(events: &mut Events, kind: &str) -> String {
    let seen = events.until(kind).await;
    event(seen.last().unwrap())["properties"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_permission_is_asked_again_to_a_stream_that_comes_later() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut first = face.stream("/global/event").await;
    face.begin(&session, "[[permission]]").await;
    let id = asked(&mut first, "permission.asked").await;
    let mut second = face.stream("/event").await;
    assert_eq!(event(&second.next().await.unwrap())["type"], "server.connected");
    assert_eq!(asked(&mut second, "permission.asked").await, id);
    let open = face.get("/permission").await;
    assert_eq!(open[0]["id"], id);
    assert_eq!(face.get("/session/status").await[&session]["type"], "busy");
    assert_eq!(face.post(&format!("/permission/{id}/reply"), json!({ "reply": "once" })).await, true);
    let seen = second.until("permission.replied").await;
    assert_eq!(event(seen.last().unwrap())["properties"]["requestID"], id);
    second.until("session.idle").await;
    assert_eq!(face.get("/permission").await, Value::Array(vec![]));
    assert_eq!(face.get("/session/status").await, json!({}));
}

#[tokio::test]
async fn the_older_route_answers_a_permission_too() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/event").await;
    face.begin(&session, "[[permission]]").await;
    let id = asked(&mut events, "permission.asked").await;
    let path = format!("/session/{session}/permissions/{id}");
    assert_eq!(face.post(&path, json!({ "response": "reject" })).await, true);
    let seen = events.until("permission.replied").await;
    assert_eq!(event(seen.last().unwrap())["properties"]["reply"], "reject");
    events.until("session.idle").await;
    let (status, message) =
        face.refused(reqwest::Method::POST, &path, Some(json!({ "response": "once" }))).await;
    assert_eq!(status, 404, "the only refusal that OpenCode's clients know: {message}");
    assert!(message.ends_with("`reject` by `person`"), "{message}");
}

#[tokio::test]
async fn questions_are_answered_or_rejected() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/event").await;
    face.begin(&session, "[[question:one]]").await;
    let id = asked(&mut events, "question.asked").await;
    let open = face.get("/question").await;
    let label = open[0]["questions"][0]["options"][0]["label"].clone();
    assert_eq!(face.post(&format!("/question/{id}/reply"), json!({ "answers": [[label]] })).await, true);
    let seen = events.until("question.replied").await;
    assert_eq!(event(seen.last().unwrap())["properties"]["answers"], json!([[label]]));
    events.until("session.idle").await;
    let messages = face.get(&format!("/session/{session}/message")).await;
    assert!(said(&messages[1]).contains(label.as_str().unwrap()), "{messages}");
    face.begin(&session, "[[question:one]]").await;
    let id = asked(&mut events, "question.asked").await;
    let rejected = face.ask(reqwest::Method::POST, &format!("/question/{id}/reject"), None).await;
    assert_eq!(rejected.status().as_u16(), 200);
    events.until("question.rejected").await;
    events.until("session.idle").await;
}

#[tokio::test]
async fn a_session_that_nobody_watches_is_asked_nothing() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let rule = |name: &str| json!({ "permission": name, "pattern": "*", "action": "deny" });
    let body = json!({ "permission": [rule("question"), rule("plan_enter"), rule("plan_exit")] });
    let session = face.post("/session", body).await["id"].as_str().unwrap().to_owned();
    let mut events = face.stream("/event").await;
    face.prompt(&session, "[[question:one]]").await;
    let id = asked(&mut events, "question.asked").await;
    let seen = events.until("question.rejected").await;
    assert_eq!(event(seen.last().unwrap())["properties"]["requestID"], id);
    events.until("session.idle").await;
    face.begin(&session, "[[permission]]").await;
    let id = asked(&mut events, "permission.asked").await;
    face.post(&format!("/permission/{id}/reply"), json!({ "reply": "reject" })).await;
    events.until("session.idle").await;
}

#[tokio::test]
async fn a_reply_to_a_resolved_question_is_404_and_says_who_resolved_it() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/event").await;
    face.begin(&session, "[[question:one]]").await;
    let id = asked(&mut events, "question.asked").await;
    face.post(&format!("/question/{id}/reject"), json!({})).await;
    for (path, body) in [("reply", json!({ "answers": [] })), ("reject", json!({}))] {
        let path = format!("/question/{id}/{path}");
        let (status, message) = face.refused(reqwest::Method::POST, &path, Some(body)).await;
        assert_eq!(status, 404, "{message}");
        assert!(message.ends_with("`rejected` by `person`"), "{message}");
    }
    events.until("session.idle").await;
}

#[tokio::test]
async fn a_reply_that_the_agent_cannot_read_is_refused_in_the_clients_form() {
    let script = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read l; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"x"}}'
read l; exec <&-
echo '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"x","toolCall":{"toolCallId":"t1","title":"do it","kind":"execute"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
exec sleep 600"#;
    let command = serde_json::to_string(script).unwrap();
    let config = format!("[agents.mock]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {command}]\n");
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/event").await;
    face.begin(&session, "hello").await;
    let id = asked(&mut events, "permission.asked").await;
    let path = format!("/permission/{id}/reply");
    let (status, message) =
        face.refused(reqwest::Method::POST, &path, Some(json!({ "reply": "once" }))).await;
    assert_eq!(status, 404, "{message}");
    assert!(message.contains("was not taken: the agent reads nothing any more"), "{message}");
    let seen = events.until("permission.replied").await;
    assert_eq!(event(seen.last().unwrap())["properties"]["reply"], "reject");
    events.until("session.error").await;
}
