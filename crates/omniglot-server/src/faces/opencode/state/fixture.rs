//! A relay over a real log, without agents: a test itself writes what an agent would have caused.

use std::sync::Arc;

use omniglot_agents::Registry;
use omniglot_runtime::config::Config;
use omniglot_runtime::{Backlog, Deadlines, Hub, HubConfig};
use omniglot_schema::{SessionId, UniversalEventType};
use omniglot_store::{Batch, NewEvent, NewSession, Options, RecordUpdate, SessionRecord, Store};
use serde_json::{Value, json};

use super::relay::Relay;
use super::ring::Frame;

/// The directory of every session here.
pub(crate) const DIRECTORY: &str = "/here";

pub(crate) struct Fixture {
    pub(crate) relay: Arc<Relay>,
    store: Store,
    _dir: tempfile::TempDir,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let config = HubConfig {
            data_dir: dir.path().to_owned(),
            program: "/bin/false".into(),
            config: Config::default(),
            registry: Registry::default(),
            store: store.clone(),
            deadlines: Deadlines::default(),
            backlog: Backlog::Deliver,
        };
        let hub = Hub::start(config).await.unwrap();
        Self { relay: Relay::new(hub), store, _dir: dir }
    }

    /// A session whose log holds `session.started` alone.
    pub(crate) async fn session(&self, id: &str) -> SessionRecord {
        let id = SessionId::parse(id).unwrap();
        let new = NewSession {
            events: vec![event(&id, 1, UniversalEventType::SessionStarted, json!({}))],
            id,
            agent: "mock".into(),
            request: json!({ "agent": "mock", "directory": DIRECTORY }).to_string(),
            labels: Default::default(),
            created_ms: 1,
            record: RecordUpdate { fold: "{}".into(), ended: false, open_from: None },
            frames: vec![],
            copied: 0,
            blobs: vec![],
        };
        self.store.create(new).await.unwrap().unwrap()
    }

    /// Appends the start of a turn, as the events after `after`.
    pub(crate) async fn turn_starts(&self, session: &SessionRecord, after: u64) {
        let data = json!({ "phase": "started", "turn_id": format!("turn_{after}"),
            "metadata": { "origin": "user", "message_id": format!("msg_{after}") } });
        self.append(session, after + 1, UniversalEventType::TurnStarted, data).await;
    }

    /// Appends the end of the turn that started after `after`.
    pub(crate) async fn turn_ends(&self, session: &SessionRecord, after: u64) {
        let data = json!({ "phase": "ended", "turn_id": format!("turn_{after}"),
            "metadata": { "stop_reason": "end_turn", "duration_ms": 1 } });
        self.append(session, after + 2, UniversalEventType::TurnEnded, data).await;
    }

    async fn append(&self, session: &SessionRecord, seq: u64, kind: UniversalEventType, data: Value) {
        let mut batch = Batch::new(session.no);
        batch.events.push(event(&session.id, seq, kind, data));
        self.store.append(batch).await.unwrap().unwrap();
    }
}

fn event(id: &SessionId, seq: u64, kind: UniversalEventType, data: Value) -> NewEvent {
    let json = json!({ "event_id": format!("evt_{seq}"), "sequence": seq, "time": "2026-11-16T00:00:00Z",
        "session_id": id, "source": "daemon", "synthetic": true, "type": kind, "data": data });
    NewEvent { seq, kind, time_us: 0, json: json.to_string().into(), frame_no: None }
}

/// The types of the events in these frames.
pub(crate) fn kinds(frames: &[Arc<Frame>]) -> Vec<String> {
    let kind = |frame: &Arc<Frame>| {
        let event: Value = serde_json::from_slice(&frame.json).unwrap();
        event["type"].as_str().unwrap().to_owned()
    };
    frames.iter().map(kind).collect()
}
