//! Follows the events of all sessions from a cursor, in the order in which they were committed.
//!
//! A follower pulls: it holds a number and no queue, so a slow one costs nothing and reads later.

use omniglot_schema::{Labels, SessionId};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::reads::Reads;
use crate::types::{SessionNo, StoreError};

/// The number of commits that are read at a time.
const PAGE: usize = 256;

/// One change that the log has committed, with its number in the order of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub no: u64,
    pub session: SessionNo,
    pub content: Committed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// The sequences of the events, both included.
    Events {
        first: u64,
        last: u64,
    },
    Removed(Removed),
}

/// A session that was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    pub session_id: SessionId,
    /// Empty in a row that was written before rows had it.
    #[serde(default)]
    pub agent: String,
    pub labels: Labels,
}

/// The first and last number that can be read, and the epoch in which they count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitHead {
    pub epoch: String,
    /// Commits up to and including this one are not kept any more.
    pub floor: u64,
    pub last: u64,
}

/// Yields every commit after its cursor exactly once, in order.
pub struct CommitFeed {
    cursor: u64,
    published: watch::Receiver<bool>,
    reads: Reads,
}

impl CommitFeed {
    pub(crate) fn new(cursor: u64, published: watch::Receiver<bool>, reads: Reads) -> Self {
        Self { cursor, published, reads }
    }

    /// Goes on after a commit that cannot be read.
    pub fn skip(&mut self, no: u64) {
        self.cursor = self.cursor.max(no);
    }

    /// Waits until there are commits and returns them. Cancel-safe: the cursor moves only when they are returned.
    pub async fn next(&mut self) -> Result<Vec<Commit>, StoreError> {
        loop {
            let closed = *self.published.borrow_and_update();
            let after = self.cursor;
            let commits = self.reads.run(move |engine| engine.commits(after, PAGE)).await?;
            let Some(last) = commits.last() else {
                if closed || self.published.changed().await.is_err() {
                    return Err(StoreError::Closed);
                }
                continue;
            };
            if let Some(first) = commits.first().filter(|first| first.no != after + 1) {
                let floor = self.reads.run(|engine| engine.commit_head()).await?.floor;
                let lost = StoreError::DamagedCommit { no: first.no - 1 };
                return Err(if after < floor { StoreError::Pruned { after } } else { lost });
            }
            self.cursor = last.no;
            return Ok(commits);
        }
    }
}
