//! The results that open a connection or a session, or list sessions.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, Implementation, InitializeResponse, McpCapabilities, Meta, PromptCapabilities,
    SessionCapabilities, SessionCloseCapabilities, SessionConfigOption, SessionDeleteCapabilities,
    SessionForkCapabilities, SessionInfo as Listed, SessionListCapabilities, SessionModeState,
    SessionResumeCapabilities,
};
use jiff::Timestamp;
use omniglot_schema::{AgentInfo, SessionInfo, SessionState};
use serde::Serialize;

use super::settings::{self, SessionModelState};
use crate::faces::acp::wire::meta::{self, Notes};

/// The result of `session/new`, `load`, `resume` and `fork`: the common members of the four.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// Absent for `session/load` and `resume`, whose client knows the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<SessionModeState>,
    /// Dropped from the schema, and still read by clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<SessionModelState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_options: Option<Vec<SessionConfigOption>>,
    #[serde(rename = "_meta")]
    pub meta: Meta,
}

impl Opened {
    pub fn new(info: &SessionInfo, state: &SessionState) -> Self {
        let options = settings::options(state);
        Self {
            session_id: Some(info.session_id.to_string()),
            modes: settings::modes(state),
            models: settings::models(state),
            config_options: (!options.is_empty()).then_some(options),
            meta: notes(info).into_map(),
        }
    }

    #[must_use]
    pub fn without_id(self) -> Self {
        Self { session_id: None, ..self }
    }
}

/// Returns one entry of `session/list`.
pub fn listed(info: &SessionInfo) -> Listed {
    let updated = Timestamp::from_millisecond(info.updated_at).map(|time| time.to_string()).ok();
    Listed::new(info.session_id.to_string(), info.directory.clone().unwrap_or_default())
        .title(info.title.clone())
        .updated_at(updated)
        .meta(notes(info).into_meta())
}

fn notes(info: &SessionInfo) -> Notes {
    Notes::default()
        .with(meta::AGENT, Some(&info.agent))
        .with(meta::AGENT_VERSION, info.agent_version.as_ref())
        .with(meta::AGENT_MODE, Some(&info.agent_mode))
        .with(meta::PERMISSION_MODE, Some(&info.permission_mode))
        .with(meta::MODEL, info.model.as_ref())
        .with(meta::VARIANT, info.variant.as_ref())
        .with(meta::NATIVE_SESSION_ID, info.native_session_id.as_ref())
        .with(meta::CREATED_AT, Some(info.created_at))
        .with(meta::ENDED, Some(info.ended))
        .with(meta::EVENT_COUNT, Some(info.event_count))
        .with(meta::FORKED_FROM, info.forked_from.as_ref())
        .with(meta::MCP, info.mcp.as_ref())
        .with(meta::SKILLS, info.skills.as_ref())
}

/// Returns the result of `initialize`. History, lists and resumption are ours, so every agent has them.
pub fn introduced(agent: &AgentInfo) -> InitializeResponse {
    let can = &agent.capabilities;
    let prompt = PromptCapabilities::new().image(can.images).embedded_context(true);
    let mcp = McpCapabilities::new().http(can.mcp_http).sse(can.mcp_sse);
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(prompt)
        .mcp_capabilities(mcp)
        .session_capabilities(sessions);
    // The protocol wants a version; ours would be that of another program.
    let version = agent.version.as_deref().unwrap_or("unknown");
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new(&agent.id, version))
}
