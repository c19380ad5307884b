//! Tests the words that ask, from the client's side.

use serde_json::{Value, json};
use tempfile::tempdir;

use super::client::{Client, Reply, prompt_params};

/// Plays a word and answers its form; returns the form and the rest of the turn.
#[track_caller]
fn play(word: &str, answer: Value) -> (Value, Reply) {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    let id = client.send("session/prompt", prompt_params(&session, word));
    let form = loop {
        let message = client.read();
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    client.answer(&form["id"], answer);
    (form["params"].clone(), client.read_answer(id, "allow"))
}

#[test]
fn accepted_answers_are_told_back() {
    let content = json!({ "approach": "quick", "checks": ["fmt"], "name": "x" });
    let (form, reply) = play("[[question]]", json!({ "action": "accept", "content": content }));
    assert_eq!((&form["mode"], &form["toolCallId"]), (&json!("form"), &json!("call-1")));
    let schema = &form["requestedSchema"];
    assert_eq!(schema["properties"]["approach"]["oneOf"][0]["description"], "The smallest change that works");
    assert_eq!(schema["properties"]["checks"]["items"]["enum"], json!(["fmt", "lint", "test"]));
    assert_eq!(reply.text(), "You answered: approach = quick; checks = fmt; name = x.");
    assert_eq!((reply.last_call()["status"].as_str(), reply.stop_reason()), (Some("completed"), "end_turn"));
}

#[test]
fn a_declined_form_ends_the_question_and_not_the_turn() {
    let (_, reply) = play("[[question:one]]", json!({ "action": "decline" }));
    assert!(reply.text().starts_with("You did not want to answer"));
    assert_eq!(reply.stop_reason(), "end_turn");
}

#[test]
fn a_cancelled_form_cancels_the_turn_and_closes_its_call() {
    let (_, reply) = play("[[question]]", json!({ "action": "cancel" }));
    assert_eq!((reply.last_call()["status"].as_str(), reply.stop_reason()), (Some("failed"), "cancelled"));
}
