//! The bodies of calls: what they have, and what they must not have.

use omniglot_runtime::config::Config;
use serde_json::{Value, json};

use super::*;
use crate::hooks::HookSettings;

fn hook(more: &str) -> Hook {
    let text = format!("[[hooks]]\nname = \"h\"\nsecret = \"a-secret-of-16-b\"\n{more}");
    let config =
        Config::parse("omniglot.toml".as_ref(), &text, &omniglot_agents::Registry::default()).unwrap();
    HookSettings::of(&config).unwrap().hooks.remove(0)
}

fn session() -> SessionInfo {
    serde_json::from_value(json!({
        "sessionId": "s", "agent": "mock", "agentMode": "build", "permissionMode": "default", "model": null,
        "variant": null, "nativeSessionId": null, "ended": false, "eventCount": 7, "createdAt": 1, "updatedAt": 1,
        "directory": "/here", "title": "Mend the roof", "labels": { "team": "a" },
    }))
    .unwrap()
}

fn event(kind: &str, data: Value) -> UniversalEvent {
    serde_json::from_value(json!({
        "event_id": "evt_1", "sequence": 7, "time": "2026-11-16T00:00:00Z", "session_id": "s",
        "source": "agent", "synthetic": false, "type": kind, "data": data,
    }))
    .unwrap()
}

fn permission() -> UniversalEvent {
    event(
        "permission.requested",
        json!({
            "permission_id": "perm_1", "action": "Run `rm -rf secret-folder`", "status": "requested",
            "metadata": { "tool": "Bash", "detail": "secret-folder",
                "files": [{ "type": "file_ref", "path": "secret-folder/a", "action": "patch", "diff": "+secret-folder" }] },
        }),
    )
}

fn body(hook: &Hook, event: UniversalEvent) -> (Value, Message) {
    let message = Message::of_event(hook, event, session(), EventLinks::default()).unwrap();
    (serde_json::from_slice(&message.body).unwrap(), message)
}

const JSON: &str = "url = \"https://hooks.example/a\"\n";
const NTFY: &str = "url = \"https://ntfy.example/base/my-topic\"\nformat = \"ntfy\"\n";

#[test]
fn a_body_has_titles_and_kinds_and_no_commands_or_diffs() {
    let (body, message) = body(&hook(JSON), permission());
    assert_eq!(message.id, "evt_1");
    assert_eq!(
        body,
        json!({
            "type": "permission.requested",
            "timestamp": "2026-11-16T00:00:00Z",
            "data": {
                "hook": "h", "message": "mock asks whether it may use Bash.", "session_id": "s", "title": "Mend the roof",
                "agent": "mock", "labels": { "team": "a" }, "sequence": 7, "request_id": "perm_1", "tool": "Bash",
            },
        })
    );
    let (body, _) = self::body(&hook(NTFY), permission());
    assert!(!body.to_string().contains("secret-folder"), "{body}");
}

#[test]
fn with_details_the_event_comes_along() {
    let (body, _) = body(&hook(&format!("{JSON}include = \"details\"\n")), permission());
    assert_eq!(body["data"]["event"]["data"]["action"], "Run `rm -rf secret-folder`");
    let (body, _) = self::body(&hook(&format!("{NTFY}include = \"details\"\n")), permission());
    assert_eq!(body["message"], "mock asks whether it may use Bash.\nRun `rm -rf secret-folder`");
}

#[test]
fn an_event_that_is_too_large_is_left_out() {
    let error = event("error", json!({ "message": "x".repeat(MOST_BYTES), "code": "rate_limit" }));
    let (body, message) = body(&hook(&format!("{JSON}include = \"details\"\n")), error);
    assert!(message.body.len() < 1000);
    assert_eq!((&body["data"]["error_code"], body["data"].get("event")), (&json!("rate_limit"), None));
}

#[test]
fn ntfy_gets_the_title_the_words_the_tags_and_the_page() {
    let ended = json!({ "phase": "ended", "turn_id": "turn_1", "metadata": { "stop_reason": "end_turn", "duration_ms": 5 } });
    let links = EventLinks { page: Some("https://box.example/ui/#/session/s".into()), answer: None };
    let message = Message::of_event(&hook(NTFY), event("turn.ended", ended), session(), links).unwrap();
    assert_eq!(message.url.as_str(), "https://ntfy.example/base");
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(
        body,
        json!({
            "topic": "my-topic", "title": "Mend the roof", "message": "mock has finished.",
            "tags": ["white_check_mark"], "priority": 3, "click": "https://box.example/ui/#/session/s",
        })
    );
}

#[test]
fn long_words_are_cut_for_ntfy() {
    assert_eq!(cut("äöü", 3), "äöü");
    assert_eq!(cut("äöüß", 3), "äöü…");
}

#[test]
fn a_link_gives_a_notification_buttons_that_never_allow_always() {
    let links = || EventLinks { page: None, answer: Some("https://box.example/answer/x".into()) };
    let message = Message::of_event(&hook(NTFY), permission(), session(), links()).unwrap();
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    let bodies: Vec<_> = body["actions"].as_array().unwrap().iter().map(|action| &action["body"]).collect();
    assert_eq!(bodies, [&json!("answer=once"), &json!("answer=reject"), &Value::Null]);
    assert_eq!(body["click"], "https://box.example/answer/x");
    let asked = json!({ "question_id": "q_1", "prompt": "Which?", "options": [], "status": "requested" });
    let question = event("question.requested", asked);
    let message = Message::of_event(&hook(NTFY), question, session(), links()).unwrap();
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(
        body["actions"],
        json!([{ "action": "view", "label": "Look", "url": "https://box.example/answer/x", "clear": false }])
    );
}
