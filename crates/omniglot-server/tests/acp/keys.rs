//! Walks the table of `_meta` keys: it has all those of the mapping document, and each is really sent.

use std::collections::HashSet;

use agent_client_protocol_schema::v1::{PromptResponse, StopReason};
use omniglot_schema::{CreateSessionRequest, ErrorType, ProblemDetails, SessionEndedData, UniversalEvent};
use omniglot_server::faces::acp::project::{Outgoing, with_session_end};
use omniglot_server::faces::acp::wire::failure;
use omniglot_server::faces::acp::wire::meta::{self, KEYS, Key, MetaLocation};
use omniglot_server::faces::acp::wire::requests::NewSession;
use serde_json::{Value, json};

use crate::{PLAIN, captures, opened, told};

#[test]
fn every_key_of_the_mapping_document_is_in_the_table() {
    let document = include_str!("mapping.md");
    let named: HashSet<&str> =
        document.split('"').filter(|word| word.starts_with("sandbox-agent/")).collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        assert!(KEYS.iter().any(|key| key.name == name), "{name}");
    }
}

#[test]
fn the_table_names_each_place_once() {
    for (number, key) in KEYS.iter().enumerate() {
        let again = KEYS[number + 1..].iter().any(|other| (other.name, other.place) == (key.name, key.place));
        assert!(!again, "{key:?}");
    }
}

#[test]
fn every_key_that_we_write_is_written_where_the_table_says() {
    let mut written = HashSet::new();
    for capture in captures::all() {
        for events in &capture.sessions {
            let events: Vec<_> = events.iter().map(complete).collect();
            let messages = told(&events, PLAIN).concat();
            messages.iter().for_each(|message| note(message, &mut written));
        }
    }
    opened::opened().iter().for_each(|info| note_object(MetaLocation::SessionInfo, info, &mut written));
    let refused = serde_json::to_value(failure::of_problem(&problem())).unwrap();
    note_object(MetaLocation::Error, &refused["data"], &mut written);
    let ended: SessionEndedData =
        serde_json::from_value(json!({ "reason": "terminated", "terminated_by": "daemon" })).unwrap();
    let answer = with_session_end(PromptResponse::new(StopReason::Cancelled), &ended);
    note_object(MetaLocation::PromptResult, &serde_json::to_value(answer).unwrap(), &mut written);
    for Key { name, place, .. } in KEYS.iter().filter(|key| !key.place.is_incoming()) {
        assert!(written.contains(&(*place, (*name).to_owned())), "{name} in {place:?}");
    }
    for (place, name) in &written {
        assert!(KEYS.iter().any(|key| (key.place, key.name) == (*place, name)), "{name} in {place:?}");
    }
}

/// Adds the agent's frames and session id, which replays lack or lack in their first events.
fn complete(event: &UniversalEvent) -> UniversalEvent {
    let raw = serde_json::value::to_raw_value(&json!({ "native": true })).unwrap();
    UniversalEvent { raw: Some(raw), native_session_id: Some("native".into()), ..event.clone() }
}

fn note(message: &Outgoing, written: &mut HashSet<(MetaLocation, String)>) {
    match message {
        Outgoing::Update(notification) => {
            let json = serde_json::to_value(notification).unwrap();
            note_object(MetaLocation::Notification, &json, written);
            note_object(MetaLocation::Update, &json["update"], written);
            note_object(MetaLocation::Content, &json["update"]["content"], written);
        }
        Outgoing::ClientRequest(inquiry) => {
            let json = serde_json::to_value(inquiry.ask().unwrap().request).unwrap();
            note_object(MetaLocation::Notification, &json, written);
        }
        Outgoing::TurnEnded(ended) => match &ended.answer {
            Ok(result) => {
                note_object(MetaLocation::PromptResult, &serde_json::to_value(result).unwrap(), written)
            }
            Err(error) => {
                let json = serde_json::to_value(error).unwrap();
                note_object(MetaLocation::Error, &json["data"], written);
            }
        },
        Outgoing::Exited(exited) => {
            // It repeats the update beside it.
            assert_eq!(exited.meta.keys().collect::<Vec<_>>(), [meta::SESSION_END]);
        }
        Outgoing::Settled(_) => {}
    }
}

fn note_object(place: MetaLocation, object: &Value, written: &mut HashSet<(MetaLocation, String)>) {
    let keys = object.get("_meta").and_then(Value::as_object).into_iter().flat_map(|meta| meta.keys());
    written.extend(keys.map(|key| (place, key.clone())));
}

fn problem() -> ProblemDetails {
    ProblemDetails {
        agent: Some("pi".into()),
        session_id: Some("s".into()),
        ..ProblemDetails::new(ErrorType::AgentNotInstalled, "pi was not found")
    }
}

#[test]
fn every_key_that_we_read_changes_the_session() {
    let whole = asked_for(&everything()).unwrap();
    let of_session = |key: &&Key| matches!(key.place, MetaLocation::NewSession | MetaLocation::McpServer);
    for key in KEYS.iter().filter(of_session) {
        let mut params = everything();
        let removed = match key.place {
            MetaLocation::NewSession => remove(&mut params, key.name),
            _ => {
                params["mcpServers"].as_array_mut().unwrap().iter_mut().any(|server| remove(server, key.name))
            }
        };
        assert!(removed, "{key:?} is not asked for");
        assert_ne!(asked_for(&params).unwrap(), whole, "{key:?}");
    }
}

#[test]
fn every_key_of_a_handshake_is_read() {
    for key in KEYS.iter().filter(|key| key.place == MetaLocation::ClientCapabilities) {
        let wants = |value: Value| {
            let client = json!({ "_meta": { key.name: value } });
            meta::wants_frames(&serde_json::from_value(client).unwrap())
        };
        assert!(wants(json!(true)) && !wants(json!(false)) && !wants(json!("much")), "{key:?}");
    }
}

#[test]
fn a_key_with_another_value_than_it_carries_is_refused_by_name() {
    let mut params = everything();
    params["_meta"]["sandbox-agent/skills"] = json!("many");
    let refused = asked_for(&params).unwrap_err();
    assert!(refused.starts_with(r#"_meta["sandbox-agent/skills"]: "#), "{refused}");
}

fn remove(object: &mut Value, key: &str) -> bool {
    object["_meta"].as_object_mut().unwrap().shift_remove(key).is_some()
}

fn asked_for(params: &Value) -> Result<CreateSessionRequest, String> {
    let params: NewSession = serde_json::from_str(&params.to_string()).unwrap();
    params.into_request(Some("mock")).map_err(|error| error.to_string())
}

/// `session/new` with every key that clients may write.
fn everything() -> Value {
    json!({
        "cwd": "/w",
        "_meta": {
            "sandbox-agent/agent": "claude",
            "sandbox-agent/agentMode": "plan",
            "sandbox-agent/agentVersion": "2",
            "sandbox-agent/model": "opus",
            "sandbox-agent/permissionMode": "acceptEdits",
            "sandbox-agent/skills": { "sources": [{ "type": "github", "source": "a/b" }] },
            "sandbox-agent/title": "a title",
            "sandbox-agent/variant": "high",
        },
        "mcpServers": [
            {
                "name": "here", "command": "server", "args": ["-v"], "env": [{ "name": "K", "value": "v" }],
                "_meta": {
                    "sandbox-agent/cwd": "/w", "sandbox-agent/enabled": false, "sandbox-agent/timeoutMs": 5,
                },
            },
            {
                "type": "http", "name": "there", "url": "http://127.0.0.1/", "headers": [],
                "_meta": {
                    "sandbox-agent/bearerTokenEnvVar": "TOKEN",
                    "sandbox-agent/envHeaders": { "X-Key": "KEY" },
                    "sandbox-agent/oauth": { "clientId": "id", "clientSecret": "secret", "scope": "all" },
                },
            },
            {
                "type": "sse", "name": "elsewhere", "url": "http://127.0.0.1/", "headers": [],
                "_meta": { "sandbox-agent/oauthDisabled": true },
            },
        ],
    })
}
