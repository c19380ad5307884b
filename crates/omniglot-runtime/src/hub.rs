//! All sessions of one daemon: finds a session, starts its actor when needed, answers what its row tells.
//!
//! Holds no truth of its own: a session that is not live is a row of the store.

mod all_events;
mod attach;
mod blobs;
mod change;
mod check;
mod commit_deadline;
mod create;
mod creation_options;
mod delete;
mod directory_config;
pub mod files;
mod follow_turn;
mod fork;
mod fork_end;
mod import;
pub mod importer;
mod install;
mod limits;
mod live;
mod live_limit;
mod login;
mod lookup;
mod observe;
mod overview;
mod present;
mod probe;
mod processes;
mod read;
mod reassign;
mod recover;
mod retention;
mod revert;
mod rules;
mod search;
mod session_locks;
mod skills;
mod start;
mod terminate;
mod tokens;
mod upload;
mod user_command;
mod worktree;
mod writer_stall;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniglot_schema::{
    CreateSessionRequest, CreateSessionResponse, CreatedSession, MessageId, MessageRequest, PermissionReply,
    QueueOnCancel, SessionId,
};
use omniglot_store::{SessionRecord, Store};
use omniglot_timeline::{Bounds, Replier};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::attachments;
use crate::agent::client_host::{ClientHost, ClientHostOffer, ClientHosts};
use crate::agent::credentials::Credentials;
use crate::agent::session_start::Launcher;
use crate::agent::skills::SkillStore;
use crate::caller::Caller;
use crate::confined::{OpenError, Private, Root, Temporaries};
use crate::deadlines::Deadlines;
use crate::error::RuntimeError;
use crate::hub::session_locks::SessionLocks;
use crate::session::{Authored, IdempotencyKey, Posted, SessionCommand, SessionHandle};
use crate::snapshots::Snapshots;
pub use all_events::{AllEvents, AllEventsFilter, AllEventsPiece, CommitPosition};
pub use directory_config::DirectoryConfig;
pub use follow_turn::{Followed, FollowedTurn, TurnOutcome};
pub use live::Load;
pub use observe::Observation;
use probe::Probe;
use processes::Processes;
pub use reassign::{NewAgent, Reassigned};
use rules::DaemonRules;
pub use rules::floor;
pub use start::{Backlog, HubConfig};
use terminate::Terminating;
use tokens::Tokens;
pub use tokens::{NAMED_TOKEN_PREFIX, NamedToken};
pub use upload::Upload;

/// The most bytes of events that one page holds.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

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
    bounds: Bounds,
    live_agents: usize,
    metadata_bytes: usize,
    running_agents: usize,
    /// Places among the running agents that are taken by sessions about to work.
    admitting: Arc<AtomicUsize>,
    /// The directories of files that belong to no session.
    file_roots: Vec<PathBuf>,
    temporaries: Temporaries,
    /// A session has a process and nothing more to do with it.
    became_idle: Arc<Notify>,
    default_agent: Option<String>,
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
    rules: DaemonRules,
    terminating: Terminating,
    tasks: TaskTracker,
    stopping: AtomicBool,
    /// Sessions that a dead daemon has left open are still being closed.
    recovering: AtomicBool,
    /// Ends what works beside the sessions.
    leaving: CancellationToken,
}

impl Hub {
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
        let _place = self.admit(&id)?;
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
        self.check_metadata(&request)?;
        self.keep_inline(id, &mut request.attachments).await?;
        let private = self.private_in(&record);
        let request = create::checked_message(&record, request, &private)?;
        let _place = self.admit(id)?;
        if !self.is_live(id) {
            self.make_room().await;
        }
        let files = attachments::load(request.attachments.clone(), private).await;
        let message = Authored { request, by: self.author() };
        let before = self.snapshot_if_idle(&record).await;
        let posted = self.ask(id, SessionCommand::Post { message, files, key, before }).await?;
        posted.ok_or(RuntimeError::Stopping)
    }

    /// The person who stands behind the replies of the caller.
    fn replier(&self) -> Option<Replier> {
        if self.caller.is_link() { Some(Replier::Link) } else { self.author().map(Replier::Named) }
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
                by: self.replier(),
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
        let by = self.replier();
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
}

/// A lock of ours is never held across a panic that leaves its map half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
