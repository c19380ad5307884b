//! The interface between the log and its storage: everything that a storage engine must do.
//!
//! An engine stores and reads; the writer does grouping, retries and durability, the feeds serve subscribers.
//! All functions block.

use std::collections::HashMap;

use omniglot_schema::{AuditCall, AuditEntry, Labels, SessionId};

use crate::commits::{Commit, CommitHead};
use crate::feed::Known;
use crate::metrics::Census;
use crate::pack::Pack;
use crate::retention::{EndedSession, PackFacts};
use crate::types::{
    AuditQuery, Batch, Blob, ConfigKey, Found, HookRow, ListFilter, NewSession, Page, QueuedRow, ReadQuery,
    Receipt, SearchQuery, SessionNo, SessionRecord, StoreError, StoredFrame, StoredHookRow, TokenRecord,
};
use crate::words::Words;

/// One write. `frames` of the batch or session inside are empty: they are in the pack.
#[derive(Debug)]
pub(crate) enum Change {
    Append {
        batch: Box<Batch>,
        pack: Option<Pack>,
        words: Vec<Words>,
    },
    Create(Box<Creation>),
    Delete(SessionNo),
    /// Drops the oldest frames of a session, up to and including `to`.
    Trim {
        session: SessionNo,
        to: u64,
    },
    /// Replaces the labels of a session.
    Label {
        session: SessionNo,
        labels: Labels,
    },
    /// Adds a token, or replaces the one of the same id.
    Token(Box<TokenRecord>),
    /// Configures something for a directory; without a value it is removed.
    Config {
        key: ConfigKey,
        value: Option<String>,
    },
    Audit(Box<AuditCall>),
    /// Rows of hooks, all of them or none.
    Hooks(Vec<HookRow>),
}

/// A new session and the data that the store adds to it.
#[derive(Debug)]
pub(crate) struct Creation {
    pub(crate) new: NewSession,
    pub(crate) packs: Vec<Pack>,
    /// Those of copied events are left to the session that they were copied from.
    pub(crate) words: Vec<Words>,
    pub(crate) uuid: String,
    pub(crate) epoch: String,
    /// The session of the same id that the new session replaces.
    pub(crate) replaces: Option<SessionNo>,
}

/// The result of a change.
#[derive(Debug)]
pub(crate) enum Done {
    Appended,
    Created(Box<SessionRecord>),
    /// The row before its deletion; `None` when it was damaged.
    Deleted(Option<Box<SessionRecord>>),
    Trimmed,
    Written,
    Limited,
    Closed,
}

/// Whether a long operation needs another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Finished,
}

/// The result of each change of a committed group: a change that is refused alone leaves no trace.
pub(crate) type Outcomes = Vec<Result<Done, StoreError>>;

pub(crate) trait Engine: Send + Sync + 'static {
    /// Writes all changes as one transaction that survives the death of this process.
    ///
    /// An error means that nothing was written and that the same call may be repeated; a change that is at
    /// fault itself fails alone, inside the outcomes.
    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Outcomes, StoreError>;

    /// Returns once everything that was committed survives the loss of power.
    fn sync(&self) -> Result<(), StoreError>;

    fn set_limit(&self, max_bytes: Option<u64>) -> Result<(), StoreError>;

    /// Explains an error of `commit` or `sync` to a person, with the remedy.
    fn explain(&self, error: &StoreError) -> String;

    /// Does a small piece of packing the frames of a session's ended turns more tightly.
    ///
    /// Readers see the old rows or the new one, with the same frames; so does a start after a crash.
    fn repack(&self, session: SessionNo) -> Result<Progress, StoreError>;

    /// Returns the deleted sessions that still have rows.
    fn pending_deletes(&self) -> Result<Vec<SessionNo>, StoreError>;

    /// Does a small piece of removing the remaining rows of a deleted session.
    fn clear(&self, session: SessionNo) -> Result<Progress, StoreError>;

    /// Returns the sessions whose older events cannot be searched yet.
    fn unindexed(&self) -> Result<Vec<SessionNo>, StoreError>;

    /// Does a small piece of making the older events of a session searchable.
    fn index(&self, session: SessionNo) -> Result<Progress, StoreError>;

    /// Records durably that everything was written; the last call before `close`.
    fn mark_clean(&self) -> Result<(), StoreError>;

    /// Closes the files; later calls return [`StoreError::Closed`].
    fn close(&self);

    /// Returns every session and its last sequence.
    fn heads(&self) -> Result<Vec<Known>, StoreError>;

    /// Returns the events that have the words, newest first.
    fn search(&self, query: &SearchQuery) -> Result<Vec<Found>, StoreError>;

    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError>;
    fn session_numbered(&self, no: SessionNo) -> Result<Option<SessionRecord>, StoreError>;
    fn list(&self, filter: &ListFilter) -> Result<Vec<SessionRecord>, StoreError>;
    fn census(&self) -> Result<Census, StoreError>;
    fn unfinished(&self) -> Result<Vec<SessionRecord>, StoreError>;
    fn read(&self, session: SessionNo, query: &ReadQuery) -> Result<Page, StoreError>;
    fn frames(&self, session: SessionNo, numbers: &[u64]) -> Result<HashMap<u64, StoredFrame>, StoreError>;
    fn blob(&self, session: SessionNo, name: &str) -> Result<Option<Blob>, StoreError>;
    fn queue(&self, session: SessionNo) -> Result<Vec<QueuedRow>, StoreError>;
    fn receipt(&self, session: SessionNo, key: &str, now_ms: i64) -> Result<Option<Receipt>, StoreError>;

    /// Returns all named tokens, oldest first.
    fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError>;
    /// Returns the names and values that are configured for a directory, by name.
    fn directory_config(&self, directory: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError>;
    /// Returns the rows of this kind that hooks have kept, by hook and name.
    fn hook_rows(&self, kind: &str) -> Result<Vec<StoredHookRow>, StoreError>;
    fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StoreError>;

    /// Returns where the numbers of all commits begin and end.
    fn commit_head(&self) -> Result<CommitHead, StoreError>;
    /// Returns the commits after `after`, oldest first.
    fn commits(&self, after: u64, limit: usize) -> Result<Vec<Commit>, StoreError>;

    /// Calls `visit` with every pack of the session, oldest first.
    fn packs(&self, session: SessionNo, visit: &mut dyn FnMut(PackFacts)) -> Result<(), StoreError>;
    /// Returns the sessions that have ended and have no queued message, the longest unchanged first.
    fn ended(&self) -> Result<Vec<EndedSession>, StoreError>;
    /// Estimates how many bytes a session takes.
    fn measure(&self, session: SessionNo, last_seq: u64) -> Result<u64, StoreError>;
}

impl Change {
    /// Estimates how many bytes the change adds to a transaction.
    pub(crate) fn weight(&self) -> usize {
        const ROW: usize = 64;
        let events = |events: &[crate::NewEvent]| events.iter().map(|e| e.json.len() + ROW).sum::<usize>();
        let blobs = |blobs: &[Blob]| blobs.iter().map(|blob| blob.bytes.len() + ROW).sum::<usize>();
        let words = |words: &[Words]| words.iter().map(|words| words.text.len()).sum::<usize>();
        let pack = |pack: &Option<Pack>| pack.as_ref().map_or(0, |p| p.data.len());
        match self {
            Self::Append { batch, pack: frames, words: new } => {
                let fold = batch.record.as_ref().map_or(0, |r| r.fold.len());
                events(&batch.events) + blobs(&batch.blobs) + pack(frames) + words(new) + fold + ROW
            }
            Self::Create(c) => {
                let packs: usize = c.packs.iter().map(|pack| pack.data.len()).sum();
                let texts = packs + words(&c.words) + c.new.request.len();
                events(&c.new.events) + blobs(&c.new.blobs) + texts + ROW
            }
            Self::Config { value, .. } => value.as_ref().map_or(0, String::len) + ROW,
            Self::Hooks(rows) => {
                rows.iter().map(|row| row.value.as_ref().map_or(0, String::len) + ROW).sum::<usize>() + ROW
            }
            Self::Delete(_) | Self::Trim { .. } | Self::Label { .. } | Self::Token(_) | Self::Audit(_) => ROW,
        }
    }

    /// Returns the number of events in it.
    pub(crate) fn events(&self) -> usize {
        match self {
            Self::Append { batch, .. } => batch.events.len(),
            Self::Create(creation) => creation.new.events.len(),
            _ => 0,
        }
    }

    /// Whether the answer promises that a loss of power does not undo the change.
    pub(crate) fn needs_sync(&self) -> bool {
        match self {
            Self::Append { batch, .. } => batch.durability == crate::Durability::Power,
            Self::Create(_) | Self::Delete(_) | Self::Label { .. } | Self::Token(_) | Self::Config { .. } => {
                true
            }
            // A hook that has forgotten its last steps repeats them.
            Self::Trim { .. } | Self::Audit(_) | Self::Hooks(_) => false,
        }
    }

    /// The session whose log this change extends.
    pub(crate) fn appends_to(&self) -> Option<SessionNo> {
        if let Self::Append { batch, .. } = self { Some(batch.session) } else { None }
    }

    /// The session that this change removes.
    pub(crate) fn removes(&self) -> Option<SessionNo> {
        match self {
            Self::Delete(session) => Some(*session),
            Self::Create(creation) => creation.replaces,
            Self::Append { .. }
            | Self::Trim { .. }
            | Self::Label { .. }
            | Self::Token(_)
            | Self::Config { .. }
            | Self::Audit(_)
            | Self::Hooks(_) => None,
        }
    }

    /// Whether the change adds to the index of words.
    pub(crate) fn has_words(&self) -> bool {
        match self {
            Self::Append { words, .. } => !words.is_empty(),
            Self::Create(creation) => !creation.words.is_empty(),
            _ => false,
        }
    }

    /// Whether the change frees space in a full log.
    pub(crate) fn makes_room(&self) -> bool {
        matches!(self, Self::Delete(_) | Self::Trim { .. })
    }
}
