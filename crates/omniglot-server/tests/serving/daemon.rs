//! A server over a real log, without agents: the test itself writes an agent's events.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use omniglot_agents::Registry;
use omniglot_client::Client;
use omniglot_runtime::config::Config;
use omniglot_runtime::{Backlog, Deadlines, Hub, HubConfig};
use omniglot_schema::{SessionId, UniversalEventType};
use omniglot_server::{Server, ServerConfig, Token};
use omniglot_store::{Batch, Frame, NewEvent, NewSession, Options, RecordUpdate, SessionRecord, Store};
use omniglot_testkit::validate::validate_event;
use omniglot_timeline::{Identity, Timeline};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a write may take before these daemons count as not ready.
const STALL: Duration = Duration::from_millis(20);

pub(crate) struct Daemon {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) store: Store,
    pub(crate) hub: Hub,
    stop: Option<oneshot::Sender<()>>,
    /// Sessions count as settled once it is dropped.
    settled: oneshot::Sender<()>,
    running: JoinHandle<()>,
    _dir: tempfile::TempDir,
}

impl Daemon {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(adjust: impl FnOnce(&mut ServerConfig)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let hub = Hub::start(HubConfig {
            data_dir: dir.path().to_owned(),
            program: "/bin/false".into(),
            config: Config::default(),
            registry: Registry::default(),
            store: store.clone(),
            deadlines: Deadlines { writer_stall: STALL, ..Deadlines::default() },
            backlog: Backlog::Deliver,
        })
        .await
        .unwrap();
        let mut config = ServerConfig::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        config.token = Some(Token::new("t"));
        config.max_body = 1 << 20;
        adjust(&mut config);
        let server = Server::bind(config, hub.clone()).await.unwrap();
        let url = server.url();
        let (stop, stopped) = oneshot::channel::<()>();
        let (settled, settle) = oneshot::channel::<()>();
        let running = server.run(async move { drop(stopped.await) }, async move { drop(settle.await) });
        let running = tokio::spawn(running);
        let client = Client::new(&url, Some("t".into())).unwrap();
        Self { url, client, store, hub, stop: Some(stop), settled, running, _dir: dir }
    }

    /// Begins the stop; the server waits for sessions to settle until [`Daemon::stop`].
    pub(crate) fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until every connection is closed.
    pub(crate) async fn stop(mut self) {
        self.begin_stop();
        drop(self.settled);
        self.running.await.unwrap();
    }

    /// Creates a session whose log holds `session.started` alone.
    pub(crate) async fn session(&self, id: &SessionId) -> SessionRecord {
        self.session_of("mock", id).await
    }

    pub(crate) async fn session_of(&self, agent: &str, id: &SessionId) -> SessionRecord {
        let identity = Identity { session_id: id.clone(), agent: agent.into() };
        let fold = serde_json::to_string(&Timeline::new(identity, "seed").snapshot()).unwrap();
        let new = NewSession {
            id: id.clone(),
            agent: agent.into(),
            request: format!(r#"{{"agent":"{agent}"}}"#),
            labels: Default::default(),
            created_ms: 1,
            record: RecordUpdate { fold, ended: false, open_from: None },
            frames: vec![],
            events: vec![event(id, 1, UniversalEventType::SessionStarted, "{}", None)],
            copied: 0,
            blobs: vec![],
        };
        self.store.create(new).await.unwrap().unwrap()
    }

    /// Appends a frame that was not understood, as event 2.
    pub(crate) async fn unparsed(&self, record: &SessionRecord) {
        self.unparsed_many(record, 1, "odd").await;
    }

    /// Appends `count` such frames, from event 2 on.
    pub(crate) async fn unparsed_many(&self, record: &SessionRecord, count: u64, error: &str) {
        let mut batch = Batch::new(record.no);
        let data = format!(r#"{{"error":"{error}","location":"stdout","raw_hash":null}}"#);
        for no in 1..=count {
            batch.frames.push(Frame { no, bytes: Bytes::from(format!(r#"{{"frame":{no}}}"#)) });
            batch.events.push(event(&record.id, no + 1, UniversalEventType::AgentUnparsed, &data, Some(no)));
        }
        self.store.append(batch).await.unwrap().unwrap();
    }

    /// Appends deltas `from..=to`, each made from a frame of its own.
    pub(crate) async fn deltas(&self, record: &SessionRecord, from: u64, to: u64) {
        let mut batch = Batch::new(record.no);
        for seq in from..=to {
            // `session.started` had no frame.
            let frame = seq - 1;
            let data = format!(r#"{{"item_id":"itm_1","delta":"{seq}"}}"#);
            batch.frames.push(Frame { no: frame, bytes: Bytes::from(format!(r#"{{"frame":{frame}}}"#)) });
            batch.events.push(event(&record.id, seq, UniversalEventType::ItemDelta, &data, Some(frame)));
        }
        self.store.append(batch).await.unwrap().unwrap();
    }
}

fn event(id: &SessionId, seq: u64, kind: UniversalEventType, data: &str, frame_no: Option<u64>) -> NewEvent {
    let json = format!(
        r#"{{"event_id":"evt_{seq}","sequence":{seq},"time":"2026-01-01T00:00:00Z","session_id":"{id}","native_session_id":null,"source":"agent","synthetic":false,"type":"{}","data":{data},"raw":null}}"#,
        kind.as_str()
    );
    assert_eq!(validate_event(&serde_json::from_str(&json).unwrap()), Ok(()), "{json}");
    NewEvent { seq, kind, time_us: 1, json: json.into(), frame_no }
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}
