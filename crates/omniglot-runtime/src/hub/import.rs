//! Makes a session of an export: as it was, with everything closed that was open in it, under a new epoch.
//!
//! Its agent is not told: the native session belongs to the log that was exported, so the next message
//! begins a new one, and the stream says that the agent has forgotten (T3).
//!
//! Nothing that somebody has allowed elsewhere is allowed here: a file decides neither what an agent may do
//! unasked nor in which mode it works. See [`Permissions`].

use omniglot_schema::{
    CreateSessionRequest, ErrorCode, ImportResponse, ResolvedBy, SessionInfo, StatePatch, StatusLabel,
};
use omniglot_store::{NewSession, StoreError};
use omniglot_timeline::{Draft, Failure, Fold, Identity, Snapshot, Timeline, TurnEnd};

use super::Hub;
use super::create::{existing_directory, new_seed};
use crate::error::RuntimeError;
use crate::hub::importer::Export;
use crate::session::{Step, record_of};

impl Hub {
    pub async fn import(&self, export: Export) -> Result<ImportResponse, RuntimeError> {
        self.check_open()?;
        let id = export.id.clone();
        let _session_lock = self.inner.session_locks.hold(&id).await;
        if self.inner.store.session(&id).await?.is_some() {
            return Err(RuntimeError::SessionExists(id.to_string()));
        }
        let blobs = export.blobs.len() as u64;
        let (request, mut notes) = self.request_of(&export)?;
        let permissions = Permissions::of(&export.fold);
        notes.extend(permissions.notes());
        let created = self.inner.store.create(row(export, &request, &permissions)?);
        let record = match self.committed(created).await {
            Err(RuntimeError::Store(StoreError::Exists)) => {
                return Err(RuntimeError::SessionExists(id.to_string()));
            }
            other => other?,
        };
        tracing::info!(session = %id, agent = record.agent, events = record.last_seq, "imported");
        Ok(ImportResponse { session_id: id, event_count: record.last_seq, blobs, notes })
    }

    /// The request that the session would be made with here, and what cannot be as it was.
    fn request_of(&self, export: &Export) -> Result<(CreateSessionRequest, Vec<String>), RuntimeError> {
        let SessionInfo { agent, model, variant, directory, title, mcp, skills, .. } =
            export.header.session.clone();
        let mut notes = vec![];
        let directory = match &export.directory {
            Some(wanted) => Some(existing_directory(&wanted.to_string_lossy())?.to_string_lossy().into()),
            None => directory,
        };
        if let Some(missing) = directory.as_ref().filter(|dir| !std::path::Path::new(dir).is_dir()) {
            notes.push(format!("its directory {missing} is not here: it can be read, but not continued"));
        }
        if let Some(servers) = mcp.filter(|servers| !servers.is_empty()) {
            let names: Vec<&str> = servers.keys().map(String::as_str).collect();
            let names = names.join(", ");
            notes.push(format!("left out the MCP servers {names}: an export does not carry their secrets"));
        }
        if skills.is_some_and(|skills| !skills.sources.is_empty()) {
            notes.push("left out its skills: an export does not carry them".to_owned());
        }
        if self.inner.launcher.catalog.get(&agent).is_err() {
            notes.push(format!("its agent {agent} is not known here: it can be read, but not continued"));
        }
        if !export.open.is_empty() {
            notes.push("a turn was running when it was exported; it ends with an error".to_owned());
        }
        let request =
            CreateSessionRequest { model, variant, directory, title, ..CreateSessionRequest::new(agent) };
        Ok((request, notes))
    }
}

fn row(
    export: Export,
    request: &CreateSessionRequest,
    permissions: &Permissions,
) -> Result<NewSession, RuntimeError> {
    let Export { id, header, frames, mut events, blobs, open, mut fold, copied, .. } = export;
    fold.grants.clear();
    let identity = Identity { session_id: id.clone(), agent: request.agent.clone() };
    let snapshot =
        Snapshot { seed: new_seed(), fold, stats: header.stats, foreign: true, capabilities: None };
    let mut timeline = Timeline::restore(identity, snapshot, &open);
    let mut step = Step::new(frames.len() as u64);
    close(&mut timeline, &mut step);
    permissions.revoke(&mut timeline, &mut step);
    events.extend(step.take_events());
    let request = serde_json::to_string(request)
        .map_err(|error| RuntimeError::InvalidRequest(format!("the session: {error}")))?;
    Ok(NewSession {
        id,
        agent: header.session.agent,
        request,
        labels: Default::default(),
        created_ms: header.session.created_at,
        record: record_of(&timeline),
        frames,
        events,
        copied,
        blobs,
    })
}

/// No turn runs, no process is connected and no message waits in what was only written down.
fn close(timeline: &mut Timeline, step: &mut Step) {
    let failure = Failure::new(ErrorCode::DaemonRestarted, "the session was exported while this turn ran");
    step.with(|stamp, out| timeline.close_turn(TurnEnd::failed(failure), ResolvedBy::Restart, stamp, out));
    let patch = StatePatch {
        connection: Some(None),
        activity: Some(None),
        queue: Some(None),
        ..StatePatch::default()
    };
    step.draft(timeline, Draft::State(Box::new(patch)));
}

/// The permissions of an exported session that an imported one does not get.
#[derive(Debug, Default, PartialEq, Eq)]
struct Permissions {
    /// The mode in which it worked, unless that is `default`.
    permission_mode: Option<String>,
    /// An ACP agent has one list for both kinds of modes, so this may be a mode that does not ask either.
    agent_mode: Option<String>,
    /// The requests that were answered with `always`.
    grants: usize,
}

/// The modes in which every agent asks. All others are the agents' own, and nobody knows what they allow.
const ASKING_MODES: [&str; 3] = ["build", "plan", "default"];

impl Permissions {
    fn of(fold: &Fold) -> Self {
        let permission_mode = fold.state.permission_mode.clone().filter(|mode| mode != "default");
        let agent_mode = fold.state.agent_mode.clone();
        Self {
            permission_mode,
            agent_mode: agent_mode.filter(|mode| !ASKING_MODES.contains(&mode.as_str())),
            grants: fold.grants.len(),
        }
    }

    /// Tells whoever imports the session what it does not bring along.
    fn notes(&self) -> Vec<String> {
        let mode = self.mode().map(|mode| {
            format!(
                "it ran in permission mode `{mode}`: it goes on in `default`, until somebody sets another"
            )
        });
        let grants = match self.grants {
            0 => None,
            1 => Some("left out 1 standing permission (`always`): it is asked again".to_owned()),
            grants => {
                Some(format!("left out {grants} standing permissions (`always`): they are asked again"))
            }
        };
        mode.into_iter().chain(grants).collect()
    }

    fn mode(&self) -> Option<&str> {
        self.permission_mode.as_deref().or(self.agent_mode.as_deref())
    }

    /// Takes it back in the stream, so that the fold of the events is what is served. Nothing happens in a
    /// session that has ended, but its state may change.
    fn revoke(&self, timeline: &mut Timeline, step: &mut Step) {
        if self.mode().is_some() {
            let patch = StatePatch {
                permission_mode: Some(Some("default".to_owned())),
                agent_mode: self.agent_mode.is_some().then_some(None),
                ..StatePatch::default()
            };
            step.draft(timeline, Draft::State(Box::new(patch)));
        }
        if timeline.fold().ended {
            return;
        }
        for note in self.notes() {
            let warning = format!("this session was imported; {note}");
            step.with(|stamp, out| timeline.status(StatusLabel::Warning, warning, stamp, out));
        }
    }
}
