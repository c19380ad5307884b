//! Sessions as the REST face creates, lists and shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::agent::AgentCapabilities;
use crate::event::UniversalEvent;
use crate::ids::{SessionId, TurnId};
use crate::label::Labels;
use crate::mcp::{McpServers, SkillsConfig};
use crate::problem::AgentError;
use crate::request::{PermissionEventData, QuestionEventData};
use crate::rule::Rule;
use crate::state::{SessionState, SessionStatus};

/// A request for a new session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSessionRequest {
    /// The name of the agent.
    pub agent: String,
    /// The mode of the agent, such as `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// The rule by which permissions are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The model; the agent's default otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Passes a model that the agent does not list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// The reasoning effort of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The version of the agent to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The directory to work in; the daemon's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// MCP servers for the agent, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, crate::mcp::McpServerConfig>>)]
    pub mcp: Option<McpServers>,
    /// Skills for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<SkillsConfig>,
    /// At most 16, by which sessions are found and tokens are limited.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub labels: Labels,
    /// Whether a person answers the agent's questions; `ask` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionPolicy>,
    /// Whether the session works in a git worktree of its own, on a new branch, instead of in the directory itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
    /// Instructions for the agent beside or instead of its own; refused where the agent takes none, as `systemPrompt`
    /// of its capabilities tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemPrompt>,
    /// The tools, by the agent's own names, that it uses without asking; refused where the agent takes no such list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// The most answers of the model in one turn; refused where the agent has no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_turns: Option<std::num::NonZeroU32>,
    /// Rules about the calls of the agent, beside those of the daemon; docs/RULES.md says how they decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

/// Instructions that a session is created with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SystemPrompt {
    /// Added at the end of the agent's own instructions.
    Append(String),
    /// Given instead of the agent's own instructions.
    Replace(String),
}

impl SystemPrompt {
    pub fn text(&self) -> &str {
        match self {
            Self::Append(text) | Self::Replace(text) => text,
        }
    }
}

/// The handling of an agent's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionPolicy {
    /// Questions wait for an answer.
    Ask,
    /// Questions are rejected at once: nobody is there who could answer.
    Reject,
}

impl CreateSessionRequest {
    pub fn new(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            agent_mode: None,
            permission_mode: None,
            model: None,
            force: false,
            variant: None,
            agent_version: None,
            directory: None,
            title: None,
            mcp: None,
            skills: None,
            labels: Labels::new(),
            questions: None,
            worktree: false,
            system_prompt: None,
            allowed_tools: None,
            max_turns: None,
            rules: vec![],
        }
    }
}

/// Changes of a session; absent members stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionPatch {
    /// An empty title removes the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model to use from the next prompt on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Passes a model that the agent does not list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// The reasoning effort of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The mode of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// The rule by which permissions are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Labels to set; `null` removes one. The others stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, Option<String>>>,
}

/// A request for a new session that begins with the memory of another session's agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkRequest {
    /// The id of the new session.
    pub session_id: SessionId,
    /// The turn before which the copy ends; otherwise it has everything. Not every agent can do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_turn: Option<TurnId>,
}

/// A request to restore the files that a turn changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevertRequest {
    /// The turn; otherwise the last one that is not reverted, or the last one that was reverted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// Whether files are restored that were changed after the turn.
    #[serde(default)]
    pub force: bool,
}

/// The files that were restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevertResponse {
    /// The turn that was reverted, or whose revert was taken back.
    pub turn: TurnId,
    /// The files that were written or removed, relative to the session's directory.
    pub paths: Vec<String>,
}

/// The new session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSessionResponse {
    /// False if the session exists but cannot work yet.
    pub healthy: bool,
    /// The reason why the session cannot work yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AgentError>,
    /// The agent's own id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_session_id: Option<String>,
}

/// The answer to the creation of a session whose id the daemon has made.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedSession {
    /// The id of the new session.
    pub session_id: SessionId,
    #[serde(flatten)]
    pub created: CreateSessionResponse,
}

/// A permission or question that waits for a person, with the session in which it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequest {
    /// The session in which it was asked.
    pub session_id: SessionId,
    /// The agent that asks.
    pub agent: String,
    /// The title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The labels of the session.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub labels: Labels,
    /// The request as its event tells it.
    pub request: PendingRequest,
}

/// Open requests of all sessions, oldest session first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequestsResponse {
    /// All requests of each session in it; a session is never divided between two pages.
    pub requests: Vec<OpenRequest>,
    /// Whether more sessions have open requests.
    pub has_more: bool,
    /// The value of `after` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<SessionId>,
}

/// One session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The id of the session.
    pub session_id: SessionId,
    /// The name of the agent.
    pub agent: String,
    /// The mode of the agent.
    pub agent_mode: String,
    /// The rule by which permissions are asked for.
    pub permission_mode: String,
    /// The model that really runs, once it is known.
    pub model: Option<String>,
    /// The reasoning effort of the model.
    pub variant: Option<String>,
    /// The agent's own id of the session.
    pub native_session_id: Option<String>,
    /// Whether the session has ended; a message starts it again.
    pub ended: bool,
    /// Present in lists; a single session has the status beside its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// The number of events, which is the last sequence.
    pub event_count: u64,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// The directory that the agent works in.
    pub directory: Option<String>,
    /// The title that a person gave, else the agent's own, else the first line of the first message.
    pub title: Option<String>,
    /// The version of the agent, as it last told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The session that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    /// Present in lists with `include=state`; a single session has its state always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<SessionState>>,
    /// The labels of the session.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub labels: Labels,
    /// The MCP servers of the session, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, crate::mcp::McpServerConfig>>)]
    pub mcp: Option<McpServers>,
    /// The skills of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<SkillsConfig>,
    /// The git worktree that was made for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

/// The git worktree of a session; its directory is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// The folder of the worktree.
    pub path: String,
    /// The branch that was made for it.
    pub branch: String,
}

/// A list of sessions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionListResponse {
    /// The sessions, newest first.
    pub sessions: Vec<SessionInfo>,
}

/// One session with its current state.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionDetail {
    #[serde(flatten)]
    pub info: SessionInfo,
    /// Whether the session works, waits for a person, or is idle.
    pub status: SessionStatus,
    /// The state: the fold of all events.
    pub state: SessionState,
    /// Open permissions and questions, oldest first.
    pub pending: Vec<PendingRequest>,
    /// Counts of native data that did not become an event.
    pub stats: SessionStats,
    /// The capabilities of the session's agent: those of its handshake, where the protocol has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<AgentCapabilities>,
}

/// A request that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PendingRequest {
    Permission(PermissionEventData),
    Question(QuestionEventData),
}

/// Counts of native data that did not become an event (T17).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionStats {
    /// Native messages without content for the stream, by reason.
    #[serde(default)]
    pub dropped: BTreeMap<String, u64>,
    /// Native messages that were not understood.
    #[serde(default)]
    pub unparsed: u64,
    /// Messages whose final text contradicted the streamed text.
    #[serde(default)]
    pub rewritten: u64,
    /// Requests that a standing grant answered.
    #[serde(default)]
    pub granted: u64,
}

/// A page of a session's events.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsResponse {
    /// The events, in order.
    pub events: Vec<UniversalEvent>,
    /// Whether at least one more matching event exists.
    pub has_more: bool,
}
