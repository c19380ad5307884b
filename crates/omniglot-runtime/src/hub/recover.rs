//! After a restart: close what the dead daemon left open, then deliver what waits, or leave it waiting.

use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use omniglot_agents::Attachment;
use omniglot_schema::{ErrorCode, MessageId, SessionId, StatePatch, UniversalEvent};
use omniglot_store::{ReadQuery, SessionRecord};
use omniglot_timeline::{Draft, Failure, Identity, Restoring, Stamp, Timeline};
use tokio::time::timeout;

use super::{Backlog, Hub, PAGE_BYTES, present};
use crate::agent::attachments;
use crate::error::RuntimeError;
use crate::session::{Authored, Session, SessionCommand, SessionHandle, Step};

/// How long what a dead daemon left open may take to be closed before anything else is done.
const CLOSING: Duration = Duration::from_secs(5);

/// How long a start waits for its recovery.
const AT_ONCE: Duration = Duration::from_secs(2);

/// A message of the queue, with what was attached to it.
type Waiting = (MessageId, Authored, Vec<Attachment>);

impl Hub {
    /// Recovers what can be recovered at once. A long recovery goes on while sessions are served; the daemon is not
    /// ready until its end.
    pub(super) async fn recover_soon(&self, backlog: Backlog) -> Result<(), RuntimeError> {
        self.inner.recovering.store(true, Ordering::SeqCst);
        let hub = self.clone();
        let mut recovery = self.inner.tasks.spawn(async move {
            let recovered = hub.recover(backlog).await;
            hub.inner.recovering.store(false, Ordering::SeqCst);
            recovered
                .inspect_err(|error| tracing::error!(error = error as &dyn std::error::Error, "recovery"))
        });
        match timeout(AT_ONCE, &mut recovery).await {
            Ok(recovered) => recovered.unwrap_or(Err(RuntimeError::Stopping)),
            Err(_) => {
                tracing::warn!(
                    "closing what an earlier daemon has left open takes long; sessions are served meanwhile"
                );
                Ok(())
            }
        }
    }

    /// Reads only sessions with something open; the rest are rows that nobody has to look at.
    async fn recover(&self, backlog: Backlog) -> Result<(), RuntimeError> {
        for SessionRecord { id, .. } in self.inner.store.unfinished().await? {
            let _session_lock = self.inner.session_locks.hold(&id).await;
            // A client may have used or deleted it meanwhile.
            let record = self.inner.store.session(&id).await.ok().flatten();
            let Some(record) = record.filter(|_| !self.is_live(&id)) else { continue };
            if self.check_running().is_err() {
                return Ok(());
            }
            let recovered = match backlog {
                Backlog::Deliver => self.wake_record(&record).await.map(drop),
                Backlog::Keep => self.close_record(&record).await,
            };
            if let Err(error) = recovered {
                // One damaged session must not keep the others from being served.
                tracing::error!(session = %record.id, error = &error as &dyn std::error::Error, "recovery");
            }
        }
        Ok(())
    }

    /// Makes an actor of a row. Called with its lock held.
    pub(super) async fn wake_record(&self, record: &SessionRecord) -> Result<SessionHandle, RuntimeError> {
        let queue = self.queued(record).await?;
        self.live_on(record, queue, Failure::daemon_restarted()).await
    }

    /// Ends the turn of a session whose log has refused what was said in it, and lets the session go on.
    pub(super) async fn close_refused(&self, id: &SessionId, why: &str) {
        let _session_lock = self.inner.session_locks.hold(id).await;
        if self.is_live(id) || self.check_open().is_err() {
            return;
        }
        let message = format!("the log did not take what was said in this turn: {why}");
        let failure = Failure::new(ErrorCode::Unknown, message);
        let closed = async {
            let record = self.record(id).await?;
            let queue = self.queued(&record).await?;
            self.live_on(&record, queue, failure).await
        };
        if let Err(error) = closed.await {
            tracing::error!(session = %id, error = &error as &dyn std::error::Error, "closing a refused turn");
        }
    }

    /// Closes what is open and leaves a row again, with the messages that wait in it.
    async fn close_record(&self, record: &SessionRecord) -> Result<(), RuntimeError> {
        if record.open_from.is_some() {
            let handle = self.live_on(record, vec![], Failure::daemon_restarted()).await?;
            // A message must not find an actor that knows nothing of those before it. A log that takes nothing
            // takes no message either, and must not keep anybody from making room.
            let closed = async {
                drop(handle.ask(SessionCommand::Shutdown).await);
                handle.retired().await;
            };
            drop(timeout(CLOSING, closed).await);
        }
        Ok(())
    }

    async fn live_on(
        &self,
        record: &SessionRecord,
        queue: Vec<Waiting>,
        failure: Failure,
    ) -> Result<SessionHandle, RuntimeError> {
        let request = present::request(record)?;
        let timeline = self.restored(record).await?;
        let spec = self.spec(record, &request);
        let (mut session, handle) =
            Session::new(spec, self.inner.store.clone(), timeline, Step::new(record.last_frame));
        if record.open_from.is_some() {
            tracing::info!(session = %record.id, "closed what was left open");
            session.recover(failure);
        }
        Ok(self.run(session.with_queue(queue), handle, record.id.clone()))
    }

    async fn restored(&self, record: &SessionRecord) -> Result<Timeline, RuntimeError> {
        let identity = Identity { session_id: record.id.clone(), agent: record.agent.clone() };
        let mut restoring = Timeline::restoring(identity, present::snapshot(record)?);
        if let Some(from) = record.open_from {
            self.read_open(record, from, &mut restoring).await?;
        }
        Ok(restoring.done())
    }

    /// Page by page: a turn may be longer than what fits into memory.
    async fn read_open(
        &self,
        record: &SessionRecord,
        from: u64,
        restoring: &mut Restoring,
    ) -> Result<(), RuntimeError> {
        let mut after = from.saturating_sub(1);
        loop {
            let query = ReadQuery { after, limit: 10_000, max_bytes: PAGE_BYTES, types: vec![], until: None };
            let page = self.inner.store.read(record.no, query).await?;
            for stored in &page.events {
                after = stored.seq;
                let event: UniversalEvent =
                    serde_json::from_slice(&stored.json).map_err(|_| damaged(record, stored.seq))?;
                restoring.read(&event);
            }
            if !page.has_more {
                return Ok(());
            }
        }
    }

    async fn queued(&self, record: &SessionRecord) -> Result<Vec<Waiting>, RuntimeError> {
        let rows = self.inner.store.queue(record.no).await?;
        let mut queue = vec![];
        for row in rows {
            let message: Authored =
                serde_json::from_str(&row.body).map_err(|_| damaged(record, record.last_seq))?;
            let files = attachments::load(message.request.attachments.clone(), self.private()).await;
            queue.push((row.message_id, message, files));
        }
        Ok(queue)
    }
}

impl Session {
    /// Closes the turn that was left open and says that no process is connected.
    fn recover(&mut self, failure: Failure) {
        self.recover_timeline(|timeline, out| {
            let stamp = Stamp::daemon(Timestamp::now());
            timeline.recover(failure, stamp, out);
            let patch = StatePatch { connection: Some(None), ..StatePatch::default() };
            timeline.apply(Draft::State(Box::new(patch)), stamp, out);
        });
    }
}

fn damaged(record: &SessionRecord, seq: u64) -> RuntimeError {
    omniglot_store::StoreError::Damaged { session: record.id.to_string(), seq }.into()
}
