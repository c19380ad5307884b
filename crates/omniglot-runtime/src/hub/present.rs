//! A session's row as the REST face shows it. Secrets are hidden here, once.

use omniglot_schema::{
    CreateSessionRequest, McpServers, OpenRequest, PendingRequest, SessionDetail, SessionInfo, SkillsConfig,
};
use omniglot_store::SessionRecord;
use omniglot_timeline::{Fold, Snapshot};

use super::worktree;
use crate::error::RuntimeError;

pub(super) fn info(record: &SessionRecord) -> Result<SessionInfo, RuntimeError> {
    let fold = snapshot(record)?.fold;
    let info = info_of(record, &fold, request(record)?);
    Ok(SessionInfo { status: Some(fold.status()), ..info })
}

pub(super) fn info_with_state(record: &SessionRecord) -> Result<SessionInfo, RuntimeError> {
    let fold = snapshot(record)?.fold;
    let info = info_of(record, &fold, request(record)?);
    Ok(SessionInfo { status: Some(fold.status()), state: Some(Box::new(fold.state)), ..info })
}

pub(super) fn open_requests(record: &SessionRecord) -> Result<Vec<OpenRequest>, RuntimeError> {
    let fold = snapshot(record)?.fold;
    let SessionInfo { session_id, agent, title, labels, .. } = info_of(record, &fold, request(record)?);
    let open = |request: &PendingRequest| OpenRequest {
        session_id: session_id.clone(),
        agent: agent.clone(),
        title: title.clone(),
        labels: labels.clone(),
        request: request.clone(),
    };
    Ok(fold.pending.values().map(open).collect())
}

pub(super) fn detail(record: &SessionRecord) -> Result<SessionDetail, RuntimeError> {
    let snapshot = snapshot(record)?;
    Ok(SessionDetail {
        info: info_of(record, &snapshot.fold, request(record)?),
        status: snapshot.fold.status(),
        pending: snapshot.fold.pending.values().cloned().collect(),
        state: snapshot.fold.state,
        stats: snapshot.stats,
        capabilities: snapshot.capabilities,
    })
}

fn info_of(record: &SessionRecord, fold: &Fold, request: CreateSessionRequest) -> SessionInfo {
    let state = &fold.state;
    let or_default = |now: &Option<String>, requested: Option<String>, default: &str| {
        now.clone().or(requested).unwrap_or_else(|| default.to_owned())
    };
    SessionInfo {
        worktree: worktree::shown(&request),
        session_id: record.id.clone(),
        agent: record.agent.clone(),
        agent_mode: or_default(&state.agent_mode, request.agent_mode, "build"),
        permission_mode: or_default(&state.permission_mode, request.permission_mode, "default"),
        model: state.model.clone().or(request.model),
        variant: state.variant.clone().or(request.variant),
        native_session_id: fold.native_session_id.clone(),
        ended: record.ended,
        status: None,
        event_count: record.last_seq,
        created_at: record.created_ms,
        updated_at: record.updated_ms,
        directory: request.directory,
        title: state.title.clone().or(request.title).or_else(|| fold.first_prompt.clone()),
        agent_version: fold.agent_version.clone(),
        forked_from: fold.forked_from.clone(),
        state: None,
        labels: record.labels.clone(),
        mcp: request.mcp.map(redacted),
        skills: request.skills.map(SkillsConfig::redacted),
    }
}

fn redacted(servers: McpServers) -> McpServers {
    servers.into_iter().map(|(name, server)| (name, server.redacted())).collect()
}

pub(super) fn snapshot(record: &SessionRecord) -> Result<Snapshot, RuntimeError> {
    serde_json::from_str(&record.fold).map_err(|error| unreadable(record, &error))
}

pub(super) fn request(record: &SessionRecord) -> Result<CreateSessionRequest, RuntimeError> {
    serde_json::from_str(&record.request).map_err(|error| unreadable(record, &error))
}

fn unreadable(record: &SessionRecord, error: &serde_json::Error) -> RuntimeError {
    tracing::error!(session = %record.id, %error, "the session's row");
    RuntimeError::Store(omniglot_store::StoreError::Damaged { session: record.id.to_string(), seq: 0 })
}
