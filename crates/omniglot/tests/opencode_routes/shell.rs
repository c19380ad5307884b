//! B5: a person's own command, and refusals that the terminal interface would drop.

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
    for (action, words) in
        [("shell", "enabled"), ("revert", "no message"), ("share", "shared"), ("nothing", "not served")]
    {
        let path = format!("/session/{session}/{action}");
        let (status, message) = face.refused(Method::POST, &path, body.clone()).await;
        assert!((400..500).contains(&status) && message.contains(words), "{action}: {status} {message}");
        let seen = events.until("tui.toast.show").await;
        let toast = &event(seen.last().unwrap())["properties"];
        assert_eq!((&toast["message"], &toast["variant"]), (&json!(message), &json!("error")));
    }
    let other = Face::of(&daemon);
    other.refused(Method::POST, &format!("/session/{session}/revert"), body.clone()).await;
    face.post(&format!("/session/{session}/abort"), json!({})).await;
    face.prompt(&session, "[[text:1]]").await;
    let seen = events.until("session.idle").await;
    assert!(seen.iter().all(|frame| event(frame)["type"] != "tui.toast.show"), "{seen:?}");
}
