//! Checks every event of a test against the JSON Schema that the code publishes, and against the rules of the
//! stream.
//!
//! The schemas are the components of the OpenAPI document, so that the check covers the published contract.
//! The rules themselves are the stream checker's.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use jsonschema::Validator;
use omniglot_schema::{ContentPart, EventData, UniversalEvent, UniversalEventType};
use omniglot_timeline::check::{Allow, check};
use serde_json::{Value, json};
use utoipa::{PartialSchema as _, ToSchema as _};

/// Checks an event against exactly the component of its `type`.
pub fn validate_event(json: &Value) -> Result<(), String> {
    let name = json.get("type").and_then(Value::as_str).unwrap_or_default();
    let kind = UniversalEventType::parse(name).ok_or_else(|| format!("unknown type {name:?}"))?;
    let validator = validators().get(&kind).ok_or_else(|| format!("no schema {}", kind.schema_name()))?;
    first_error(validator, json).map_err(|error| format!("{name}: {error}"))
}

/// Fails with a readable list unless the whole stream keeps every rule and every event its schema.
#[track_caller]
pub fn assert_lawful(events: &[UniversalEvent]) {
    assert_lawful_but(events, Allow::default());
}

/// As [`assert_lawful`], for a stream that was cut, or whose agent sends invalid messages on purpose.
#[track_caller]
pub fn assert_lawful_but(events: &[UniversalEvent], allow: Allow) {
    let report = check(events, allow);
    let mut complaints = String::new();
    for event in events {
        if let Err(error) = serialised(event).and_then(|json| validate_event(&json)) {
            let _ = writeln!(complaints, "schema                 #{:<5} {error}", event.sequence);
        }
        if let Some(name) = call_without_kind(event) {
            let _ = writeln!(complaints, "kind                   #{:<5} {name} has none", event.sequence);
        }
    }
    if !complaints.is_empty() || !report.is_lawful() {
        panic!("the stream is not lawful:\n{complaints}{report}\n\n{}", outline(events));
    }
}

/// Returns the name of a complete call of which its adapter does not say what it is. It stands here and not among the
/// rules because sessions of earlier versions lack the kind.
fn call_without_kind(event: &UniversalEvent) -> Option<&str> {
    let EventData::ItemCompleted(data) = &event.data else { return None };
    data.item.content.iter().find_map(|part| match part {
        ContentPart::ToolCall { name, kind: None, .. } if !event.synthetic => Some(name.as_str()),
        _ => None,
    })
}

/// Writes one line per event, so that an error message can be read in context.
pub fn outline(events: &[UniversalEvent]) -> String {
    let mut text = String::new();
    for event in events {
        let data = serde_json::to_string(&event.data).unwrap_or_default();
        let data: String = data.chars().take(160).collect();
        let _ = writeln!(text, "#{:<5} {:<20} {data}", event.sequence, event.kind().as_str());
    }
    text
}

fn serialised(event: &UniversalEvent) -> Result<Value, String> {
    serde_json::to_value(event).map_err(|error| error.to_string())
}

fn first_error(validator: &Validator, json: &Value) -> Result<(), String> {
    validator.validate(json).map_err(|error| format!("{error} at {:?}", error.instance_path().as_str()))
}

fn validators() -> &'static HashMap<UniversalEventType, Validator> {
    static VALIDATORS: OnceLock<HashMap<UniversalEventType, Validator>> = OnceLock::new();
    VALIDATORS.get_or_init(|| {
        let schemas = components();
        UniversalEventType::ALL.iter().map(|kind| (*kind, compile(&schemas, kind.schema_name()))).collect()
    })
}

/// Returns all components that an event can reach, itself included, by name.
fn components() -> Value {
    let mut found = vec![("UniversalEvent".to_owned(), UniversalEvent::schema())];
    UniversalEvent::schemas(&mut found);
    let named =
        found.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default()));
    Value::Object(named.collect())
}

/// Panics on a schema that does not compile: a bug that every test should show.
fn compile(schemas: &Value, name: &str) -> Validator {
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{name}"),
        "components": { "schemas": schemas },
    });
    jsonschema::draft202012::new(&document).unwrap_or_else(|error| panic!("schema {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: Value) -> Value {
        json!({
            "event_id": "evt_1", "sequence": 1, "time": "2026-01-01T00:00:00Z", "session_id": "s",
            "native_session_id": null, "source": "daemon", "synthetic": true, "type": kind, "data": data, "raw": null,
        })
    }

    #[test]
    fn each_event_is_held_against_the_schema_of_its_own_type() {
        let turn = json!({"phase": "started", "turn_id": "turn_1", "metadata": {"origin": "user"}});
        assert_eq!(validate_event(&event("turn.started", turn.clone())), Ok(()));
        assert_eq!(
            validate_event(&event("session.updated", json!({"title": null, "cost_usd": 0.5}))),
            Ok(())
        );
        for (kind, data) in
            [("turn.ended", turn), ("error", json!({})), ("session.updated", json!({"title": 1}))]
        {
            assert!(validate_event(&event(kind, data)).unwrap_err().starts_with(kind), "{kind}");
        }
    }

    #[test]
    fn the_envelope_is_checked_too() {
        let mut wrong = event("session.started", json!({}));
        wrong["sequence"] = json!("1");
        assert!(validate_event(&wrong).unwrap_err().contains("sequence"));
        assert!(validate_event(&event("session.paused", json!({}))).is_err());
    }

    #[test]
    #[should_panic(expected = "session_first")]
    fn an_unlawful_stream_is_told_with_its_events() {
        let event = event("session.updated", json!({"title": "t"})).to_string();
        assert_lawful(&[serde_json::from_str(&event).unwrap()]);
    }
}
