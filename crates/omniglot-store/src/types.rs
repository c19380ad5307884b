//! The types that are written to the log and read from it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use omniglot_schema::{Label, Labels, MessageId, SessionId, TokenInfo, UniversalEventType};

use crate::lock::LockHolder;

/// The number of a session's row, stable for the session's lifetime; never exposed to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionNo(pub i64);

/// One committed event.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    pub seq: u64,
    pub kind: UniversalEventType,
    /// The JSON that is served; its last member is `"raw":null`.
    pub json: Bytes,
    pub frame_no: Option<u64>,
}

/// Everything that one step of a session changes, committed as a whole.
#[derive(Debug, Clone)]
pub struct Batch {
    pub session: SessionNo,
    pub frames: Vec<Frame>,
    pub events: Vec<NewEvent>,
    /// The blobs that these events name.
    pub blobs: Vec<Blob>,
    /// The session's row, when more than its last sequence changed.
    pub record: Option<RecordUpdate>,
    pub queue: Vec<QueueOp>,
    pub receipt: Option<Receipt>,
    pub durability: Durability,
}

impl Batch {
    pub fn new(session: SessionNo) -> Self {
        Self {
            session,
            frames: vec![],
            events: vec![],
            blobs: vec![],
            record: None,
            queue: vec![],
            receipt: None,
            durability: Durability::Crash,
        }
    }
}

/// The failure that a commit survives before it is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The death of the daemon. Flushed to disk at most 200 ms later.
    Crash,
    /// The loss of power.
    Power,
}

/// One native message, as it was read or sent. Numbers are dense within a session, from 1.
#[derive(Debug, Clone)]
pub struct Frame {
    pub no: u64,
    pub bytes: Bytes,
}

/// A native message as the log stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredFrame {
    Kept(Bytes),
    /// Retention has dropped the message; the events that were made of it stay.
    Dropped,
}

impl PartialEq<Bytes> for StoredFrame {
    fn eq(&self, other: &Bytes) -> bool {
        matches!(self, Self::Kept(bytes) if bytes == other)
    }
}

/// Bytes that belong to a session and that its events name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Derived from the content: two blobs of one name are the same.
    pub name: String,
    pub mime: String,
    pub bytes: Bytes,
}

#[derive(Debug, Clone)]
pub struct NewEvent {
    pub seq: u64,
    pub kind: UniversalEventType,
    /// Microseconds since 1970.
    pub time_us: i64,
    /// As in [`StoredEvent::json`].
    pub json: Bytes,
    pub frame_no: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct RecordUpdate {
    /// The fold of all events so far, as JSON; opaque to the store.
    pub fold: String,
    pub ended: bool,
    /// The sequence from which a restart must read to close open items; `None` when nothing is open.
    pub open_from: Option<u64>,
}

#[derive(Debug, Clone)]
pub enum QueueOp {
    /// `body` is the message request as JSON.
    Push {
        message_id: MessageId,
        body: String,
    },
    Remove {
        message_id: MessageId,
    },
}

/// The first answer to a request with an idempotency key, kept for 24 hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub key: String,
    /// sha256 of the request's body, in hex.
    pub body_hash: String,
    /// The answer, opaque to the store.
    pub answer: String,
}

#[derive(Debug, Clone)]
pub struct NewSession {
    pub id: SessionId,
    pub agent: String,
    /// The create request as JSON, secrets included; only this row has them.
    pub request: String,
    pub labels: Labels,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    pub record: RecordUpdate,
    pub frames: Vec<Frame>,
    /// Begins with `session.started`, sequence 1.
    pub events: Vec<NewEvent>,
    /// The number of events behind the first that are copies of another session's: they happened there.
    pub copied: u64,
    /// The blobs that these events name.
    pub blobs: Vec<Blob>,
}

impl NewSession {
    /// Returns the first and last sequences of the events that happened in this session.
    pub(crate) fn told(&self) -> impl Iterator<Item = (u64, u64)> {
        let last = self.events.last().map_or(0, |event| event.seq);
        let ranges = match self.copied {
            0 => [(1, last), (1, 0)],
            copied => [(1, 1), (copied + 2, last)],
        };
        ranges.into_iter().filter(|(first, last)| first <= last)
    }
}

/// A session as its row describes it.
#[derive(Debug, Clone)]
pub struct SessionRecord {
    pub no: SessionNo,
    pub id: SessionId,
    /// Random; a cursor of another epoch is refused.
    pub epoch: String,
    pub agent: String,
    pub request: String,
    pub labels: Labels,
    pub created_ms: i64,
    pub updated_ms: i64,
    pub fold: String,
    pub ended: bool,
    pub open_from: Option<u64>,
    pub last_seq: u64,
    pub last_frame: u64,
}

#[derive(Debug, Clone)]
pub struct QueuedRow {
    pub message_id: MessageId,
    pub body: String,
}

/// The filter of a list of sessions, newest first.
#[derive(Debug, Clone, Default)]
pub struct ListFilter {
    pub agent: Option<String>,
    pub ended: Option<bool>,
    /// Only sessions with all of these labels.
    pub labels: Vec<Label>,
    /// Only sessions created before this one.
    pub after: Option<SessionId>,
    pub limit: Option<usize>,
}

/// The filter of a search for words, newest first.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    /// Words as [`crate::search_terms`] makes them; all must be in an event, the last may go on there.
    pub terms: Vec<String>,
    /// Only events before this one.
    pub before: Option<Found>,
    pub limit: usize,
}

/// An event that has the words of a search. Its session may have been deleted meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub session: SessionNo,
    pub seq: u64,
}

/// A named token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    pub info: TokenInfo,
    /// sha256 of the secret, in hex.
    pub hash: String,
}

/// The filter of a read of the audit, oldest first.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// The number of the last entry already seen.
    pub after: u64,
    /// Only entries since this time, in milliseconds since 1970.
    pub since_ms: i64,
    pub limit: usize,
}

/// The place of something that is configured for a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigKey {
    pub directory: String,
    pub kind: &'static str,
    pub name: String,
}

/// A row that a hook keeps; without a value it is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRow {
    pub kind: &'static str,
    pub hook: String,
    pub name: String,
    pub value: Option<String>,
}

/// A row that a hook has kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHookRow {
    pub hook: String,
    pub name: String,
    pub value: String,
}

/// The filter of a read of events.
#[derive(Debug, Clone)]
pub struct ReadQuery {
    /// The last sequence already seen.
    pub after: u64,
    pub limit: usize,
    /// The page ends once it holds this many bytes; it holds at least one event if there is one.
    pub max_bytes: usize,
    /// All types when empty.
    pub types: Vec<UniversalEventType>,
    /// The last sequence that is read; all when `None`.
    pub until: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct Page {
    pub events: Vec<Arc<StoredEvent>>,
    /// Whether at least one more matching event is committed.
    pub has_more: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}", in_use(dir, holder.as_ref()))]
    Locked { dir: PathBuf, holder: Option<LockHolder> },
    #[error("another program has the database {} open; end it, then start again", .0.display())]
    DatabaseOpen(PathBuf),
    /// An older directory cannot be moved: these files have both their old and their new place.
    #[error(
        "{} of {} exist once more below its folders private and shared; remove the ones that do not count",
        names.join(", "), dir.display()
    )]
    Duplicate { dir: PathBuf, names: Vec<&'static str> },
    #[error("the database is of version {found}, this program knows up to {known}; use a newer omniglot")]
    TooNew { found: i64, known: i64 },
    #[error("event {seq} of session {session} is damaged")]
    Damaged { session: String, seq: u64 },
    #[error("frame {no} is damaged")]
    DamagedFrame { no: u64 },
    #[error("the row of session {session} is damaged")]
    DamagedSession { session: String },
    #[error("the queued message {message_id} is damaged")]
    DamagedMessage { message_id: String },
    #[error("the receipt of the idempotency key {key} is damaged")]
    DamagedReceipt { key: String },
    #[error("the blob {name} is damaged")]
    DamagedBlob { name: String },
    #[error("the entry {no} of the order of all events is damaged")]
    DamagedCommit { no: u64 },
    /// The commits after this number are not kept any more.
    #[error("the commits after {after} are not kept any more")]
    Pruned { after: u64 },
    #[error("a session of that name exists")]
    Exists,
    #[error("no such session")]
    NoSession,
    /// Sequences and frame numbers are dense; a batch that would leave a gap is refused.
    #[error("{what} {found} where {expected} is next")]
    OutOfOrder { what: &'static str, expected: u64, found: u64 },
    #[error("the log is closed")]
    Closed,
    #[error("database")]
    Database(#[from] rusqlite::Error),
    #[error("migration")]
    Migration(#[from] rusqlite_migration::Error),
    /// The database cannot be opened.
    #[error("the database {}", path.display())]
    Unusable {
        path: PathBuf,
        #[source]
        cause: rusqlite::Error,
    },
    #[error("data directory")]
    Io(#[from] io::Error),
    /// As [`StoreError::Io`], where one file or directory is at fault.
    #[error("{}", path.display())]
    File {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl StoreError {
    /// Names the file that an IO error is about.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |cause| Self::File { path: path.to_owned(), cause }
    }
}

fn in_use(dir: &Path, holder: Option<&LockHolder>) -> String {
    let dir = dir.display();
    match holder {
        Some(LockHolder { pid, url, .. }) => format!(
            "the data directory {dir} is in use by the daemon with pid {pid} at {url}; \
             use it, stop it, or choose another --data-dir"
        ),
        None => format!(
            "the data directory {dir} is in use by a daemon that is just starting or ending; \
             try again, or choose another --data-dir"
        ),
    }
}
