//! Tests the writer against an engine that only records calls, and fails or waits on request.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use omniglot_schema::SessionId;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::*;
use crate::commits::{Commit, CommitHead};
use crate::engine::Progress;
use crate::feed::Known;
use crate::pack::Pack;
use crate::retention::{EndedSession, PackFacts};
use crate::types::*;

/// The calls that the writer made to the engine, and the engine's configured behaviour.
#[derive(Default)]
struct Notes {
    calls: Mutex<Vec<String>>,
    disk_full: AtomicBool,
    /// Calls wait until the test releases each; without a gate they do not wait.
    gate: Mutex<Option<Gate>>,
}

struct Gate {
    arrived: tokio::sync::mpsc::UnboundedSender<()>,
    go: Receiver<()>,
}

impl Notes {
    fn call(&self, what: String) {
        self.calls.lock().unwrap().push(what);
        if let Some(gate) = &*self.gate.lock().unwrap() {
            gate.arrived.send(()).unwrap();
            // A test that ends opens the gate.
            let _ = gate.go.recv();
        }
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

fn describe(change: &Change) -> String {
    match change {
        Change::Append { batch, .. } => format!("append {}", batch.session.0),
        Change::Create(_) => "create".into(),
        Change::Delete(session) => format!("delete {}", session.0),
        Change::Trim { session, to } => format!("trim {} to {to}", session.0),
        Change::Label { session, .. } => format!("label {}", session.0),
        Change::Token(_) => "token".into(),
        Change::Config { .. } => "config".into(),
        Change::Hooks(_) => "hooks".into(),
        Change::Audit(_) => "audit".into(),
    }
}

impl Engine for Notes {
    fn commit(&self, changes: &[Change], _: i64) -> Result<Outcomes, StoreError> {
        let described: Vec<_> = changes.iter().map(describe).collect();
        let full = self.disk_full.load(Ordering::SeqCst) && described.iter().any(|d| d.starts_with("append"));
        self.call(format!("commit [{}]{}", described.join(", "), if full { " fails" } else { "" }));
        if full {
            return Err(std::io::Error::other("full").into());
        }
        Ok(changes.iter().map(|_| Ok(Done::Appended)).collect())
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.call("sync".into());
        Ok(())
    }

    fn set_limit(&self, _: Option<u64>) -> Result<(), StoreError> {
        self.disk_full.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn explain(&self, error: &StoreError) -> String {
        format!("{error}: buy a disk")
    }

    fn repack(&self, session: SessionNo) -> Result<Progress, StoreError> {
        self.call(format!("repack {}", session.0));
        Ok(Progress::Finished)
    }

    fn pending_deletes(&self) -> Result<Vec<SessionNo>, StoreError> {
        Ok(vec![])
    }

    fn clear(&self, session: SessionNo) -> Result<Progress, StoreError> {
        self.call(format!("clear {}", session.0));
        Ok(Progress::Finished)
    }

    fn unindexed(&self) -> Result<Vec<SessionNo>, StoreError> {
        Ok(vec![])
    }

    fn index(&self, _: SessionNo) -> Result<Progress, StoreError> {
        Ok(Progress::Finished)
    }

    fn search(&self, _: &SearchQuery) -> Result<Vec<Found>, StoreError> {
        Err(StoreError::Closed)
    }

    fn mark_clean(&self) -> Result<(), StoreError> {
        self.call("mark clean".into());
        Ok(())
    }

    fn close(&self) {}

    fn heads(&self) -> Result<Vec<Known>, StoreError> {
        Err(StoreError::Closed)
    }
    fn session_numbered(&self, _: SessionNo) -> Result<Option<SessionRecord>, StoreError> {
        Err(StoreError::Closed)
    }
    fn session(&self, _: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        Err(StoreError::Closed)
    }
    fn list(&self, _: &ListFilter) -> Result<Vec<SessionRecord>, StoreError> {
        Err(StoreError::Closed)
    }
    fn census(&self) -> Result<crate::metrics::Census, StoreError> {
        Err(StoreError::Closed)
    }
    fn unfinished(&self) -> Result<Vec<SessionRecord>, StoreError> {
        Err(StoreError::Closed)
    }
    fn read(&self, _: SessionNo, _: &ReadQuery) -> Result<Page, StoreError> {
        Err(StoreError::Closed)
    }
    fn frames(&self, _: SessionNo, _: &[u64]) -> Result<HashMap<u64, StoredFrame>, StoreError> {
        Err(StoreError::Closed)
    }
    fn blob(&self, _: SessionNo, _: &str) -> Result<Option<Blob>, StoreError> {
        Err(StoreError::Closed)
    }
    fn commit_head(&self) -> Result<CommitHead, StoreError> {
        Err(StoreError::Closed)
    }
    fn commits(&self, _: u64, _: usize) -> Result<Vec<Commit>, StoreError> {
        Err(StoreError::Closed)
    }
    fn queue(&self, _: SessionNo) -> Result<Vec<QueuedRow>, StoreError> {
        Err(StoreError::Closed)
    }
    fn receipt(&self, _: SessionNo, _: &str, _: i64) -> Result<Option<Receipt>, StoreError> {
        Err(StoreError::Closed)
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        Ok(vec![])
    }

    fn directory_config(&self, _: &str, _: &str) -> Result<Vec<(String, String)>, StoreError> {
        Ok(vec![])
    }

    fn hook_rows(&self, _: &str) -> Result<Vec<crate::types::StoredHookRow>, StoreError> {
        Ok(vec![])
    }

    fn audit(&self, _: &AuditQuery) -> Result<Vec<omniglot_schema::AuditEntry>, StoreError> {
        Ok(vec![])
    }

    fn packs(&self, _: SessionNo, _: &mut dyn FnMut(PackFacts)) -> Result<(), StoreError> {
        Err(StoreError::Closed)
    }

    fn ended(&self) -> Result<Vec<EndedSession>, StoreError> {
        Err(StoreError::Closed)
    }

    fn measure(&self, _: SessionNo, _: u64) -> Result<u64, StoreError> {
        Err(StoreError::Closed)
    }
}

/// A writer, its engine, and the test's side of the gate.
struct Harness {
    notes: Arc<Notes>,
    fault: Arc<Fault>,
    clock: Arc<StepClock>,
    feeds: Arc<Feeds>,
    arrived: tokio::sync::mpsc::UnboundedReceiver<()>,
    go: Option<Sender<()>>,
    writer: Writer,
}

impl Harness {
    fn new() -> Self {
        let (notes, fault) = (Arc::new(Notes::default()), Arc::new(Fault::default()));
        let (arrived_sender, arrived) = tokio::sync::mpsc::unbounded_channel();
        let (go, go_receiver) = mpsc::channel();
        *notes.gate.lock().unwrap() = Some(Gate { arrived: arrived_sender, go: go_receiver });
        let feeds = Arc::new(Feeds::new(0, vec![]));
        let engine: Arc<dyn Engine> = Arc::clone(&notes) as _;
        let clock = Arc::new(StepClock::default());
        let writer =
            Writer::start(engine, Arc::clone(&feeds), fault.clone(), clock.clone(), Arc::default()).unwrap();
        Self { notes, fault, clock, feeds, arrived, go: Some(go), writer }
    }

    fn append(&self, session: i64, durability: Durability) -> oneshot::Receiver<Result<(), StoreError>> {
        self.send(Batch { durability, ..Batch::new(SessionNo(session)) })
    }

    fn end_turn(&self, session: i64) -> oneshot::Receiver<Result<(), StoreError>> {
        let kind = omniglot_schema::UniversalEventType::TurnEnded;
        let event = NewEvent { seq: 1, kind, time_us: 0, json: Bytes::new(), frame_no: None };
        self.send(Batch { events: vec![event], ..Batch::new(SessionNo(session)) })
    }

    fn delta(
        &self,
        session: i64,
        seq: u64,
        durability: Durability,
    ) -> oneshot::Receiver<Result<(), StoreError>> {
        let kind = omniglot_schema::UniversalEventType::ItemDelta;
        let event = NewEvent { seq, kind, time_us: 0, json: Bytes::new(), frame_no: None };
        self.send(Batch { events: vec![event], durability, ..Batch::new(SessionNo(session)) })
    }

    fn send(&self, batch: Batch) -> oneshot::Receiver<Result<(), StoreError>> {
        self.send_with(batch, None)
    }

    fn send_with(&self, batch: Batch, pack: Option<Pack>) -> oneshot::Receiver<Result<(), StoreError>> {
        let (answer, receiver) = Answer::unit();
        self.writer.send(Op::Change(Change::Append { batch: Box::new(batch), pack, words: vec![] }, answer));
        receiver
    }

    fn delete(&self, session: i64) -> oneshot::Receiver<Result<(), StoreError>> {
        let (answer, receiver) = Answer::unit();
        self.writer.send(Op::Change(Change::Delete(SessionNo(session)), answer));
        receiver
    }

    /// Waits until the writer calls the engine; the call returns with [`Harness::let_go`].
    async fn arrival(&mut self) {
        self.arrived.recv().await.unwrap();
    }

    fn let_go(&self) {
        self.go.as_ref().unwrap().send(()).unwrap();
    }

    /// No call waits any more.
    fn open_gate(&mut self) {
        self.go = None;
    }
}

#[tokio::test]
async fn what_waits_during_a_commit_becomes_one_commit() {
    let mut harness = Harness::new();
    let first = harness.append(1, Durability::Crash);
    harness.arrival().await;
    let rest = [2, 3, 4].map(|session| harness.append(session, Durability::Crash));
    harness.open_gate();
    first.await.unwrap().unwrap();
    for answer in rest {
        answer.await.unwrap().unwrap();
    }
    let calls: Vec<_> = harness.notes.calls().into_iter().filter(|call| call != "sync").collect();
    assert_eq!(calls, ["commit [append 1]", "commit [append 2, append 3, append 4]"]);
}

#[tokio::test]
async fn a_crash_safe_append_does_not_wait_for_the_flush_and_a_power_safe_one_does() {
    let mut harness = Harness::new();
    let _first = harness.append(1, Durability::Crash);
    harness.arrival().await;
    let mut power = harness.append(2, Durability::Power);
    let crash = harness.append(3, Durability::Crash);
    harness.let_go();
    harness.arrival().await;
    harness.let_go();
    harness.arrival().await; // The flush; it hangs until it is released.
    crash.await.unwrap().unwrap();
    assert_eq!(power.try_recv().unwrap_err(), TryRecvError::Empty);
    harness.open_gate();
    power.await.unwrap().unwrap();
    assert_eq!(harness.notes.calls(), ["commit [append 1]", "commit [append 2, append 3]", "sync"]);
}

#[tokio::test]
async fn a_power_safe_event_is_seen_after_its_flush_and_what_follows_it_not_before() {
    let mut harness = Harness::new();
    let first = harness.append(1, Durability::Crash);
    harness.arrival().await;
    let ended = harness.delta(2, 1, Durability::Power);
    let after = harness.delta(2, 2, Durability::Crash);
    let other = harness.delta(3, 1, Durability::Crash);
    harness.let_go();
    harness.arrival().await;
    harness.let_go();
    harness.arrival().await; // The flush; it hangs until it is released.
    first.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    assert_eq!(harness.feeds.committed(SessionNo(3)), Some(1), "nobody else waits for the flush");
    assert_eq!(harness.feeds.committed(SessionNo(2)), None);
    harness.open_gate();
    ended.await.unwrap().unwrap();
    after.await.unwrap().unwrap();
    assert_eq!(harness.feeds.committed(SessionNo(2)), Some(2));
}

#[tokio::test]
async fn a_crash_safe_append_is_flushed_soon_without_being_asked() {
    let mut harness = Harness::new();
    let answer = harness.append(1, Durability::Crash);
    harness.arrival().await;
    harness.let_go();
    answer.await.unwrap().unwrap();
    harness.arrival().await;
    assert_eq!(harness.notes.calls(), ["commit [append 1]", "sync"]);
    harness.open_gate();
}

#[tokio::test]
async fn an_ended_turn_is_packed_again_when_nothing_else_waits() {
    let mut harness = Harness::new();
    let ended = [harness.end_turn(1)];
    harness.arrival().await;
    let others = [harness.append(2, Durability::Crash), harness.end_turn(1), harness.end_turn(3)];
    harness.open_gate();
    for answer in ended.into_iter().chain(others) {
        answer.await.unwrap().unwrap();
    }
    let (answer, closed) = Answer::unit();
    harness.writer.send(Op::Close(answer));
    closed.await.unwrap().unwrap();
    let calls: Vec<_> = harness.notes.calls().into_iter().filter(|call| call != "sync").collect();
    let groups = ["commit [append 1]", "commit [append 2, append 1, append 3]"];
    assert_eq!(calls[..2], groups);
    assert_eq!(calls[2..], ["repack 1", "repack 1", "repack 3", "mark clean"]);
}

#[tokio::test]
async fn a_turn_that_says_much_is_packed_before_it_ends() {
    let mut harness = Harness::new();
    harness.open_gate();
    let said = |first| Some(Pack { first, count: 1, data: vec![0; 1 << 20] });
    for (session, first) in [(1, 1), (2, 1), (1, 2)] {
        harness.send_with(Batch::new(SessionNo(session)), said(first)).await.unwrap().unwrap();
    }
    let (answer, closed) = Answer::unit();
    harness.writer.send(Op::Close(answer));
    closed.await.unwrap().unwrap();
    let packed: Vec<_> =
        harness.notes.calls().into_iter().filter(|call| call.starts_with("repack")).collect();
    assert_eq!(packed, ["repack 1"]);
}

#[tokio::test]
async fn a_deletion_does_not_wait_behind_a_full_disk() {
    let mut harness = Harness::new();
    harness.notes.disk_full.store(true, Ordering::SeqCst);
    let mut fault = harness.fault.watch();
    harness.open_gate();
    let mut append = harness.append(1, Durability::Crash);
    fault.wait_for(Option::is_some).await.unwrap();
    harness.delete(2).await.unwrap().unwrap();
    assert_eq!(append.try_recv().unwrap_err(), TryRecvError::Empty);
    assert!(harness.notes.calls().contains(&"commit [delete 2]".to_owned()));
}

#[tokio::test]
async fn appends_wait_out_a_full_disk_in_order() {
    let mut harness = Harness::new();
    harness.notes.disk_full.store(true, Ordering::SeqCst);
    let mut fault = harness.fault.watch();
    harness.open_gate();
    let first = harness.append(1, Durability::Crash);
    let said = fault.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    assert_eq!(said, "data directory: buy a disk");
    let second = harness.append(2, Durability::Crash);
    let (answer, limit) = Answer::unit();
    harness.writer.send(Op::Limit(None, answer));
    limit.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    let calls: Vec<_> =
        harness.notes.calls().into_iter().filter(|c| c != "sync" && !c.contains("fails")).collect();
    assert_eq!(calls, ["commit [append 1]", "commit [append 2]"]);
    assert_eq!(harness.fault.get(), None);
}

#[tokio::test]
async fn an_order_that_was_sent_before_the_trouble_still_ends_it() {
    let mut harness = Harness::new();
    let first = harness.append(1, Durability::Crash);
    harness.arrival().await;
    harness.notes.disk_full.store(true, Ordering::SeqCst);
    let second = harness.append(2, Durability::Crash);
    let (answer, limit) = Answer::unit();
    harness.writer.send(Op::Limit(None, answer));
    harness.open_gate();
    limit.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    assert!(harness.notes.calls().contains(&"commit [append 2] fails".to_owned()));
}

#[tokio::test]
async fn closing_during_trouble_tells_everyone_and_is_not_clean() {
    let mut harness = Harness::new();
    harness.notes.disk_full.store(true, Ordering::SeqCst);
    let mut fault = harness.fault.watch();
    harness.open_gate();
    let first = harness.append(1, Durability::Crash);
    fault.wait_for(Option::is_some).await.unwrap();
    let second = harness.append(2, Durability::Power);
    let (answer, closed) = Answer::unit();
    harness.writer.send(Op::Close(answer));
    assert!(closed.await.unwrap().unwrap_err().to_string().contains("data directory"));
    for answer in [first, second] {
        assert!(matches!(answer.await.unwrap(), Err(StoreError::Closed)));
    }
    assert!(!harness.notes.calls().contains(&"mark clean".to_owned()));
    assert!(matches!(harness.append(3, Durability::Crash).await.unwrap(), Err(StoreError::Closed)));
}

/// Waits until the writer is at work for at least a moment, or is not.
async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// D7: a flush that does not return is no error, so nothing but the time tells of it.
#[tokio::test]
async fn a_hanging_flush_shows_by_the_age_of_the_step() {
    let mut harness = Harness::new();
    assert_eq!(harness.clock.age(), Duration::ZERO);
    let append = harness.append(1, Durability::Power);
    harness.arrival().await;
    harness.let_go();
    harness.arrival().await; // The flush; it hangs until it is released.
    until(|| harness.clock.age() > Duration::from_millis(20)).await;
    assert_eq!(harness.fault.get(), None);
    harness.open_gate();
    append.await.unwrap().unwrap();
    until(|| harness.clock.age() == Duration::ZERO).await;
}

#[tokio::test]
async fn a_writer_that_tries_again_gets_on() {
    let mut harness = Harness::new();
    harness.notes.disk_full.store(true, Ordering::SeqCst);
    let mut fault = harness.fault.watch();
    harness.open_gate();
    let _append = harness.append(1, Durability::Crash);
    fault.wait_for(Option::is_some).await.unwrap();
    let (answer, written) = Answer::unit();
    harness.writer.send(Op::Barrier(answer));
    written.await.unwrap().unwrap();
    until(|| harness.clock.age() == Duration::ZERO).await;
}
