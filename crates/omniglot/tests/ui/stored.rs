//! Sessions that were not played: events of recordings or of the test's own, imported as an export is.

use omniglot_testkit::daemon::Daemon;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Imports events, which are all of one session, under this id.
pub(crate) fn import(daemon: &Daemon, id: &str, agent: &str, events: &[Value]) {
    let session = events.first().and_then(|event| event["session_id"].as_str()).expect("an event");
    let info = json!({
        "sessionId": session, "agent": agent, "agentMode": "default", "permissionMode": "default",
        "ended": false, "eventCount": events.len(), "createdAt": 0, "updatedAt": 0, "directory": daemon.work(),
    });
    let header = json!({"header": {
        "format": "omniglot-session", "version": 1, "exporter": "a test", "exported_at": 0, "raw": false, "session": info,
    }});
    let mut text = format!("{header}\n");
    for event in events {
        text += &format!("{}\n", json!({ "event": event }));
    }
    let sum: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    text += &format!("{}\n", json!({"end": {"events": events.len(), "blobs": 0, "sha256": sum}}));
    let url = format!("{}/v1/sessions/{id}/import?directory={}", daemon.url, daemon.work().display());
    let answer = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let request = reqwest::Client::new().post(url).bearer_auth(&daemon.token);
        let response =
            request.header("content-type", "application/x-ndjson").body(text).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    });
    assert_eq!(answer.0, 200, "{id}: {}", answer.1);
}

/// The events of a session of the test's own.
pub(crate) struct Stored {
    pub(crate) events: Vec<Value>,
}

impl Stored {
    pub(crate) fn new() -> Self {
        let mut stored = Self { events: vec![] };
        stored.push("session.started", json!({"metadata": {"agent": "mock", "agent_version": "0.1.0"}}));
        stored
    }

    fn push(&mut self, kind: &str, data: Value) {
        let sequence = self.events.len() + 1;
        self.events.push(json!({
            "event_id": format!("evt_1_{sequence}"), "sequence": sequence, "time": "2026-11-18T00:00:00Z",
            "session_id": "stored", "native_session_id": "n", "source": "agent", "synthetic": false,
            "type": kind, "data": data, "raw": null,
        }));
    }

    /// Adds a turn with these items, between a message of a person and the turn's end.
    pub(crate) fn turn(&mut self, prompt: &str, items: impl FnOnce(&mut Self)) {
        let turn = format!("turn_1_{}", self.events.len() + 1);
        self.push(
            "turn.started",
            json!({"phase": "started", "turn_id": turn, "metadata": {"origin": "user"}}),
        );
        self.item("message", "user", &json!([{"type": "text", "text": prompt}]), &[]);
        items(self);
        let end = json!({"stop_reason": "end_turn", "duration_ms": 1});
        self.push("turn.ended", json!({"phase": "ended", "turn_id": turn, "metadata": end}));
    }

    /// Adds an item whose content is complete at once, or comes in these pieces.
    pub(crate) fn item(&mut self, kind: &str, role: &str, content: &Value, pieces: &[&str]) {
        let id = format!("itm_1_{}", self.events.len() + 1);
        let item = |status: &str, content: &Value| json!({"item": {"item_id": id, "kind": kind, "role": role, "status": status, "content": content}});
        let begun = if pieces.is_empty() { content.clone() } else { json!([]) };
        self.push("item.started", item("in_progress", &begun));
        for piece in pieces {
            let mut delta = json!({"item_id": id, "delta": piece});
            if content[0]["type"] == "reasoning" {
                delta["part_type"] = json!("reasoning");
            }
            self.push("item.delta", delta);
        }
        self.push("item.completed", item("completed", content));
    }

    /// Adds a text of the assistant that comes in these pieces.
    pub(crate) fn says(&mut self, pieces: &[&str]) {
        self.item("message", "assistant", &json!([{"type": "text", "text": pieces.concat()}]), pieces);
    }
}
