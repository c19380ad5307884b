//! B5: a person's own command, and refusals that the terminal interface would drop.

use omniglot_schema::{CreateTokenRequest, Scope};
use omniglot_testkit::daemon::{Daemon, Setup};
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Face, daemon, event};

fn with_processes() -> Daemon {
    let config = "[processes]\nenabled = true\n".to_owned();
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

fn tool(message: &Value) -> &Value {
    let parts = message["parts"].as_array().unwrap();
    parts.iter().find(|part| part["type"] == "tool").expect("a call")
}

#[tokio::test]
async fn a_command_runs_in_the_session_s_directory_and_is_a_call_of_its_transcript() {
    let daemon = with_processes();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/event").await;
    let path = format!("/session/{session}/shell");
    let answer = face.post(&path, json!({ "command": "pwd; echo no >&2; exit 3", "agent": "build" })).await;
    let state = &tool(&answer)["state"];
    assert_eq!((&tool(&answer)["tool"], &state["status"]), (&json!("bash"), &json!("completed")), "{answer}");
    let work = daemon.work().canonicalize().unwrap();
    let output = state["output"].as_str().unwrap();
    assert!(output.contains(work.to_str().unwrap()) && output.contains("no"), "{output}");
    assert_eq!(state["input"]["command"], "pwd; echo no >&2; exit 3");
    let seen = events.until("session.idle").await;
    assert!(seen.iter().any(|frame| event(frame)["properties"]["part"] == *tool(&answer)), "{seen:?}");
    let messages = face.get(&format!("/session/{session}/message")).await;
    assert_eq!(messages[0]["parts"][0]["text"], "!pwd; echo no >&2; exit 3");
    // The agent goes on as if nothing had been.
    let answer = face.prompt(&session, "[[recall]]").await;
    assert!(super::support::said(&answer).contains("Earlier prompts: 0."), "{answer}");
}

#[tokio::test]
async fn a_command_that_a_turn_overtakes_is_written_down_behind_it() {
    let daemon = with_processes();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let (go, gone) = (daemon.work().join("go"), daemon.work().join("gone"));
    let command =
        format!("touch {}; until [ -e {} ]; do sleep 0.05; done; echo late", gone.display(), go.display());
    let path = format!("/session/{session}/shell");
    let mut events = face.stream("/event").await;
    let running = face.post(&path, json!({ "command": command }));
    let turn = async {
        while !gone.exists() {
            tokio::task::yield_now().await;
        }
        face.begin(&session, "[[text:1]] [[silence]]").await;
        events.until("message.part.delta").await;
        std::fs::write(&go, "").unwrap();
        let busy = face.refused(Method::POST, &path, Some(json!({ "command": "true" }))).await;
        face.post(&format!("/session/{session}/abort"), json!({})).await;
        busy
    };
    let (answer, busy) = tokio::join!(running, turn);
    assert_eq!(busy.0, 409, "{busy:?}");
    assert!(tool(&answer)["state"]["output"].as_str().unwrap().contains("late"), "{answer}");
    let messages = face.get(&format!("/session/{session}/message")).await;
    assert_eq!(messages.as_array().unwrap().last().unwrap(), &answer);
}

/// The program shows no refusal of such a call by itself.
#[tokio::test]
async fn a_refusal_that_the_program_would_drop_comes_over_its_stream() {
    let daemon = daemon();
    let face = Face::of_a_program(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/global/event").await;
    let body = Some(json!({ "command": "true", "messageID": "msg_1" }));
    let of_session = |action: &str| format!("/session/{session}/{action}");
    for (method, path, words) in [
        (Method::POST, of_session("shell"), "enabled"),
        (Method::POST, of_session("revert"), "no message"),
        (Method::POST, of_session("share"), "shared"),
        (Method::POST, of_session("fork"), "no message"),
        (Method::POST, of_session("nothing"), "not served"),
        (Method::POST, "/session/ses_none/abort".to_owned(), "no session"),
        (Method::PUT, "/auth/anthropic".to_owned(), "not served"),
        (Method::POST, "/mcp/x/connect".to_owned(), "not served"),
        (Method::PATCH, "/config".to_owned(), "has no PATCH"),
        (Method::POST, "/tui/publish".to_owned(), "not served"),
    ] {
        let (status, message) = face.refused(method, &path, body.clone()).await;
        assert!((400..500).contains(&status) && message.contains(words), "{path}: {status} {message}");
        let seen = events.until("tui.toast.show").await;
        let toast = &event(seen.last().unwrap())["properties"];
        assert_eq!((&toast["message"], &toast["variant"]), (&json!(message), &json!("error")));
    }
    let other = Face::of(&daemon);
    other.refused(Method::PUT, "/auth/anthropic", body.clone()).await;
    other.refused(Method::POST, &format!("/session/{session}/revert"), body.clone()).await;
    face.post(&format!("/session/{session}/abort"), json!({})).await;
    face.prompt(&session, "[[text:1]]").await;
    let seen = events.until("session.idle").await;
    assert!(seen.iter().all(|frame| event(frame)["type"] != "tui.toast.show"), "{seen:?}");
}

/// Others learn nothing of what somebody was refused.
#[tokio::test]
async fn a_refusal_comes_over_the_streams_of_its_caller_alone() {
    let daemon = daemon();
    let token = |name: &str| {
        let (name, scope) = (name.to_owned(), Scope::Drive);
        let request = CreateTokenRequest { name, scope, sessions: None, expires_in_seconds: None };
        let client = daemon.client.clone();
        async move { client.create_token(&request).await.unwrap().secret }
    };
    let face = Face::of_a_program(&daemon).with_token(token("one").await);
    let other = Face::of_a_program(&daemon).with_token(token("other").await);
    let (mut own, mut others) = (face.stream("/event").await, other.stream("/event").await);
    face.refused(Method::POST, "/session/ses_none/abort", None).await;
    own.until("tui.toast.show").await;
    let session = other.session().await;
    other.prompt(&session, "[[text:1]]").await;
    let seen = others.until("session.idle").await;
    assert!(seen.iter().all(|frame| event(frame)["type"] != "tui.toast.show"), "{seen:?}");
}

/// The check before all routes refuses it, and the face shows it all the same.
#[tokio::test]
async fn a_call_beyond_the_scope_of_a_token_is_told_on_its_screen() {
    let daemon = daemon();
    let session = Face::of(&daemon).session().await;
    let request = CreateTokenRequest {
        name: "reader".into(),
        scope: Scope::Read,
        sessions: None,
        expires_in_seconds: None,
    };
    let secret = daemon.client.create_token(&request).await.unwrap().secret;
    let face = Face::of_a_program(&daemon).with_token(secret);
    let mut events = face.stream("/event").await;
    for path in ["/session".to_owned(), format!("/session/{session}/abort")] {
        let (status, message) = face.refused(Method::POST, &path, None).await;
        assert_eq!(status, 403);
        let seen = events.until("tui.toast.show").await;
        assert_eq!(event(seen.last().unwrap())["properties"]["message"], json!(message));
        assert!(message.contains("`drive`"), "{message}");
    }
}
