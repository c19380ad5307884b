//! Creating a session: check everything, start the agent, and only then write the session down.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use omniglot_agents::{Open, RefusalKind, SettingsRequest};
use omniglot_schema::{
    AgentError, AuthState, AuthStatus, Connection, CreateSessionRequest, CreateSessionResponse, ErrorType,
    MessageRequest, QuestionPolicy, SessionId, StatePatch, StatusLabel,
};
use omniglot_store::{Blob, NewSession, SessionNo, SessionRecord, StoreError};
use omniglot_timeline::{Draft, Identity, SessionStarted, Timeline};

use super::fork::Fork;
use super::{Hub, creation_options, login};
use crate::agent::Agent;
use crate::agent::catalog::Entry;
use crate::agent::installed;
use crate::agent::session_start::{Opened, StartError, StartErrorKind, not_a_directory};
use crate::agent::skills::PendingSkills;
use crate::confined::Private;
use crate::error::RuntimeError;
use crate::session::{Session, SessionSpec, Step, record_of};

impl Hub {
    pub(super) async fn create_session(
        &self,
        id: SessionId,
        request: CreateSessionRequest,
    ) -> Result<CreateSessionResponse, RuntimeError> {
        let request = self.checked(request)?;
        self.check_skills(&request)?;
        let mut request = self.with_directory_config(request).await?;
        let worktree = self.add_worktree(&mut request).await?;
        let open = open_of(&request);
        let created = self.create_with(id, request, open, None).await;
        if let (Err(_), Some(worktree)) = (&created, worktree) {
            worktree.remove().await;
        }
        created
    }

    /// Opens the agent and writes the session down, as a fork if it is one.
    pub(super) async fn create_with(
        &self,
        id: SessionId,
        request: CreateSessionRequest,
        open: Open,
        fork: Option<Fork>,
    ) -> Result<CreateSessionResponse, RuntimeError> {
        let _session_lock = self.inner.session_locks.hold(&id).await;
        if self.inner.store.session(&id).await?.is_some() {
            return Err(RuntimeError::SessionExists(id.to_string()));
        }
        let skills =
            self.install_skills(&id, &request, fork.as_ref().map(|fork| fork.origin.session())).await?;
        let open = Open { skills: skills.as_ref().map(|pending| pending.skills.clone()), ..open };
        let pending = self.open_agent(&id, &request, open, fork).await?;
        let created = self.persist(id, &request, pending, None).await?;
        skills.into_iter().for_each(PendingSkills::keep);
        Ok(created)
    }

    /// Opens the agent of a session that has no row yet.
    pub(super) async fn open_agent(
        &self,
        id: &SessionId,
        request: &CreateSessionRequest,
        mut open: Open,
        fork: Option<Fork>,
    ) -> Result<PendingSession, RuntimeError> {
        let is_copy = fork.is_some();
        let left_out = fork.as_ref().and_then(|fork| fork.left_out.clone());
        let mut pending = PendingSession::new(id, request, fork);
        let entry = self.inner.launcher.catalog.get(&request.agent)?;
        open.lacks_credentials = self.lacks_credentials(entry);
        let lacks_credentials = open.lacks_credentials;
        let opening = self.inner.launcher.clone().open(request.agent.clone(), open).await;
        let is_open = opening.is_ok();
        match opening {
            Ok(Opened { agent, early }) => {
                early.count(self.inner.launcher.metrics.of(&request.agent));
                pending.step.absorb_early(&mut pending.timeline, early);
                pending.opened = agent;
                login::note_missing(&mut pending.timeline, &mut pending.step, lacks_credentials);
                pending.refused = pending.logged_out(entry);
            }
            Err(start_error) if is_copy => return Err(start_error.into_error()),
            Err(start_error) => {
                pending.refused = Some(pending.unauthorised(start_error, entry)?);
                // The agent has not looked at them.
                (entry.adapter.preview_settings)(
                    &pending.timeline.fold().state,
                    &open_of(request).requested,
                )?;
            }
        }
        pending.settle(request);
        if let Some(left_out) = left_out {
            let PendingSession { step, timeline, .. } = &mut pending;
            step.with(|stamp, out| timeline.status(StatusLabel::Warning, left_out, stamp, out));
        }
        self.check_open()?;
        self.learn(request, &pending.timeline, is_open);
        Ok(pending)
    }

    /// Gives a session its row, in the place of `old` if there is one, and lets it live. Called with its lock
    /// held.
    pub(super) async fn persist(
        &self,
        id: SessionId,
        request: &CreateSessionRequest,
        mut pending: PendingSession,
        old: Option<SessionNo>,
    ) -> Result<CreateSessionResponse, RuntimeError> {
        let row = pending.row(id.clone(), request)?;
        let created = match old {
            Some(old) => self.inner.store.replace(old, row),
            None => self.inner.store.create(row),
        };
        let record = match self.committed(created).await {
            Err(RuntimeError::Store(StoreError::Exists)) => {
                return Err(RuntimeError::SessionExists(id.to_string()));
            }
            other => other?,
        };
        let refused = pending.refused.take();
        tracing::info!(session = %id, agent = request.agent, healthy = refused.is_none(), "created");
        let native_session_id = pending.timeline.fold().native_session_id.clone();
        self.begin(self.spec(&record, request), pending);
        Ok(CreateSessionResponse { healthy: refused.is_none(), error: refused, native_session_id })
    }

    fn begin(&self, spec: SessionSpec, pending: PendingSession) {
        // Without an agent there is nothing to watch: the row wakes up with its first message.
        let Some(agent) = pending.opened else { return };
        let id = spec.id.clone();
        let (session, handle) = Session::new(spec, self.inner.store.clone(), pending.timeline, pending.step);
        self.run(session.with_agent(agent), handle, id);
    }

    pub(super) fn spec(&self, record: &SessionRecord, request: &CreateSessionRequest) -> SessionSpec {
        SessionSpec {
            no: record.no,
            id: record.id.clone(),
            agent: request.agent.clone(),
            open: Open { skills: self.skills_of(&record.id, request), ..open_of(request) },
            launcher: self.inner.launcher.clone(),
            deadlines: self.inner.deadlines.clone(),
            bounds: self.inner.bounds,
            credentials: self.inner.credentials.clone(),
            client_hosts: self.inner.client_hosts.clone(),
            became_idle: self.inner.became_idle.clone(),
            questions: request.questions.unwrap_or(QuestionPolicy::Ask),
            snapshots: self.snapshots_of(record.no, request),
            rules: self.rules_of(record, request),
        }
    }

    /// Refuses what cannot work; fills in the directory.
    pub(super) fn checked(
        &self,
        mut request: CreateSessionRequest,
    ) -> Result<CreateSessionRequest, RuntimeError> {
        self.knows_agent(&request.agent)?;
        if let Some(version) = &request.agent_version {
            installed::parse(version)?;
        }
        creation_options::check(&self.inner.launcher.catalog, &request)?;
        omniglot_rules::check(&request.rules)
            .map_err(|error| RuntimeError::InvalidRequest(error.to_string()))?;
        let directory = existing_directory(request.directory.as_deref().unwrap_or("."))?;
        request.directory = Some(directory.to_string_lossy().into_owned());
        Ok(request)
    }
}

/// A session that has no row yet.
pub(super) struct PendingSession {
    agent: String,
    timeline: Timeline,
    step: Step,
    /// The blobs of the session that it is a fork of.
    blobs: Vec<Blob>,
    opened: Option<Agent>,
    /// Why its agent cannot work yet.
    refused: Option<AgentError>,
}

impl PendingSession {
    fn new(id: &SessionId, request: &CreateSessionRequest, fork: Option<Fork>) -> Self {
        let identity = Identity { session_id: id.clone(), agent: request.agent.clone() };
        let seed = new_seed();
        let (timeline, blobs) = match fork {
            Some(Fork { origin, blobs, .. }) => (Timeline::forked(identity, seed, origin), blobs),
            None => (Timeline::new(identity, seed), vec![]),
        };
        let agent = request.agent.clone();
        Self { agent, timeline, step: Step::new(0), blobs, opened: None, refused: None }
    }

    /// Without credentials a session exists but cannot work yet; every other reason means no session.
    fn unauthorised(&mut self, start_error: StartError, entry: &Entry) -> Result<AgentError, RuntimeError> {
        let (refusal, early) = match start_error {
            StartError { why: StartErrorKind::Refused(refusal), early, .. }
                if refusal.kind == RefusalKind::Auth =>
            {
                (refusal, early)
            }
            start_error => return Err(start_error.into_error()),
        };
        self.step.draft(&mut self.timeline, Draft::SessionStarted(SessionStarted::default()));
        self.step.absorb_early(&mut self.timeline, early.without_refusals());
        let methods = self.timeline.fold().state.auth.clone().map(|auth| auth.methods).unwrap_or_default();
        let auth = AuthState { state: AuthStatus::Required, methods };
        self.patch(StatePatch { auth: Some(Some(auth)), ..StatePatch::default() });
        let message = refusal.message + &login::looked_for(entry);
        Ok(self.without_credentials(message, refusal.hint))
    }

    /// Some agents open a session without credentials, and say that they have none.
    fn logged_out(&self, entry: &Entry) -> Option<AgentError> {
        let state = &self.timeline.fold().state;
        let message = login::is_required(state).then(|| login::logged_out(state, entry))?;
        Some(self.without_credentials(message, entry.login().map(str::to_owned)))
    }

    fn without_credentials(&self, message: String, hint: Option<String>) -> AgentError {
        let details = hint.map(|hint| serde_json::Map::from_iter([("hint".to_owned(), hint.into())]).into());
        AgentError {
            r#type: ErrorType::PermissionDenied,
            message,
            agent: Some(self.agent.clone()),
            session_id: None,
            details,
        }
    }

    /// Records the requested settings and the process in the state.
    fn settle(&mut self, request: &CreateSessionRequest) {
        let requested = |requested: &Option<String>| requested.clone().map(Some);
        self.patch(StatePatch {
            title: requested(&request.title),
            permission_mode: requested(&request.permission_mode),
            connection: self.opened.is_some().then_some(Some(Connection::Connected)),
            ..StatePatch::default()
        });
    }

    fn patch(&mut self, patch: StatePatch) {
        self.step.draft(&mut self.timeline, Draft::State(Box::new(patch)));
    }

    fn row(&mut self, id: SessionId, request: &CreateSessionRequest) -> Result<NewSession, RuntimeError> {
        // Labels change; the row has those that count.
        let labels = request.labels.clone();
        let request = CreateSessionRequest { labels: Default::default(), ..request.clone() };
        let request = serde_json::to_string(&request)
            .map_err(|error| RuntimeError::InvalidRequest(format!("the request: {error}")))?;
        Ok(NewSession {
            id,
            agent: self.agent.clone(),
            request,
            labels,
            created_ms: Timestamp::now().as_millisecond(),
            record: record_of(&self.timeline),
            frames: self.step.take_frames(&mut self.timeline),
            events: self.step.take_events(),
            copied: self.timeline.copied(),
            blobs: [std::mem::take(&mut self.blobs), self.step.take_blobs(&mut self.timeline)].concat(),
        })
    }
}

/// Makes the ids of a session differ from those of every other.
pub(super) fn new_seed() -> String {
    uuid::Uuid::new_v4().simple().to_string().chars().take(12).collect()
}

pub(super) fn open_of(request: &CreateSessionRequest) -> Open {
    Open {
        cwd: request.directory.as_deref().map(PathBuf::from).unwrap_or_default(),
        requested: SettingsRequest {
            model: request.model.clone(),
            variant: request.variant.clone(),
            agent_mode: request.agent_mode.clone(),
            permission_mode: request.permission_mode.clone(),
            force_model: request.force,
        },
        agent_version: request.agent_version.clone(),
        title: request.title.clone(),
        mcp: request.mcp.clone().unwrap_or_default(),
        system_prompt: request.system_prompt.clone(),
        allowed_tools: request.allowed_tools.clone(),
        max_turns: request.max_turns,
        ..Open::default()
    }
}

pub(super) fn existing_directory(path: &str) -> Result<PathBuf, RuntimeError> {
    let found = std::fs::canonicalize(path).ok().filter(|path| path.is_dir());
    found.ok_or_else(|| not_a_directory(Path::new(path)))
}

impl Hub {
    /// Refuses a message whose metadata is larger than the limit.
    pub(super) fn check_metadata(&self, request: &MessageRequest) -> Result<(), RuntimeError> {
        let most = self.inner.metadata_bytes;
        let length = request.metadata.as_ref().and_then(|metadata| serde_json::to_string(metadata).ok());
        match length.map_or(0, |json| json.len()) {
            length if length > most => Err(RuntimeError::InvalidRequest(format!(
                "the metadata of the message has {length} bytes, more than {most}: `metadata_bytes` below [limits] of \
                 omniglot.toml raises it"
            ))),
            _ => Ok(()),
        }
    }
}

/// Refuses a message that could never be understood; attachments must be there.
pub(super) fn checked_message(
    record: &SessionRecord,
    mut request: MessageRequest,
    private: &Private,
) -> Result<MessageRequest, RuntimeError> {
    if request.message.trim().is_empty() && request.attachments.is_empty() {
        return Err(RuntimeError::InvalidRequest("the message is empty".into()));
    }
    let session: CreateSessionRequest = super::present::request(record)?;
    let directory = session.directory.unwrap_or_default();
    for attachment in &mut request.attachments {
        let path = Path::new(&directory).join(&attachment.path);
        if !path.is_file() {
            let path = path.display();
            return Err(RuntimeError::InvalidRequest(format!("attachment {path} is not a file")));
        }
        if private.holds(&path) {
            let path = path.display();
            return Err(RuntimeError::InvalidRequest(format!("attachment {path} is private to the daemon")));
        }
        attachment.path = path.to_string_lossy().into_owned();
    }
    Ok(request)
}
