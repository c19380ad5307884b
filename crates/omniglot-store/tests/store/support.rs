//! Short helpers for the common steps of the log's tests.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use omniglot_schema::{SessionId, UniversalEventType};
use omniglot_store::{
    Batch, CheckProgress, Frame, NewEvent, NewSession, Options, Page, ReadQuery, RecordUpdate, SessionNo,
    SessionRecord, Store, StoredEvent,
};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) fn open(dir: &Path) -> Store {
    open_with(dir, Options::default())
}

#[track_caller]
pub(crate) fn open_with(dir: &Path, options: Options) -> Store {
    Store::open(dir, options).unwrap()
}

pub(crate) fn temporary() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    (dir, store)
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

pub(crate) fn new_session(name: &str) -> NewSession {
    NewSession {
        id: id(name),
        agent: "mock".into(),
        request: r#"{"agent":"mock"}"#.into(),
        labels: Default::default(),
        created_ms: 1_000,
        record: RecordUpdate { fold: "{}".into(), ended: false, open_from: None },
        frames: vec![],
        events: vec![event(name, 1, UniversalEventType::SessionStarted)],
        copied: 0,
        blobs: vec![],
    }
}

/// Creates a session with one event in its log.
pub(crate) async fn create(store: &Store, name: &str) -> SessionRecord {
    store.create(new_session(name)).await.unwrap().unwrap()
}

pub(crate) fn event(name: &str, seq: u64, kind: UniversalEventType) -> NewEvent {
    let json = format!(r#"{{"sequence":{seq},"session_id":"{name}","raw":null}}"#);
    NewEvent { seq, kind, time_us: 2_000_000 + seq as i64, json: Bytes::from(json), frame_no: None }
}

pub(crate) fn deltas(session: &SessionRecord, seqs: impl IntoIterator<Item = u64>) -> Batch {
    let delta = |seq| event(session.id.as_str(), seq, UniversalEventType::ItemDelta);
    Batch { events: seqs.into_iter().map(delta).collect(), ..Batch::new(session.no) }
}

pub(crate) fn frame(no: u64, text: &str) -> Frame {
    Frame { no, bytes: Bytes::copy_from_slice(text.as_bytes()) }
}

/// Returns a frame whose content is derived from its number, of a length that varies.
pub(crate) fn native(no: u64) -> Frame {
    let filler = "delta ".repeat((no % 17) as usize);
    frame(
        no,
        &format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"n":{no},"text":"{filler}"}}}}"#),
    )
}

/// Returns the findings of a check of the log, one line each.
pub(crate) fn faults(dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let summary = omniglot_store::check(dir, &mut |news| {
        if let CheckProgress::Fault(fault) = news {
            lines.push(fault.to_string());
        }
    });
    assert_eq!(summary.unwrap().faults, lines.len() as u64);
    lines
}

/// Opens the database as any other tool does.
pub(crate) fn database(dir: &Path) -> Connection {
    Connection::open(omniglot_store::private(dir).join("omniglot.db")).unwrap()
}

pub(crate) async fn append(store: &Store, batch: Batch) {
    store.append(batch).await.unwrap().unwrap();
}

pub(crate) fn after(after: u64) -> ReadQuery {
    ReadQuery { after, limit: usize::MAX, max_bytes: usize::MAX, types: vec![], until: None }
}

pub(crate) async fn read(store: &Store, session: SessionNo, query: ReadQuery) -> Page {
    store.read(session, query).await.unwrap()
}

pub(crate) fn seqs(events: &[Arc<StoredEvent>]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

/// Asserts that the events are those of `name` after `cursor`, all of them up to `last`.
#[track_caller]
pub(crate) fn assert_suffix(events: &[Arc<StoredEvent>], name: &str, cursor: u64, last: u64) {
    assert_eq!(seqs(events), (cursor + 1..=last).collect::<Vec<_>>(), "after {cursor} of {name}");
    for stored in events {
        assert_eq!(stored.json, event(name, stored.seq, stored.kind).json);
    }
}

/// A small pseudo-random generator that repeats with the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
