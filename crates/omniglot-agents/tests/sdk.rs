//! The TypeScript SDK folds every recording to the same state and the same view as we do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use omniglot_agents::{Registry, replay};
use omniglot_schema::{SessionId, UniversalEvent};
use omniglot_testkit::captures::agent_of;
use omniglot_testkit::clients::node;
use omniglot_testkit::sdk;
use omniglot_timeline::view::{Change, View};
use omniglot_timeline::{Fold, Identity};
use serde_json::{Value, json};

#[test]
fn typescript_folds_every_recording_as_rust_does() {
    let built = sdk::typescript();
    let cases = built.path().join("cases.jsonl");
    let mut file = fs::File::create(&cases).unwrap();
    let mut count = 0;
    for capture in captures() {
        for events in sessions(&capture) {
            writeln!(file, "{}", case(&capture, &events)).unwrap();
            count += 1;
        }
    }
    assert!(count > 200, "{count} recordings");
    let words = [built.path().join("index.js"), cases].map(|path| path.to_str().unwrap().to_owned());
    let said = sdk::succeed(node(&sdk::path("typescript/test/captures.mjs"), &[]).args(words));
    assert_eq!(said, format!("{count} recordings are folded alike\n"));
}

fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries(&root).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries(&folder).collect::<Vec<_>>());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

/// Returns the events of each session of a recording.
fn sessions(capture: &Path) -> Vec<Vec<UniversalEvent>> {
    let folder = capture.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let registry = Registry::default();
    let adapter = *registry.get(agent_of(folder, registry.ids())).unwrap();
    let identity =
        || Identity { session_id: SessionId::parse("recorded").unwrap(), agent: folder.to_owned() };
    let texts = replay::sessions(&adapter, &fs::read_to_string(capture).unwrap()).unwrap();
    texts.iter().map(|text| replay::events(&adapter, text, identity()).unwrap()).collect()
}

fn case(capture: &Path, events: &[UniversalEvent]) -> Value {
    let (mut fold, mut view) = (Fold::default(), View::default());
    let mut changes = vec![];
    for event in events {
        fold.apply(event);
        changes.push(told(view.apply(event)));
    }
    json!({ "capture": capture, "events": events, "fold": fold, "status": fold.status(), "changes": changes,
        "turn": view.turn() })
}

/// Returns a change as the SDK tells it; texts that grow are told by their lengths.
fn told(change: Change<'_>) -> Value {
    match change {
        Change::TurnStarted(turn) => json!({ "type": "turn_started", "turn": turn }),
        Change::TurnEnded { turn, end } => json!({ "type": "turn_ended", "turn": turn, "end": end }),
        Change::MessageStarted(message) => json!({ "type": "message_started", "message": message }),
        Change::MessageText { message, part, delta } => json!({ "type": "message_text", "part": part,
            "delta": delta, "item": message.item.item_id, "length": message.streamed }),
        Change::MessageEnded(message) => json!({ "type": "message_ended", "message": message }),
        Change::CallStarted(call) => json!({ "type": "call_started", "call": call }),
        Change::CallInput { call, delta } => {
            json!({ "type": "call_input", "delta": delta, "item": call.item, "length": call.input.len() })
        }
        Change::CallReady { call, before } => json!({ "type": "call_ready", "call": call, "before": before }),
        Change::CallRunning(call) => json!({ "type": "call_running", "call": call }),
        Change::CallOutput { call, delta } => {
            json!({ "type": "call_output", "delta": delta, "item": call.item, "length": call.written })
        }
        Change::CallEnded(call) => json!({ "type": "call_ended", "call": call }),
        Change::Happened(item) => json!({ "type": "happened", "item": item }),
        Change::Other => json!({ "type": "other" }),
    }
}
