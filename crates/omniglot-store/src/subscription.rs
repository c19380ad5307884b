//! Follows one session's log from a cursor.
//!
//! A subscriber pulls: it holds a cursor and no queue, so a slow subscriber costs nothing and reads later.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use crate::feed::{Feed, Head, Life};
use crate::reads::Reads;
use crate::types::{ReadQuery, SessionNo, StoreError, StoredEvent};

/// Yields every event after its cursor exactly once, in order.
pub struct Subscription {
    session: SessionNo,
    cursor: u64,
    feed: Arc<Feed>,
    head: watch::Receiver<Head>,
    reads: Reads,
    /// Held to be counted.
    _counted: Arc<()>,
}

#[derive(Debug, Clone)]
pub enum Next {
    /// At least one.
    Events(Vec<Arc<StoredEvent>>),
    /// The session is gone; no further events follow.
    Deleted,
}

impl Subscription {
    pub(crate) fn new(
        session: SessionNo,
        cursor: u64,
        feed: Arc<Feed>,
        reads: Reads,
        counted: Arc<()>,
    ) -> Self {
        Self { session, cursor, head: feed.head(), feed, reads, _counted: counted }
    }

    /// The last sequence that was yielded.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Whether every committed event was yielded.
    pub fn caught_up(&self) -> bool {
        self.cursor >= self.head.borrow().committed
    }

    /// Returns the next events: at least one, and as many as fit in `max_bytes`.
    ///
    /// Cancel-safe: the cursor moves only when events are returned. After [`StoreError::Damaged`] the cursor
    /// is before the damaged event; subscribe again after that event to continue.
    pub async fn next(&mut self, max_bytes: usize) -> Result<Next, StoreError> {
        loop {
            let Head { committed, life } = *self.head.borrow_and_update();
            if life == Life::Deleted {
                return Ok(Next::Deleted);
            }
            #[cfg(feature = "simulation")]
            crate::simulation::point();
            if self.cursor < committed {
                let events = match self.feed.recent(self.cursor, max_bytes) {
                    Some(events) => events,
                    None => match self.read(committed, max_bytes).await {
                        // The deletion is committed and about to be published.
                        Err(StoreError::NoSession) => return Ok(Next::Deleted),
                        read => read?,
                    },
                };
                if let Some(last) = events.last() {
                    self.cursor = last.seq;
                    return Ok(Next::Events(events));
                }
            }
            if life == Life::Closed || self.head.changed().await.is_err() {
                return Err(StoreError::Closed);
            }
        }
    }

    async fn read(&self, committed: u64, max_bytes: usize) -> Result<Vec<Arc<StoredEvent>>, StoreError> {
        if let Some(event) = self.feed.held(self.cursor + 1) {
            return Ok(vec![event]);
        }
        let (session, after) = (self.session, self.cursor);
        // What is committed but not published may not survive a loss of power.
        let until = Some(committed);
        let query = ReadQuery { after, limit: usize::MAX, max_bytes, types: vec![], until };
        let page = self.reads.run(move |engine| engine.read(session, &query)).await?;
        Ok(self.feed.share(page.events))
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("session", &self.session).field("cursor", &self.cursor).finish()
    }
}
