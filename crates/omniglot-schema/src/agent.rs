//! The daemon's description of the agents that it can drive.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::state::AuthStatus;

/// The agents that the daemon can drive.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AgentListResponse {
    /// All agents, in the order of the daemon's list.
    pub agents: Vec<AgentInfo>,
}

/// One agent that the daemon can drive.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// The name by which sessions are created.
    pub id: String,
    /// Whether the agent's program was found.
    pub installed: bool,
    /// Whether the credentials that the agent needs were found.
    pub credentials_available: bool,
    /// Whether the agent can work as it is: `required` where a login is missing, `unknown` where the daemon does
    /// not know in which places to look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<AuthStatus>,
    /// The version of the program at `path`, as far as it is known.
    pub version: Option<String>,
    /// The program that sessions use if they do not ask for a version.
    pub path: Option<String>,
    /// The versions that the daemon has installed, oldest first: `agentVersion` of a session names one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub installed_versions: Vec<String>,
    /// The place where the daemon found the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AgentSource>,
    /// Whether the agent was driven and recorded, or is taken at its word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<AgentStability>,
    /// The abilities of the agent.
    pub capabilities: AgentCapabilities,
    /// The server process that all sessions of the agent share, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_status: Option<ServerStatusInfo>,
}

/// The place where an agent is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentSource {
    BuiltIn,
    /// The configuration names the agent.
    Configured,
}

/// How well an agent is known to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStability {
    /// Tests drive the real agent, and its recordings are replayed.
    Verified,
    /// Nobody has tested it.
    Unverified,
}

/// The abilities of an agent: which events and items its sessions can have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// The agent has a mode in which it only plans.
    pub plan_mode: bool,
    /// The agent asks for permissions.
    pub permissions: bool,
    /// The agent asks questions.
    pub questions: bool,
    /// Sessions have items of kind `tool_call`.
    pub tool_calls: bool,
    /// Sessions have items of kind `tool_result`.
    pub tool_results: bool,
    /// Sessions have messages of text.
    pub text_messages: bool,
    /// Messages may have images as attachments.
    pub images: bool,
    /// Messages may have files as attachments.
    pub file_attachments: bool,
    /// Sessions tell their start and their end.
    pub session_lifecycle: bool,
    /// Failures are events of type `error`.
    pub error_events: bool,
    /// Sessions have parts of type `reasoning`.
    pub reasoning: bool,
    /// Sessions have items of kind `status`.
    pub status: bool,
    /// The agent runs commands.
    pub command_execution: bool,
    /// The agent tells its changes of files as `file_ref` parts.
    pub file_changes: bool,
    /// The agent uses tools of MCP servers.
    pub mcp_tools: bool,
    /// Whether the agent speaks streamable HTTP to MCP servers.
    #[serde(default)]
    pub mcp_http: bool,
    /// Whether the agent speaks the older SSE to MCP servers.
    #[serde(default)]
    pub mcp_sse: bool,
    /// Texts come piece by piece as `item.delta`.
    pub streaming_deltas: bool,
    /// Items are told when they start, too.
    pub item_started: bool,
    /// Whether one long-running server process carries all sessions of this agent.
    pub shared_process: bool,
    /// Whether a session can be created with instructions of its own (`systemPrompt`).
    #[serde(default)]
    pub system_prompt: bool,
}

/// The server process that all sessions of one agent share.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatusInfo {
    /// Whether the server runs.
    pub status: ServerStatus,
    /// The address of the server, where it has one.
    pub base_url: Option<String>,
    /// Milliseconds since the server was started.
    pub uptime_ms: Option<u64>,
    /// How often the server was started again.
    pub restart_count: u64,
    /// The last failure of the server.
    pub last_error: Option<String>,
}

/// Whether a server process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerStatus {
    Running,
    Stopped,
    Error,
}

/// The models of an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentModelsResponse {
    /// All models that the agent lists.
    pub models: Vec<AgentModelInfo>,
    /// The model of a session that names none.
    pub default_model: Option<String>,
}

/// One model of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentModelInfo {
    /// The agent's own name of the model; `provider/model` where it has providers.
    pub id: String,
    /// The name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The reasoning efforts that the model has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<String>>,
    /// The reasoning effort of a session that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_variant: Option<String>,
}

/// The modes of an agent.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct AgentModesResponse {
    /// All modes that the agent lists.
    pub modes: Vec<AgentModeInfo>,
}

/// One mode of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentModeInfo {
    /// The agent's own name of the mode.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// The effect of the mode, in a sentence.
    pub description: String,
}

/// The answer of a daemon that runs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HealthResponse {
    /// Always `ok`.
    pub status: String,
}
