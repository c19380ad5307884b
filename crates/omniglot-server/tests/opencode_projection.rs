//! Every recording of every agent, projected for OpenCode's clients.
//!
//! The snapshots are read like code. Common rules are checked here and not left to reading: each event fits
//! OpenCode's own schema, ids ascend, a client that only reads the stream ends with the messages that are
//! served, and a turn ends in idle exactly once.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption sees only the tests themselves"
)]

#[path = "opencode_projection/client.rs"]
mod client;
#[path = "opencode_projection/outline.rs"]
mod outline;
#[path = "opencode_projection/recordings.rs"]
mod recordings;
#[path = "opencode_projection/schema.rs"]
mod schema;

use client::Client;
use omniglot_schema::{EventData, UniversalEvent};
use omniglot_server::faces::opencode::project::Projector;
use omniglot_server::faces::opencode::wire::{OcEvent, Payload, Status};
use recordings::{Recording, facts, recordings};
use serde_json::{Value, json};

#[test]
fn every_recording_reads_as_opencode_tells_it() {
    for (family, recordings) in recordings() {
        let mut text = String::new();
        for recording in &recordings {
            text.push_str(&format!("== {}\n{}", recording.name, outline::of(&projected(&recording.events))));
        }
        insta::assert_snapshot!(format!("outline_{family}"), text);
    }
}

#[test]
fn a_few_recordings_are_shown_in_full() {
    let chosen = ["claude/read_edit", "claude/question", "codex/shell", "opencode/permission_accept_edit"];
    for recording in all().filter(|recording| chosen.contains(&&*recording.name)) {
        let mut projector = Projector::new(facts());
        let events: Vec<OcEvent> = recording.events.iter().flat_map(|event| projector.event(event)).collect();
        let told = json!({ "events": events, "messages": projector.messages() });
        insta::assert_json_snapshot!(format!("full_{}", recording.name.replace('/', "_")), told);
    }
}

#[test]
fn every_event_fits_opencode_s_own_schema() {
    let schema = schema::Schema::load();
    for recording in all() {
        for event in projected(&recording.events) {
            schema.check(&serde_json::to_value(&event).unwrap()).unwrap_or_else(|error| {
                panic!("{}: {error}\n{}", recording.name, serde_json::to_string(&event).unwrap())
            });
        }
    }
}

#[test]
fn idle_comes_exactly_once_per_turn_and_last() {
    for recording in all() {
        let mut projector = Projector::new(facts());
        let mut busy = false;
        for event in &recording.events {
            let told = projector.event(event);
            let idles = told.iter().filter(|event| matches!(event.payload, Payload::SessionIdle { .. }));
            let ends = matches!(event.data, EventData::TurnEnded(_));
            assert_eq!(idles.count(), usize::from(ends), "{} #{}", recording.name, event.sequence);
            for status in told.iter().filter_map(status_of) {
                assert!(*status != Status::Idle || busy, "{}: idle twice", recording.name);
                assert!(*status != Status::Idle || ends, "{}: idle within a turn", recording.name);
                busy = *status != Status::Idle;
            }
        }
        assert!(!busy, "{}: ends busy", recording.name);
        assert_eq!(*projector.status(), Status::Idle);
    }
}

#[test]
fn a_client_that_only_listens_has_the_messages_that_are_served() {
    for recording in all() {
        let mut projector = Projector::new(facts());
        let mut client = Client::new(&recording.name);
        for event in &recording.events {
            for told in projector.event(event) {
                client.hear(&serde_json::to_value(&told).unwrap());
            }
        }
        client.assert_has("ses_recorded", &serde_json::to_value(projector.messages()).unwrap());
        for subagent in projector.below("ses_recorded") {
            let id = subagent.id.as_str();
            client.assert_has(id, &serde_json::to_value(projector.messages_of(id).unwrap()).unwrap());
        }
        assert!(projector.pending().is_empty(), "{}: a request is left open", recording.name);
    }
}

#[test]
fn every_assistant_message_is_complete_and_every_call_has_ended() {
    for recording in all() {
        let mut projector = Projector::new(facts());
        recording.events.iter().for_each(|event| drop(projector.event(event)));
        let messages = serde_json::to_value(projector.messages()).unwrap();
        for message in messages.as_array().unwrap() {
            let info = &message["info"];
            assert!(
                info["role"] == "user" || info["time"]["completed"].is_i64(),
                "{}: {info}",
                recording.name
            );
            for part in message["parts"].as_array().unwrap() {
                let status = part["state"]["status"].as_str().unwrap_or("completed");
                assert!(["completed", "error"].contains(&status), "{}: {part}", recording.name);
            }
        }
    }
}

#[test]
fn the_same_log_gives_the_same_events_from_any_position() {
    for recording in all() {
        let whole = projected(&recording.events);
        let mut early = Projector::new(facts());
        let (first, rest) = recording.events.split_at(recording.events.len() / 2);
        let mut parts: Vec<OcEvent> = first.iter().flat_map(|event| early.event(event)).collect();
        let mut late = Projector::new(facts());
        first.iter().for_each(|event| drop(late.event(event)));
        parts.extend(rest.iter().flat_map(|event| late.event(event)));
        assert_eq!(whole, parts, "{}", recording.name);
    }
}

/// The scenario of the comparison: two tool calls, then the answer.
#[test]
fn reading_and_editing_a_file_is_told_as_opencode_tells_it() {
    let recording = all().find(|recording| recording.name == "claude/read_edit").unwrap();
    let events = projected(&recording.events);
    let told: Vec<String> = events.iter().filter_map(outline::step).collect();
    let until_idle = told.iter().position(|line| line == "session.idle").unwrap();
    assert_eq!(
        told[..=until_idle],
        [
            "session.status busy",
            "message.updated user",
            "message.part.updated user text",
            "message.updated assistant",
            "message.part.updated text",
            "message.part.delta text",
            "message.part.delta text",
            "message.part.updated text end",
            "message.part.updated tool read pending",
            "message.part.updated tool read running",
            "message.part.updated tool read completed",
            "message.part.updated tool edit pending",
            "message.part.updated tool edit running",
            "message.part.updated tool edit completed",
            "message.part.updated text",
            "message.part.delta text",
            "message.part.delta text",
            "message.part.updated text end",
            "message.updated assistant completed",
            "session.status idle",
            "session.idle",
        ]
    );
    assert!(!told[until_idle + 1..].iter().any(|line| line.contains("idle") || line.contains("busy")));
}

fn all() -> impl Iterator<Item = Recording> {
    recordings().into_values().flatten()
}

fn projected(events: &[UniversalEvent]) -> Vec<OcEvent> {
    let mut projector = Projector::new(facts());
    events.iter().flat_map(|event| projector.event(event)).collect()
}

fn status_of(event: &OcEvent) -> Option<&Status> {
    match &event.payload {
        Payload::SessionStatus { status, .. } => Some(status),
        _ => None,
    }
}

/// Returns the text of a field, or an empty one.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
