//! The public interface of the log: opens a data directory, passes work to the writer and the readers. The
//! engine decides how the log is stored, the writer when it is written.

mod retention;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use omniglot_schema::{AuditCall, AuditEntry, Labels, SessionId};
use tokio::sync::{oneshot, watch};

use crate::changes::Changes;
use crate::commits::{CommitFeed, CommitHead};
use crate::data_dir;
use crate::engine::{Change, Creation, Engine};
use crate::feed::Feeds;
use crate::lock::{Lock, LockHolder};
use crate::metrics::{Census, StoreMetrics};
use crate::pack::Pack;
use crate::reads::Reads;
use crate::sqlite::Sqlite;
use crate::subscription::Subscription;
use crate::types::{
    AuditQuery, Batch, Blob, ConfigKey, Found, HookRow, ListFilter, NewSession, Page, QueuedRow, ReadQuery,
    Receipt, SearchQuery, SessionNo, SessionRecord, StoreError, StoredFrame, StoredHookRow, TokenRecord,
};
use crate::words;
use crate::writer::{Answer, Fault, Op, StepClock, Writer, now_ms};

#[derive(Debug, Clone)]
pub struct Options {
    /// Appends wait, and [`Store::fault`] gives the reason, while the database would grow beyond this.
    pub max_database_bytes: Option<u64>,
    /// The bytes of a session's newest events that its subscribers share in memory.
    pub ring_bytes: usize,
    /// Identifies one boot of the machine; `None` when unknown.
    pub boot_id: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let boot_id = boot_id.map(|id| id.trim().to_owned()).ok();
        Self { max_database_bytes: None, ring_bytes: 1 << 20, boot_id }
    }
}

/// Receives the result once a change is committed.
type Receiver<T> = oneshot::Receiver<Result<T, StoreError>>;

/// The event log of one data directory. Cheap to clone.
///
/// Dropping the last clone writes everything that was appended and waits for it; only [`Store::close`] marks
/// the end as clean.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

/// Fields are dropped in this order: the lock is held until the writer has ended.
struct Inner {
    writer: Writer,
    lock: Mutex<Option<Lock>>,
    feeds: Arc<Feeds>,
    fault: Arc<Fault>,
    clock: Arc<StepClock>,
    metrics: Arc<StoreMetrics>,
    reads: Reads,
}

impl Store {
    /// Opens or creates the log in `dir`. Blocks: for migrations, and once per start to read all heads.
    pub fn open(dir: &Path, options: Options) -> Result<Self, StoreError> {
        data_dir::make(dir)?;
        let lock = Lock::take(dir)?;
        data_dir::migrate(dir)?;
        let private = data_dir::private(dir);
        let sqlite = Sqlite::open(&private, options.boot_id.as_deref(), options.max_database_bytes)?;
        Self::over(Arc::new(sqlite), options.ring_bytes, Some(lock))
    }

    /// Begins to write and serve what an engine keeps.
    pub(crate) fn over(
        engine: Arc<dyn Engine>,
        ring_bytes: usize,
        lock: Option<Lock>,
    ) -> Result<Self, StoreError> {
        let feeds = Arc::new(Feeds::new(ring_bytes, engine.heads()?));
        let fault = Arc::new(Fault::default());
        let clock = Arc::new(StepClock::default());
        let metrics = Arc::new(StoreMetrics::default());
        let (told, timed) = (fault.clone(), clock.clone());
        let writer = Writer::start(Arc::clone(&engine), feeds.clone(), told, timed, metrics.clone())?;
        let (lock, reads) = (Mutex::new(lock), Reads::new(engine));
        Ok(Self { inner: Arc::new(Inner { writer, lock, feeds, fault, clock, metrics, reads }) })
    }

    /// Publishes the owner of the data directory and its address to other processes.
    pub fn announce(&self, holder: &LockHolder) -> Result<(), StoreError> {
        let lock = self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = lock.as_ref().ok_or(StoreError::Closed)?;
        lock.announce(holder)
    }

    /// Writes everything appended so far, marks the end as clean and releases the data directory.
    pub async fn close(&self) -> Result<(), StoreError> {
        let (answer, closed) = Answer::unit();
        self.inner.writer.send(Op::Close(answer));
        let result = closed.await.map_err(|_| StoreError::Closed)?;
        drop(self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        result
    }

    /// Returns why nothing can be written at the moment, with the remedy.
    pub fn fault(&self) -> Option<String> {
        self.inner.fault.get()
    }

    /// Returns for how long the writer has been at one piece of work; zero while there is none. It is long where the
    /// disk does not answer, which is no fault.
    pub fn step_age(&self) -> Duration {
        self.inner.clock.age()
    }

    pub fn metrics(&self) -> &StoreMetrics {
        &self.inner.metrics
    }

    /// Counts what is kept.
    pub async fn census(&self) -> Result<Census, StoreError> {
        self.inner.reads.run(|engine| engine.census()).await
    }

    /// Resolves when everything appended so far is committed, or cannot be at the moment; never while the disk does
    /// not answer.
    pub async fn written(&self) -> Result<(), StoreError> {
        let (answer, written) = Answer::unit();
        self.inner.writer.send(Op::Barrier(answer));
        written.await.map_err(|_| StoreError::Closed)?
    }

    /// Keeps the writer from writing until the sender is dropped, as a disk does that does not answer; for tests.
    #[doc(hidden)]
    pub fn hold_writer(&self) -> mpsc::Sender<()> {
        let (hold, released) = mpsc::channel();
        self.inner.writer.send(Op::Hold(released));
        hold
    }

    /// Watches [`Store::fault`].
    pub fn watch_fault(&self) -> watch::Receiver<Option<String>> {
        self.inner.fault.watch()
    }

    /// Changes [`Options::max_database_bytes`]; appends that wait for room are retried at once.
    pub fn set_max_database_bytes(&self, max: Option<u64>) -> Receiver<()> {
        let (answer, set) = Answer::unit();
        self.inner.writer.send(Op::Limit(max, answer));
        set
    }

    /// Commits a batch; batches are committed in the order of these calls. Never blocks.
    ///
    /// The answer arrives once the batch is as durable as it requests. It need not be awaited.
    pub fn append(&self, mut batch: Batch) -> Receiver<()> {
        let (answer, committed) = Answer::unit();
        match Pack::new(&std::mem::take(&mut batch.frames)) {
            Ok(pack) => {
                let words = words::of_events(&batch.events);
                let change = Change::Append { batch: Box::new(batch), pack, words };
                self.inner.writer.send(Op::Change(change, answer));
            }
            Err(error) => answer.send(Err(error)),
        }
        committed
    }

    /// Creates a session with a fresh epoch; the answer arrives once the session survives a loss of power.
    pub fn create(&self, new: NewSession) -> Receiver<SessionRecord> {
        self.insert(new, None)
    }

    /// Creates a session that replaces one of the same id; the old one is deleted in the same transaction.
    pub fn replace(&self, old: SessionNo, new: NewSession) -> Receiver<SessionRecord> {
        self.insert(new, Some(old))
    }

    fn insert(&self, mut new: NewSession, replaces: Option<SessionNo>) -> Receiver<SessionRecord> {
        let (answer, created) = Answer::record();
        let frames = std::mem::take(&mut new.frames);
        match Pack::several(&frames).and_then(|packs| Ok((packs, epoch()?))) {
            Ok((packs, epoch)) => {
                let uuid = uuid::Uuid::now_v7().to_string();
                let own = new
                    .events
                    .iter()
                    .filter(|event| new.told().any(|(first, last)| (first..=last).contains(&event.seq)));
                let words = words::of_events(own);
                let change = Change::Create(Box::new(Creation { new, packs, words, uuid, epoch, replaces }));
                self.inner.writer.send(Op::Change(change, answer));
            }
            Err(error) => answer.send(Err(error)),
        }
        created
    }

    /// Deletes a session and everything that belongs to it; its id may be used again. Its rows are removed in
    /// small pieces, when nothing else is to be written.
    pub fn delete(&self, session: SessionNo) -> Receiver<()> {
        self.change(Change::Delete(session))
    }

    /// Replaces the labels of a session; the answer arrives once they survive a loss of power.
    pub fn label(&self, session: SessionNo, labels: Labels) -> Receiver<()> {
        self.change(Change::Label { session, labels })
    }

    /// Adds a token, or replaces the one of the same id; the answer arrives once it survives a loss of power.
    pub fn put_token(&self, token: TokenRecord) -> Receiver<()> {
        self.change(Change::Token(Box::new(token)))
    }

    /// Configures something for a directory, or removes it; the answer arrives once that survives a loss of power.
    pub fn configure_directory(&self, key: ConfigKey, value: Option<String>) -> Receiver<()> {
        self.change(Change::Config { key, value })
    }

    /// Keeps rows of hooks, all of them or none; the answer arrives once they survive the death of this process.
    pub fn keep_hook_rows(&self, rows: Vec<HookRow>) -> Receiver<()> {
        self.change(Change::Hooks(rows))
    }

    /// Adds an entry to the audit, with the present time. Never blocks, and need not be awaited.
    pub fn record_call(&self, call: AuditCall) -> Receiver<()> {
        self.change(Change::Audit(Box::new(call)))
    }

    fn change(&self, change: Change) -> Receiver<()> {
        let (answer, changed) = Answer::unit();
        self.inner.writer.send(Op::Change(change, answer));
        changed
    }

    /// Returns the number of sessions.
    pub fn count(&self) -> usize {
        self.inner.feeds.count()
    }

    /// Returns the last committed sequence; `None` when there is no such session.
    pub fn committed(&self, session: SessionNo) -> Option<u64> {
        self.inner.feeds.committed(session)
    }

    /// Whether the session was deleted: its rows may still exist, but no reader shall see them.
    fn is_gone(&self, session: SessionNo) -> bool {
        self.committed(session).is_none()
    }

    /// Follows all sessions: reports which of them change from now on.
    pub fn follow(&self) -> Changes {
        self.inner.feeds.follow()
    }

    /// Follows a session from the event after `after`.
    pub fn subscribe(&self, session: SessionNo, after: u64) -> Subscription {
        let counted = self.inner.metrics.subscribed.clone();
        Subscription::new(session, after, self.inner.feeds.join(session), self.inner.reads.clone(), counted)
    }

    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let id = id.clone();
        self.inner.reads.run(move |engine| engine.session(&id)).await
    }

    /// Returns the session with this number. Numbers are never reused, so a deleted one finds nothing.
    pub async fn session_numbered(&self, no: SessionNo) -> Result<Option<SessionRecord>, StoreError> {
        self.inner.reads.run(move |engine| engine.session_numbered(no)).await
    }

    /// Lists sessions, newest first. [`StoreError::NoSession`] when the session to begin after is gone.
    pub async fn list(&self, filter: ListFilter) -> Result<Vec<SessionRecord>, StoreError> {
        self.inner.reads.run(move |engine| engine.list(&filter)).await
    }

    /// Returns where the numbers of all commits begin and end, and their epoch.
    pub async fn commit_head(&self) -> Result<CommitHead, StoreError> {
        self.inner.reads.run(|engine| engine.commit_head()).await
    }

    /// Follows the commits of all sessions after this number, those to come included.
    pub fn follow_commits(&self, after: u64) -> CommitFeed {
        CommitFeed::new(after, self.inner.feeds.commits(), self.inner.reads.clone())
    }

    /// Returns the sessions that have something open or a queued message.
    pub async fn unfinished(&self) -> Result<Vec<SessionRecord>, StoreError> {
        self.inner.reads.run(|engine| engine.unfinished()).await
    }

    /// Reads a page of events. It ends before a damaged event; if that is the first, it is the error.
    pub async fn read(&self, session: SessionNo, query: ReadQuery) -> Result<Page, StoreError> {
        self.inner.reads.run(move |engine| engine.read(session, &query)).await
    }

    /// Reads the native frames of these numbers; frames that were never stored are absent.
    pub async fn frames(
        &self,
        session: SessionNo,
        numbers: &[u64],
    ) -> Result<HashMap<u64, StoredFrame>, StoreError> {
        if self.is_gone(session) {
            return Ok(HashMap::new());
        }
        let numbers = numbers.to_vec();
        self.inner.reads.run(move |engine| engine.frames(session, &numbers)).await
    }

    /// Reads the blob of this name; `None` when the session has no such blob.
    pub async fn blob(&self, session: SessionNo, name: &str) -> Result<Option<Blob>, StoreError> {
        if self.is_gone(session) {
            return Ok(None);
        }
        let name = name.to_owned();
        self.inner.reads.run(move |engine| engine.blob(session, &name)).await
    }

    /// Returns the events that have the words, newest first.
    pub async fn search(&self, query: SearchQuery) -> Result<Vec<Found>, StoreError> {
        self.inner.reads.run(move |engine| engine.search(&query)).await
    }

    /// Returns the queued messages, in order.
    pub async fn queue(&self, session: SessionNo) -> Result<Vec<QueuedRow>, StoreError> {
        self.inner.reads.run(move |engine| engine.queue(session)).await
    }

    /// Returns all named tokens, oldest first.
    pub async fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.inner.reads.run(|engine| engine.tokens()).await
    }

    /// Returns the names and values of this kind that are configured for a directory, by name.
    pub async fn directory_config(
        &self,
        directory: &str,
        kind: &'static str,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let directory = directory.to_owned();
        self.inner.reads.run(move |engine| engine.directory_config(&directory, kind)).await
    }

    /// Returns the rows of this kind that hooks have kept, by hook and name.
    pub async fn hook_rows(&self, kind: &'static str) -> Result<Vec<StoredHookRow>, StoreError> {
        self.inner.reads.run(move |engine| engine.hook_rows(kind)).await
    }

    /// Returns entries of the audit, oldest first, with all that were recorded before this call; only while the log
    /// cannot be written some may be missing.
    pub async fn audit(&self, query: AuditQuery) -> Result<Vec<AuditEntry>, StoreError> {
        self.written().await?;
        self.inner.reads.run(move |engine| engine.audit(&query)).await
    }

    /// Returns the answer to a request with this key during the last 24 hours.
    pub async fn receipt(&self, session: SessionNo, key: &str) -> Result<Option<Receipt>, StoreError> {
        let key = key.to_owned();
        self.inner.reads.run(move |engine| engine.receipt(session, &key, now_ms())).await
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("fault", &self.fault()).finish_non_exhaustive()
    }
}

fn epoch() -> Result<String, StoreError> {
    let random = getrandom::u64().map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(format!("{random:016x}"))
}
