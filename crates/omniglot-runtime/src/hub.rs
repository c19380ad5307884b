//! All sessions of one daemon: finds a session, starts its actor when needed, answers what its row tells.
//!
//! Holds no truth of its own: a session that is not live is a row of the store.

mod all_events;
mod attach;
mod blobs;
mod change;
mod check;
mod create;
mod directory_config;
pub mod files;
mod follow_turn;
mod fork;
mod import;
pub mod importer;
mod install;
mod limits;
mod live_limit;
mod login;
mod lookup;
mod overview;
mod present;
mod probe;
mod processes;
mod reassign;
mod recover;
mod retention;
mod revert;
mod search;
mod session_locks;
mod skills;
mod terminate;
mod tokens;
mod upload;
mod user_command;
mod worktree;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use omniglot_agents::Registry;
use omniglot_schema::{
    AgentInfo, AgentModelsResponse, AgentModesResponse, CreateSessionRequest, CreateSessionResponse,
    CreatedSession, MessageId, MessageRequest, PermissionReply, QueueOnCancel, SessionDetail, SessionId,
    SessionInfo, UniversalEventType,
};
use omniglot_store::{
    ListFilter, Page, ReadQuery, SessionNo, SessionRecord, Store, StoreError, StoredFrame, Subscription,
    private, shared,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::attachments;
use crate::agent::catalog::{Catalog, Entry};
use crate::agent::client_host::{ClientHost, ClientHostOffer, ClientHosts};
use crate::agent::credentials::Credentials;
use crate::agent::session_start::Launcher;
use crate::agent::shared_server::{Servers, Terms};
use crate::agent::skills::SkillStore;
use crate::agent::versions::Versions;
use crate::caller::Caller;
use crate::config::Config;
use crate::confined::{OpenError, Private, Root, Temporaries};
use crate::deadlines::Deadlines;
use crate::error::RuntimeError;
use crate::hub::session_locks::SessionLocks;
use crate::process::{self, Supervisor};
use crate::session::{Authored, IdempotencyKey, Posted, Retired, Session, SessionCommand, SessionHandle};
use crate::snapshots::Snapshots;
pub use all_events::{AllEvents, AllEventsFilter, AllEventsPiece, CommitPosition};
pub use directory_config::DirectoryConfig;
pub use follow_turn::{Followed, FollowedTurn, TurnOutcome};
use probe::Probe;
use processes::Processes;
pub use reassign::{NewAgent, Reassigned};
use terminate::Terminating;
use tokens::Tokens;
pub use upload::Upload;

/// The most bytes of events that one page holds.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// How long the sessions and their servers may take to stop; longer only when the log cannot be written.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// The parts and settings of a daemon.
#[derive(Debug, Clone)]
pub struct HubConfig {
    pub data_dir: PathBuf,
    /// This binary: the guard of every agent, and the built-in agent itself.
    pub program: PathBuf,
    pub config: Config,
    /// The agents that need no configuration.
    pub registry: Registry,
    pub store: Store,
    pub deadlines: Deadlines,
    pub backlog: Backlog,
}

/// The handling of messages that a dead daemon has left queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// They are delivered at once.
    Deliver,
    /// They wait for a daemon that delivers them, or for the next message to their session: whoever only looks
    /// must not start agents.
    Keep,
}

/// The daemon's sessions, as its caller sees them. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
    /// The author of the calls.
    caller: Caller,
}

struct Inner {
    data_dir: PathBuf,
    store: Store,
    launcher: Launcher,
    deadlines: Deadlines,
    live_agents: usize,
    /// The directories of files that belong to no session.
    file_roots: Vec<PathBuf>,
    temporaries: Temporaries,
    /// A session has a process and nothing more to do with it.
    became_idle: Arc<Notify>,
    default_agent: String,
    live: Mutex<HashMap<SessionId, SessionHandle>>,
    session_locks: SessionLocks,
    probes: Mutex<HashMap<String, Probe>>,
    credentials: Credentials,
    client_hosts: ClientHosts,
    skills: SkillStore,
    /// Held while an agent is asked what it offers: one question at a time for each.
    probing: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Held while a version of an agent is installed: one at a time for each.
    installing: Mutex<HashMap<&'static str, Arc<tokio::sync::Mutex<()>>>>,
    snapshots: Snapshots,
    tokens: Tokens,
    processes: Processes,
    terminating: Terminating,
    tasks: TaskTracker,
    stopping: AtomicBool,
    /// Ends what works beside the sessions.
    leaving: CancellationToken,
}

/// Sessions, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub sessions: usize,
    /// Those with a process of their agent.
    pub live: usize,
    /// Those with a turn that runs or a message that waits.
    pub busy: usize,
}

impl Hub {
    /// Opens for business: ends what a dead daemon has left, closes its turns, delivers its queues if it shall.
    pub async fn start(config: HubConfig) -> Result<Self, RuntimeError> {
        let HubConfig { data_dir, program, config, registry, store, deadlines, backlog } = config;
        let run_dir = private(&data_dir).join("run");
        let swept = crate::process::sweep::sweep(&run_dir);
        crate::agent::prepared::sweep(&run_dir);
        upload::sweep(&attach::attachments(&data_dir));
        let temporaries = Temporaries::of(&data_dir);
        temporaries.sweep();
        if !swept.is_empty() {
            tracing::warn!(?swept, "ended processes that an earlier daemon had left");
        }
        let limits = process::Limits { line_cap: config.limits.max_line_bytes, ..process::Limits::default() };
        let catalog = Arc::new(Catalog::new(&config, &registry, &program, &data_dir));
        let supervisor = Supervisor { guard: program, run_dir, limits };
        let terms = Terms {
            handshake: Duration::from_secs(config.limits.handshake_seconds),
            idle: deadlines.idle,
            stop: deadlines.stop,
            cwd: shared(&data_dir),
        };
        crate::agent::install::sweep(&data_dir);
        let launcher = Launcher {
            catalog,
            versions: Versions::new(supervisor.clone(), &data_dir),
            servers: Servers::new(supervisor.clone(), terms),
            private: Private::of(&data_dir),
            supervisor,
            timeout: Duration::from_secs(config.limits.handshake_seconds),
        };
        let tasks = TaskTracker::new();
        let snapshots =
            Snapshots::new(!config.no_snapshots, &data_dir, launcher.supervisor.clone(), tasks.clone());
        let inner = Inner {
            snapshots,
            tokens: Tokens::load(&store).await?,
            processes: Processes::new(&config.processes),
            terminating: Terminating::default(),
            launcher,
            skills: SkillStore::new(&shared(&data_dir)),
            data_dir,
            store,
            deadlines,
            live_agents: config.limits.live_agents,
            file_roots: config.files.roots.clone(),
            temporaries,
            became_idle: Arc::default(),
            default_agent: config.default_agent().to_owned(),
            live: Mutex::default(),
            session_locks: SessionLocks::default(),
            probes: Mutex::default(),
            credentials: Credentials::default(),
            client_hosts: ClientHosts::default(),
            probing: Mutex::default(),
            installing: Mutex::default(),
            tasks,
            stopping: AtomicBool::new(false),
            leaving: CancellationToken::new(),
        };
        let hub = Self::of(Arc::new(inner));
        hub.enforce_live_limit();
        hub.sweep_skills().await?;
        hub.sweep_snapshots().await?;
        hub.recover(backlog).await?;
        hub.keep_within(config.retention);
        Ok(hub)
    }

    /// The sessions as the daemon itself sees them.
    fn of(inner: Arc<Inner>) -> Self {
        Self { inner, caller: Caller::owner() }
    }

    pub async fn create(
        &self,
        id: SessionId,
        request: CreateSessionRequest,
    ) -> Result<CreateSessionResponse, RuntimeError> {
        self.check_open()?;
        let request = self.limited(request)?;
        self.make_room().await;
        self.create_session(id, request).await
    }

    /// Creates a session under an id that nobody has used.
    pub async fn create_new(&self, request: CreateSessionRequest) -> Result<CreatedSession, RuntimeError> {
        let id = SessionId::parse(&format!("ses_{}", uuid::Uuid::now_v7().simple()));
        let session_id = id.map_err(|error| RuntimeError::InvalidRequest(error.to_string()))?;
        let created = self.create(session_id.clone(), request).await?;
        Ok(CreatedSession { session_id, created })
    }

    pub async fn post(
        &self,
        id: &SessionId,
        request: MessageRequest,
        key: Option<IdempotencyKey>,
    ) -> Result<Posted, RuntimeError> {
        let record = self.record(id).await?;
        let mut request = request;
        self.keep_inline(id, &mut request.attachments).await?;
        let private = self.private_in(&record);
        let request = create::checked_message(&record, request, &private)?;
        if !self.is_live(id) {
            self.make_room().await;
        }
        let files = attachments::load(request.attachments.clone(), private).await;
        let message = Authored { request, by: self.author() };
        let before = self.snapshot_if_idle(&record).await;
        let posted = self.ask(id, SessionCommand::Post { message, files, key, before }).await?;
        posted.ok_or(RuntimeError::Stopping)
    }

    /// The name that stands as author of what the caller sends.
    fn author(&self) -> Option<String> {
        self.caller.by().map(str::to_owned)
    }

    /// Opens a directory that a client has named, without the private files of the daemon.
    pub fn confined(&self, directory: &Path) -> Result<Root, OpenError> {
        Root::open(directory, self.private_files(None))
    }

    /// The files that the caller may not attach to a message: for a limited one also the uploads of other sessions.
    fn private_in(&self, record: &SessionRecord) -> Private {
        match self.caller.limit() {
            Some(_) => Private::all_of(&self.inner.data_dir, Some(self.attachments_of(record.no))),
            None => self.private(),
        }
    }

    fn private(&self) -> Private {
        self.inner.launcher.private.clone()
    }

    pub async fn remove_queued(&self, id: &SessionId, message: &MessageId) -> Result<(), RuntimeError> {
        self.ask_live(id, SessionCommand::RemoveQueued(message.clone()))
            .await?
            .unwrap_or_else(|| Err(RuntimeError::MessageNotFound(message.to_string())))
    }

    pub async fn reply_permission(
        &self,
        id: &SessionId,
        permission_id: &str,
        reply: PermissionReply,
        message: Option<String>,
    ) -> Result<(), RuntimeError> {
        self.reply(
            id,
            permission_id,
            SessionCommand::ReplyPermission {
                id: permission_id.to_owned(),
                reply,
                message,
                by: self.author(),
            },
        )
        .await
    }

    /// `answers` = `None` rejects the question.
    pub async fn reply_question(
        &self,
        id: &SessionId,
        question_id: &str,
        answers: Option<Vec<Vec<String>>>,
    ) -> Result<(), RuntimeError> {
        let by = self.author();
        self.reply(id, question_id, SessionCommand::ReplyQuestion { id: question_id.to_owned(), answers, by })
            .await
    }

    async fn reply(&self, id: &SessionId, request_id: &str, ask: SessionCommand) -> Result<(), RuntimeError> {
        let result = self.ask_live(id, ask).await?;
        match result.unwrap_or_else(|| Err(RuntimeError::RequestNotFound(request_id.to_owned()))) {
            Err(RuntimeError::RequestNotFound(_)) => Err(self.why_not_open(id, request_id).await?),
            other => other,
        }
    }

    pub async fn cancel(&self, id: &SessionId, queue: QueueOnCancel) -> Result<(), RuntimeError> {
        match self.ask_live(id, SessionCommand::Cancel(queue)).await? {
            Some(cancelled) => cancelled,
            None if queue == QueueOnCancel::Keep => Ok(()),
            // Messages may wait in the row alone.
            None => self.ask(id, SessionCommand::Cancel(queue)).await.map(drop),
        }
    }

    /// A client does the requests of the session's agent until the client host is dropped.
    pub fn add_client_host(&self, id: &SessionId, offer: ClientHostOffer) -> ClientHost {
        self.inner.client_hosts.add_client_host(id.clone(), offer)
    }

    /// Works also when the log is full or the agent is not known any more.
    pub async fn delete(&self, id: &SessionId) -> Result<(), RuntimeError> {
        self.delete_with(id, false).await
    }

    /// As [`delete`](Self::delete); `force` also loses what is in the session's worktree alone.
    pub async fn delete_with(&self, id: &SessionId, force: bool) -> Result<(), RuntimeError> {
        let _session_lock = self.inner.session_locks.hold(id).await;
        let record = self.record(id).await?;
        let worktree = self.worktree_of(&record);
        if let Some(worktree) = worktree.as_ref().filter(|_| !force) {
            worktree.check_unused().await?;
        }
        let handle = lock(&self.inner.live).get(id).cloned();
        if let Some(handle) = handle {
            // One that has just retired is gone as well.
            drop(handle.ask(SessionCommand::Discard).await);
        }
        flatten(self.inner.store.delete(record.no).await)?;
        self.drop_attachments(record.no);
        self.inner.skills.remove(id);
        self.forget_snapshots(&record).await;
        if let Some(worktree) = worktree {
            worktree.remove().await;
        }
        Ok(())
    }

    pub async fn list(&self, filter: ListFilter) -> Result<Vec<SessionInfo>, RuntimeError> {
        self.listed(filter).await?.iter().map(present::info).collect()
    }

    async fn listed(&self, mut filter: ListFilter) -> Result<Vec<SessionRecord>, RuntimeError> {
        if let Some(after) = &filter.after {
            self.check_seen(after).await.map_err(|_| StoreError::NoSession)?;
        }
        filter.labels.extend(self.caller.limit().cloned());
        Ok(self.inner.store.list(filter).await?)
    }

    pub async fn detail(&self, id: &SessionId) -> Result<SessionDetail, RuntimeError> {
        let record = self.record(id).await?;
        let mut detail = present::detail(&record)?;
        let agent = self.inner.launcher.catalog.get(&record.agent).ok();
        detail.capabilities = detail.capabilities.or_else(|| agent.map(|agent| agent.adapter.capabilities()));
        Ok(detail)
    }

    /// Returns the session's info from its row, also after the session has ended.
    pub fn info(record: &SessionRecord) -> Result<SessionInfo, RuntimeError> {
        present::info(record)
    }

    /// The session's row: its epoch, last sequence and number in the store.
    pub async fn record(&self, id: &SessionId) -> Result<SessionRecord, RuntimeError> {
        let record = self.inner.store.session(id).await?.filter(|record| self.sees(record));
        record.ok_or_else(|| RuntimeError::SessionNotFound(id.to_string()))
    }

    /// The session of that number; numbers are never used again.
    pub async fn record_numbered(&self, no: SessionNo) -> Result<Option<SessionRecord>, RuntimeError> {
        Ok(self.inner.store.session_numbered(no).await?.filter(|record| self.sees(record)))
    }

    /// The agent of a session whose client names none.
    pub fn default_agent(&self) -> &str {
        &self.inner.default_agent
    }

    /// Refuses the name of an agent that is not there.
    pub fn knows_agent(&self, name: &str) -> Result<(), RuntimeError> {
        self.inner.launcher.catalog.get(name).map(drop)
    }

    /// A page of committed events.
    pub async fn events(
        &self,
        record: &SessionRecord,
        after: u64,
        limit: usize,
        types: Vec<UniversalEventType>,
    ) -> Result<Page, RuntimeError> {
        let query = ReadQuery { after, limit, max_bytes: PAGE_BYTES, types, until: None };
        Ok(self.inner.store.read(record.no, query).await?)
    }

    /// The session's events after `after`, those to come included.
    pub fn subscribe(&self, record: &SessionRecord, after: u64) -> Subscription {
        self.inner.store.subscribe(record.no, after)
    }

    /// Native frames by number; those that were never stored are absent.
    pub async fn frames(
        &self,
        record: &SessionRecord,
        numbers: &[u64],
    ) -> Result<HashMap<u64, StoredFrame>, RuntimeError> {
        Ok(self.inner.store.frames(record.no, numbers).await?)
    }

    pub fn agents(&self) -> Vec<AgentInfo> {
        let probes = lock(&self.inner.probes);
        let info = |entry: &Entry| {
            let known = probes.get(&entry.name);
            let version = self.inner.launcher.versions.known(entry);
            let version = version.or_else(|| known.and_then(|probe| probe.version.clone()));
            let mut info = entry.info(version, self.login_status(entry));
            info.server_status =
                info.capabilities.shared_process.then(|| self.inner.launcher.servers.status(&entry.name));
            if let Some(capabilities) = known.and_then(|probe| probe.capabilities) {
                info.capabilities = capabilities;
            }
            info
        };
        self.inner.launcher.catalog.entries().map(info).collect()
    }

    pub async fn models(&self, agent: &str) -> Result<AgentModelsResponse, RuntimeError> {
        self.offered_models(agent).await
    }

    pub async fn modes(&self, agent: &str) -> Result<AgentModesResponse, RuntimeError> {
        self.offered_modes(agent).await
    }

    /// How much this daemon keeps, and how much of it is at work.
    pub fn load(&self) -> Load {
        let live = lock(&self.inner.live);
        let count = |which: fn(&SessionHandle) -> bool| live.values().filter(|handle| which(handle)).count();
        Load {
            sessions: self.inner.store.count(),
            live: count(|handle| handle.activity().has_agent()),
            busy: count(|handle| handle.activity().is_busy()),
        }
    }

    /// Not ready while the log cannot be written, or the daemon stops; with the reason.
    pub fn ready(&self) -> Result<(), String> {
        self.check_open().map_err(|error| error.to_string())
    }

    /// Whether any turn runs or any message waits.
    pub fn is_busy(&self) -> bool {
        lock(&self.inner.live).values().any(|handle| handle.activity().is_busy())
    }

    /// Ends all agent processes; sessions stay and go on with their next message.
    pub async fn shutdown(&self) {
        let live: Vec<_> = {
            let live = lock(&self.inner.live);
            self.inner.stopping.store(true, Ordering::SeqCst);
            self.inner.leaving.cancel();
            live.values().cloned().collect()
        };
        for handle in live {
            self.stop(handle);
        }
        self.inner.tasks.close();
        let all_gone = async {
            self.inner.tasks.wait().await;
            self.inner.launcher.servers.stop().await;
        };
        if tokio::time::timeout(SHUTDOWN, all_gone).await.is_err() {
            // Their guards end the processes as soon as this one is gone.
            tracing::warn!(fault = self.inner.store.fault(), "sessions did not stop in time");
        }
    }

    fn stop(&self, handle: SessionHandle) {
        self.inner.tasks.spawn(async move { drop(handle.ask(SessionCommand::Shutdown).await) });
    }

    fn check_open(&self) -> Result<(), RuntimeError> {
        if self.inner.stopping.load(Ordering::SeqCst) {
            return Err(RuntimeError::Stopping);
        }
        self.inner.store.fault().map_or(Ok(()), |fault| Err(RuntimeError::Overloaded(fault)))
    }

    fn is_live(&self, id: &SessionId) -> bool {
        lock(&self.inner.live).contains_key(id)
    }

    /// Asks a session, waking it if it is only a row.
    async fn ask(&self, id: &SessionId, mut ask: SessionCommand) -> Result<Option<Posted>, RuntimeError> {
        self.check_seen(id).await?;
        self.check_open()?;
        loop {
            match self.wake(id).await?.ask(ask).await {
                Ok(result) => return result,
                Err(Retired(again)) => ask = again,
            }
        }
    }

    /// Asks a session that is live; `None` when it is only a row.
    async fn ask_live(
        &self,
        id: &SessionId,
        ask: SessionCommand,
    ) -> Result<Option<Result<(), RuntimeError>>, RuntimeError> {
        self.check_seen(id).await?;
        let handle = lock(&self.inner.live).get(id).cloned();
        let Some(handle) = handle else { return self.record(id).await.map(|_| None) };
        self.check_open()?;
        match handle.ask(ask).await {
            Ok(result) => Ok(Some(result.map(drop))),
            Err(Retired(_)) => Ok(None),
        }
    }

    async fn wake(&self, id: &SessionId) -> Result<SessionHandle, RuntimeError> {
        let _session_lock = self.inner.session_locks.hold(id).await;
        if let Some(handle) = lock(&self.inner.live).get(id) {
            return Ok(handle.clone());
        }
        let record = self.record(id).await?;
        self.wake_record(&record).await
    }

    /// Lets a session live. Called with its lock held.
    fn run(&self, session: Session, handle: SessionHandle, id: SessionId) -> SessionHandle {
        let stopping = {
            let mut live = lock(&self.inner.live);
            live.insert(id.clone(), handle.clone());
            self.inner.stopping.load(Ordering::SeqCst)
        };
        let retire = Retire { hub: Arc::downgrade(&self.inner), id, handle: handle.clone() };
        self.inner.tasks.spawn(session.run(retire));
        if stopping {
            self.stop(handle.clone());
        }
        handle
    }
}

/// Takes a session off the list when it is dropped.
struct Retire {
    hub: Weak<Inner>,
    id: SessionId,
    handle: SessionHandle,
}

impl Drop for Retire {
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else { return };
        let mut live = lock(&hub.live);
        if live.get(&self.id).is_some_and(|handle| handle.same(&self.handle)) {
            live.remove(&self.id);
        }
    }
}

/// A lock of ours is never held across a panic that leaves its map half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn flatten<T>(
    answer: Result<Result<T, omniglot_store::StoreError>, tokio::sync::oneshot::error::RecvError>,
) -> Result<T, RuntimeError> {
    Ok(answer.map_err(|_| omniglot_store::StoreError::Closed)??)
}
