//! Follows the turn of a posted message: yields its events as they are committed, and says how the wait ended.
//!
//! ```text
//!            turn.started of the message             turn.ended, session.ended
//!   Waiting ─────────────────────────────► Running ───────────────────────────► Over(Ended)
//!      │                                      ▲
//!      │ left the queue without a turn        └── a steered message begins here
//!      ▼
//!   Over(Dropped)
//! ```
//!
//! Turns do not overlap (T4), so the first `turn.ended` after the begin of a turn is its own.

use std::sync::Arc;

use omniglot_schema::{Delivered, EventData, MessageId, SessionState, UniversalEvent, UniversalEventType};
use omniglot_store::{Next, SessionRecord, StoreError, StoredEvent, Subscription};

use super::{Hub, present};
use crate::error::RuntimeError;
use crate::session::Posted;

/// The most bytes of events that [`FollowedTurn::end`] reads at once.
const BATCH: usize = 64 << 10;

/// The end of the wait for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    Ended,
    /// The message was removed from the queue: no turn will answer it.
    Dropped,
    /// The session was deleted.
    Deleted,
}

/// One step of a [`FollowedTurn`].
#[derive(Debug, Clone)]
pub enum Followed {
    /// Events of the turn, at least one.
    Events(Vec<Arc<StoredEvent>>),
    Over(TurnOutcome),
}

/// Reads the log from a posted message to the end of its turn.
pub struct FollowedTurn {
    hub: Hub,
    record: SessionRecord,
    log: Subscription,
    wait: Wait,
}

impl Hub {
    /// Follows the turn that answers `posted`.
    pub fn follow_turn(&self, record: &SessionRecord, posted: &Posted) -> FollowedTurn {
        let (record, log) = (record.clone(), self.subscribe(record, posted.after));
        FollowedTurn { hub: self.clone(), record, log, wait: Wait::new(posted) }
    }
}

impl FollowedTurn {
    /// Returns events of the turn as they are committed, of at most `max_bytes` together, then its outcome.
    ///
    /// Cancel-safe: everything that was read is either returned or kept in the state of the wait.
    pub async fn next(&mut self, max_bytes: usize) -> Result<Followed, RuntimeError> {
        loop {
            if self.wait.needs_queue() {
                // By number: another session may have the id of a deleted one.
                match self.hub.record_numbered(self.record.no).await? {
                    Some(row) => self.wait.queue(&present::snapshot(&row)?.fold.state, row.last_seq),
                    None => self.wait.state = State::Over(TurnOutcome::Deleted),
                }
            }
            if let State::Over(outcome) = self.wait.state {
                return Ok(Followed::Over(outcome));
            }
            match self.log.next(max_bytes).await {
                Ok(Next::Events(mut events)) => {
                    let damaged = |seq| StoreError::Damaged { session: self.record.id.to_string(), seq };
                    self.wait.events(&mut events).map_err(damaged)?;
                    if !events.is_empty() {
                        return Ok(Followed::Events(events));
                    }
                }
                Ok(Next::Deleted) => self.wait.state = State::Over(TurnOutcome::Deleted),
                Err(StoreError::Closed) => return Err(RuntimeError::Stopping),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the outcome alone.
    pub async fn end(mut self) -> Result<TurnOutcome, RuntimeError> {
        loop {
            if let Followed::Over(outcome) = self.next(BATCH).await? {
                return Ok(outcome);
            }
        }
    }

    /// The last sequence that belongs to the wait: events after the end of the turn do not.
    pub fn position(&self) -> u64 {
        self.wait.position
    }

    /// Whether every committed event was read.
    pub fn caught_up(&self) -> bool {
        self.log.caught_up()
    }
}

/// The state machine of a [`FollowedTurn`].
#[derive(Debug)]
struct Wait {
    message: MessageId,
    state: State,
    /// The message may have left the queue since the session's row was read.
    queue_changed: bool,
    position: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Over(TurnOutcome),
}

impl Wait {
    fn new(posted: &Posted) -> Self {
        let state = match posted.delivered {
            Delivered::Steered => State::Running,
            Delivered::Started | Delivered::Queued => State::Waiting,
        };
        Self { message: posted.message_id.clone(), state, queue_changed: false, position: posted.after }
    }

    /// Keeps the events of the turn. Fails with the sequence of an event that decides and cannot be read.
    fn events(&mut self, events: &mut Vec<Arc<StoredEvent>>) -> Result<(), u64> {
        let mut failed = None;
        events.retain(|event| {
            failed.is_none() && self.event(event).unwrap_or_else(|seq| failed.replace(seq).is_some())
        });
        failed.map_or(Ok(()), Err)
    }

    /// Returns whether the event belongs to the turn.
    fn event(&mut self, event: &StoredEvent) -> Result<bool, u64> {
        use UniversalEventType::{SessionEnded, SessionUpdated, TurnEnded, TurnStarted};
        if matches!(self.state, State::Over(_)) {
            return Ok(false);
        }
        self.position = event.seq;
        match (self.state, event.kind) {
            (State::Waiting, TurnStarted) if self.is_answered_by(event)? => self.state = State::Running,
            (State::Waiting, SessionUpdated | SessionEnded) => self.queue_changed = true,
            (State::Running, TurnEnded | SessionEnded) => {
                self.state = State::Over(TurnOutcome::Ended);
                return Ok(true);
            }
            _ => {}
        }
        Ok(self.state == State::Running)
    }

    fn is_answered_by(&self, event: &StoredEvent) -> Result<bool, u64> {
        let read = serde_json::from_slice(&event.json);
        let read: UniversalEvent = read.map_err(|error| {
            tracing::error!(seq = event.seq, %error, "a stored turn event cannot be read");
            event.seq
        })?;
        let EventData::TurnStarted(turn) = read.data else { return Ok(false) };
        Ok(turn.metadata.message_id.as_ref() == Some(&self.message))
    }

    fn needs_queue(&self) -> bool {
        self.queue_changed && self.state == State::Waiting
    }

    /// Compares with a state that was folded up to `as_of`. The message leaves the queue in the transaction of
    /// its `turn.started`, so once the log is read up to a state without the message, a turn for it would have
    /// been seen. Until then the queue is read again with each further event.
    fn queue(&mut self, state: &SessionState, as_of: u64) {
        // A list that is too long to be inline is read again when it has become shorter.
        let waits = state.queue.as_ref().is_some_and(|queue| {
            queue.inline().is_none_or(|queue| queue.iter().any(|queued| queued.message_id == self.message))
        });
        self.queue_changed = !waits;
        if !waits && as_of <= self.position {
            self.state = State::Over(TurnOutcome::Dropped);
        }
    }
}

#[cfg(test)]
mod tests {
    use omniglot_agents::Registry;
    use omniglot_schema::{SessionId, UniversalEventType as Type};
    use omniglot_store::{Batch, NewEvent, NewSession, Options, RecordUpdate, Store};
    use omniglot_timeline::Snapshot;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::Config;
    use crate::deadlines::Deadlines;
    use crate::hub::{Backlog, HubConfig};

    fn wait(delivered: Delivered) -> Wait {
        Wait::new(&Posted { after: 3, ..posted(delivered) })
    }

    fn event(seq: u64, kind: Type, data: &Value) -> Arc<StoredEvent> {
        let json = json!({ "event_id": "evt_1", "sequence": seq, "time": "2026-11-16T00:00:00Z",
            "session_id": "s", "source": "daemon", "synthetic": true, "type": kind, "data": data });
        Arc::new(StoredEvent { seq, kind, json: json.to_string().into(), frame_no: None })
    }

    fn started(seq: u64, message: &str) -> Arc<StoredEvent> {
        let metadata = json!({ "origin": "user", "message_id": message });
        let data = json!({ "phase": "started", "turn_id": "turn_1", "metadata": metadata });
        event(seq, Type::TurnStarted, &data)
    }

    fn plain(seq: u64, kind: Type) -> Arc<StoredEvent> {
        event(seq, kind, &json!({}))
    }

    /// Returns the sequences of the events that belong to the turn.
    fn kept(wait: &mut Wait, mut events: Vec<Arc<StoredEvent>>) -> Vec<u64> {
        wait.events(&mut events).unwrap();
        events.iter().map(|event| event.seq).collect()
    }

    fn queue(messages: &[&str]) -> SessionState {
        let queue: Vec<_> = messages.iter().map(|id| json!({ "message_id": id, "message": "hi" })).collect();
        serde_json::from_value(json!({ "queue": queue })).unwrap()
    }

    #[test]
    fn a_turn_is_followed_from_its_begin_to_its_end() {
        let mut wait = wait(Delivered::Queued);
        let log = vec![
            plain(4, Type::ItemDelta),
            plain(5, Type::TurnEnded),
            started(6, "msg_a"),
            plain(7, Type::TurnEnded),
            started(8, "msg_b"),
            plain(9, Type::SessionUpdated),
            plain(10, Type::ItemDelta),
            plain(11, Type::TurnEnded),
            plain(12, Type::ItemDelta),
        ];
        assert_eq!(kept(&mut wait, log), [8, 9, 10, 11]);
        assert_eq!((wait.state, wait.position), (State::Over(TurnOutcome::Ended), 11));
    }

    #[test]
    fn a_queued_message_that_is_removed_is_dropped() {
        let mut wait = wait(Delivered::Queued);
        assert!(!wait.needs_queue());
        kept(&mut wait, vec![plain(4, Type::SessionUpdated)]);
        assert!(wait.needs_queue());
        wait.queue(&queue(&["msg_a", "msg_b"]), 4);
        assert!(!wait.needs_queue() && wait.state == State::Waiting, "it still waits");
        kept(&mut wait, vec![plain(5, Type::SessionUpdated)]);
        wait.queue(&queue(&["msg_a"]), 5);
        assert_eq!(wait.state, State::Over(TurnOutcome::Dropped));
    }

    #[test]
    fn a_queued_message_is_dropped_by_an_abort_also_when_the_row_is_ahead_of_the_log() {
        let mut wait = wait(Delivered::Queued);
        kept(&mut wait, vec![plain(4, Type::SessionUpdated)]);
        wait.queue(&queue(&[]), 6);
        assert!(wait.needs_queue() && wait.state == State::Waiting, "its turn may be in what is not read");
        kept(&mut wait, vec![plain(5, Type::ItemDelta), plain(6, Type::TurnEnded)]);
        assert!(wait.needs_queue(), "the end of another turn changes no queue, but the look is still due");
        wait.queue(&queue(&[]), 6);
        assert_eq!(wait.state, State::Over(TurnOutcome::Dropped));
    }

    #[test]
    fn a_message_whose_turn_began_is_not_looked_for_in_the_queue() {
        let mut wait = wait(Delivered::Started);
        kept(&mut wait, vec![plain(4, Type::SessionUpdated), started(5, "msg_b")]);
        assert!(!wait.needs_queue());
    }

    #[test]
    fn a_steered_message_ends_with_the_turn_that_runs() {
        let mut wait = wait(Delivered::Steered);
        let log = vec![plain(4, Type::ItemDelta), plain(5, Type::TurnEnded), plain(6, Type::ItemDelta)];
        assert_eq!(kept(&mut wait, log), [4, 5]);
        assert_eq!(wait.state, State::Over(TurnOutcome::Ended));
    }

    #[test]
    fn the_end_of_the_session_ends_a_turn_and_drops_a_message_that_does_not_wait_any_more() {
        let mut running = wait(Delivered::Steered);
        assert_eq!(kept(&mut running, vec![plain(4, Type::SessionEnded)]), [4]);
        assert_eq!(running.state, State::Over(TurnOutcome::Ended));
        // A message that waits survives a crash: it starts the session again.
        let mut waiting = wait(Delivered::Queued);
        kept(&mut waiting, vec![plain(4, Type::SessionEnded)]);
        waiting.queue(&queue(&["msg_b"]), 4);
        assert_eq!(waiting.state, State::Waiting);
        kept(&mut waiting, vec![plain(5, Type::SessionEnded)]);
        waiting.queue(&queue(&[]), 5);
        assert_eq!(waiting.state, State::Over(TurnOutcome::Dropped));
    }

    #[test]
    fn an_unreadable_begin_of_a_turn_fails_the_wait_instead_of_leaving_it_forever() {
        let broken = event(4, Type::TurnStarted, &json!("?"));
        assert_eq!(wait(Delivered::Queued).events(&mut vec![broken.clone()]), Err(4));
        assert_eq!(kept(&mut wait(Delivered::Steered), vec![broken]), [4], "it decides nothing here");
    }

    /// A log of `session.started` alone, over a hub without agents.
    async fn log(folder: &std::path::Path) -> (Hub, Store, SessionRecord) {
        let store = Store::open(folder, Options::default()).unwrap();
        let hub = Hub::start(HubConfig {
            data_dir: folder.to_owned(),
            program: "/bin/false".into(),
            config: Config::default(),
            registry: Registry::default(),
            store: store.clone(),
            deadlines: Deadlines::default(),
            backlog: Backlog::Keep,
        });
        let row = serde_json::to_string(&Snapshot::default()).unwrap();
        let new = NewSession {
            id: SessionId::parse("s").unwrap(),
            events: vec![stored(1, Type::SessionStarted)],
            agent: "mock".into(),
            request: json!({ "agent": "mock" }).to_string(),
            labels: Default::default(),
            created_ms: 1,
            record: RecordUpdate { fold: row, ended: false, open_from: None },
            frames: vec![],
            copied: 0,
            blobs: vec![],
        };
        let hub = hub.await.unwrap();
        let record = store.create(new).await.unwrap().unwrap();
        (hub, store, record)
    }

    fn stored(seq: u64, kind: Type) -> NewEvent {
        NewEvent { seq, kind, time_us: 0, json: "{}".into(), frame_no: None }
    }

    async fn append(store: &Store, record: &SessionRecord, seq: u64, kind: Type) {
        let mut batch = Batch::new(record.no);
        batch.events.push(stored(seq, kind));
        store.append(batch).await.unwrap().unwrap();
    }

    fn posted(delivered: Delivered) -> Posted {
        Posted { message_id: MessageId("msg_b".into()), delivered, after: 1 }
    }

    #[tokio::test]
    async fn the_deletion_of_the_session_ends_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (hub, _, record) = log(folder.path()).await;
        let waiting = tokio::spawn(hub.follow_turn(&record, &posted(Delivered::Queued)).end());
        let steered = tokio::spawn(hub.follow_turn(&record, &posted(Delivered::Steered)).end());
        hub.delete(&record.id).await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap(), TurnOutcome::Deleted);
        assert_eq!(steered.await.unwrap().unwrap(), TurnOutcome::Deleted);
    }

    #[tokio::test]
    async fn a_message_that_the_row_does_not_queue_any_more_ends_the_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (hub, store, record) = log(folder.path()).await;
        let waiting = tokio::spawn(hub.follow_turn(&record, &posted(Delivered::Queued)).end());
        append(&store, &record, 2, Type::SessionUpdated).await;
        assert_eq!(waiting.await.unwrap().unwrap(), TurnOutcome::Dropped);
    }

    #[tokio::test]
    async fn a_damaged_turn_is_told_as_damage() {
        let folder = tempfile::tempdir().unwrap();
        let (hub, store, record) = log(folder.path()).await;
        append(&store, &record, 2, Type::TurnStarted).await;
        let ended = hub.follow_turn(&record, &posted(Delivered::Queued)).end().await;
        assert!(matches!(ended, Err(RuntimeError::Store(StoreError::Damaged { seq: 2, .. }))), "{ended:?}");
    }
}
