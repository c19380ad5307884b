//! The events of all sessions that a caller sees, in the order in which they were committed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use omniglot_schema::{Label, SessionId, UniversalEventType};
use omniglot_store::{
    Commit, CommitFeed, CommitHead, Committed, ReadQuery, SessionNo, StoreError, StoredEvent,
};

use super::Hub;
use crate::error::RuntimeError;

/// The number of sessions whose facts a stream remembers.
const MAX_KNOWN: usize = 10_000;

/// The filter of a stream over all sessions.
#[derive(Debug, Clone, Default)]
pub struct AllEventsFilter {
    /// All types when empty.
    pub types: Vec<UniversalEventType>,
    pub agent: Option<String>,
    /// Only sessions with all of these labels.
    pub labels: Vec<Label>,
}

/// A place in the order of all events: within the commit `no` everything up to the event `partly`, or all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitPosition {
    pub no: u64,
    pub partly: Option<u64>,
}

/// A piece of the stream. Each ends at a place from which a reader may go on.
#[derive(Debug)]
pub enum AllEventsPiece {
    /// Consecutive events of one session; `last` is the last sequence of their commit.
    Events {
        no: u64,
        last: u64,
        events: Vec<Arc<StoredEvent>>,
    },
    Deleted {
        no: u64,
        session_id: SessionId,
    },
    /// An event that cannot be read any more.
    Damaged {
        no: u64,
        session_id: SessionId,
        sequence: u64,
    },
    /// A commit that cannot be read any more: nobody knows of which session its events are.
    Lost {
        no: u64,
    },
    /// Nothing for this reader.
    Nothing {
        no: u64,
    },
}

/// Follows the events of all sessions. Yields each exactly once.
pub struct AllEvents {
    hub: Hub,
    filter: AllEventsFilter,
    commits: CommitFeed,
    waiting: VecDeque<Commit>,
    /// Whether a session is of interest, and its name.
    known: HashMap<SessionNo, Option<SessionId>>,
    /// The number of label changes when `known` was read.
    relabelled: u64,
    /// The last sequence of the first waiting commit that was yielded.
    partly: Option<u64>,
}

impl Hub {
    /// Returns where the order of all events begins and ends.
    pub async fn commit_head(&self) -> Result<CommitHead, RuntimeError> {
        Ok(self.inner.store.commit_head().await?)
    }

    /// Follows the events after this position, those to come included.
    pub fn all_events(&self, after: CommitPosition, filter: AllEventsFilter) -> AllEvents {
        let CommitPosition { no, partly } = after;
        let after = if partly.is_some() { no.saturating_sub(1) } else { no };
        AllEvents {
            hub: self.clone(),
            filter,
            commits: self.inner.store.follow_commits(after),
            waiting: VecDeque::new(),
            known: HashMap::new(),
            relabelled: 0,
            partly,
        }
    }
}

impl AllEvents {
    /// Returns the next piece, of at most `max_bytes` but at least one event. Cancel-safe.
    pub async fn next(&mut self, max_bytes: usize) -> Result<AllEventsPiece, RuntimeError> {
        if self.waiting.is_empty() {
            match self.commits.next().await {
                Err(StoreError::DamagedCommit { no }) => {
                    self.commits.skip(no);
                    return Ok(AllEventsPiece::Lost { no });
                }
                commits => self.waiting = commits?.into(),
            }
        }
        let Some(commit) = self.waiting.front().cloned() else { return Err(RuntimeError::Stopping) };
        let piece = match commit.content {
            Committed::Events { first, last } => {
                let after = self.partly.unwrap_or(first.saturating_sub(1));
                self.events(&commit, after, last, max_bytes).await?
            }
            Committed::Removed(ref removed) => {
                self.known.remove(&commit.session);
                let mut labels = self.filter.labels.iter().chain(self.hub.caller.limit());
                let agent = self.filter.agent.as_ref().is_none_or(|agent| *agent == removed.agent);
                match agent && labels.all(|label| label.is_in(&removed.labels)) {
                    true => AllEventsPiece::Deleted { no: commit.no, session_id: removed.session_id.clone() },
                    false => AllEventsPiece::Nothing { no: commit.no },
                }
            }
        };
        self.partly = match &piece {
            AllEventsPiece::Events { events, last, .. } => {
                events.last().map(|event| event.seq).filter(|seq| seq < last)
            }
            AllEventsPiece::Damaged { sequence, .. } => Some(*sequence),
            AllEventsPiece::Deleted { .. } | AllEventsPiece::Lost { .. } | AllEventsPiece::Nothing { .. } => {
                None
            }
        };
        if self.partly.is_none() {
            self.waiting.pop_front();
        }
        Ok(piece)
    }

    async fn events(
        &mut self,
        commit: &Commit,
        after: u64,
        last: u64,
        max_bytes: usize,
    ) -> Result<AllEventsPiece, RuntimeError> {
        let no = commit.no;
        let nothing = AllEventsPiece::Nothing { no };
        let Some(session_id) = self.session(commit.session).await? else { return Ok(nothing) };
        let limit = usize::try_from(last.saturating_sub(after)).unwrap_or(usize::MAX);
        if limit == 0 {
            return Ok(nothing);
        }
        let query =
            ReadQuery { after, limit, max_bytes, types: self.filter.types.clone(), until: Some(last) };
        match self.hub.inner.store.read(commit.session, query).await {
            Ok(page) if page.events.is_empty() => Ok(nothing),
            Ok(page) => Ok(AllEventsPiece::Events { no, last, events: page.events }),
            Err(StoreError::Damaged { seq, .. }) if seq <= last => {
                Ok(AllEventsPiece::Damaged { no, session_id, sequence: seq })
            }
            Err(StoreError::Damaged { .. } | StoreError::NoSession) => Ok(nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the name of a session that this reader wants and may see.
    async fn session(&mut self, no: SessionNo) -> Result<Option<SessionId>, RuntimeError> {
        let relabelled = self.hub.inner.tokens.label_changes();
        if relabelled != self.relabelled || self.known.len() >= MAX_KNOWN {
            self.known.clear();
            self.relabelled = relabelled;
        }
        if let Some(known) = self.known.get(&no) {
            return Ok(known.clone());
        }
        let record = match self.hub.record_numbered(no).await {
            // The row cannot be read, so nobody knows whether this reader may see the session.
            Err(RuntimeError::Store(StoreError::DamagedSession { .. })) => None,
            record => record?,
        };
        let AllEventsFilter { agent, labels, .. } = &self.filter;
        let wanted = record.filter(|record| {
            agent.as_ref().is_none_or(|agent| *agent == record.agent)
                && labels.iter().all(|label| label.is_in(&record.labels))
        });
        let id = wanted.map(|record| record.id);
        self.known.insert(no, id.clone());
        Ok(id)
    }
}
