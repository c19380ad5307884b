//! The data of the events of sessions, turns, items and errors.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{ItemId, SessionId, TurnId};
use crate::item::UniversalItem;
use crate::usage::{StopReason, Usage};

/// The data of `session.started`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStartedData {
    /// The agent, and how the session began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<SessionStartedMetadata>,
}

/// The agent of a session, and how the session began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStartedMetadata {
    /// The name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The version that the agent reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// True when an ended session continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// The session that this session was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
}

/// How much an agent remembers after a restart of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// The agent continued its own session.
    Native,
    /// The agent loaded its session and replayed it.
    Load,
    /// The agent has lost its memory of the session.
    None,
}

/// The data of `session.ended`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionEndedData {
    /// The reason why the session ended.
    pub reason: SessionEndReason,
    /// The side that ended the session.
    pub terminated_by: TerminatedBy,
    /// The reason as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The exit code of the agent's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<StderrOutput>,
}

/// The reason why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionEndReason {
    Completed,
    Error,
    Terminated,
}

/// The side that ended a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminatedBy {
    Agent,
    Daemon,
}

/// The beginning and the end of an agent's output to stderr.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StderrOutput {
    /// The first 20 lines if truncated, else all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The last 50 lines, only if truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// Whether lines in the middle are left out.
    pub truncated: bool,
    /// The number of all lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
}

/// The common data of both turn events: the contract's own type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEventData {
    /// Which of the two events it is.
    pub phase: TurnPhase,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The data of the one or the other event.
    pub metadata: Option<serde_json::Value>,
}

/// The data of `turn.started`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnStartedData {
    /// Always `started`.
    pub phase: TurnPhase,
    /// The turn that begins.
    pub turn_id: TurnId,
    /// The reason why the turn began.
    pub metadata: TurnStartedMetadata,
}

/// The reason why a turn began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnStartedMetadata {
    /// The side that started the turn.
    pub origin: TurnOrigin,
    /// The posted message that this turn answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<crate::ids::MessageId>,
    /// The posting client's own ids for the message and its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_ids: Vec<String>,
    /// The name of the token with which the message was posted; absent for the daemon's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The `metadata` that the posting client sent with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub client_metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The side that started a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOrigin {
    /// A posted message started the turn.
    User,
    /// The agent started the turn by itself.
    Agent,
}

/// The data of `turn.ended`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEndedData {
    /// Always `ended`.
    pub phase: TurnPhase,
    /// The turn that ends.
    pub turn_id: TurnId,
    /// The result of the turn.
    pub metadata: TurnEndedMetadata,
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEndedMetadata {
    /// The reason why the turn ended.
    pub stop_reason: StopReason,
    /// The model that answered, where the agent tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tokens of subagents, where the agent counts them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_subagents: Option<Usage>,
    /// The cost of the turn in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long the turn took, in milliseconds.
    pub duration_ms: u64,
}

/// Whether a turn begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    Started,
    Ended,
}

/// The data of `item.started` and `item.completed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemEventData {
    /// The item, whole as far as it is known.
    pub item: UniversalItem,
    /// The message that was posted into a running turn, for the item that is made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<SteeringMetadata>>,
}

/// The message that an item of a running turn is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SteeringMetadata {
    /// The id of the message, as its receipt told it; absent in a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<crate::ids::MessageId>,
    /// The posting client's own ids for the message and its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_ids: Vec<String>,
    /// The name of the token with which the message was posted; absent for the daemon's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The `metadata` that the posting client sent with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub client_metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The data of `item.delta`: the next piece of an open item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemDeltaData {
    /// The item that grows.
    pub item_id: ItemId,
    /// The agent's own id of the item; it may repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_item_id: Option<String>,
    /// The text to append.
    pub delta: String,
    /// Absent means `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_type: Option<DeltaPart>,
}

/// The part of its item that a delta extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeltaPart {
    Text,
    Reasoning,
    ToolInput,
    ToolOutput,
}

/// The data of `error`: the failure of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorData {
    /// The failure as a sentence.
    pub message: String,
    /// The kind of failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The agent's own data about the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

/// The kind of failure of a turn (T16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    ProviderAuth,
    RateLimit,
    ContextOverflow,
    OutputLength,
    MaxTurns,
    MaxBudget,
    ApiError,
    ExecutionError,
    AgentCrashed,
    AgentUnavailable,
    Timeout,
    Aborted,
    DaemonRestarted,
    Unknown,
}

/// The data of `agent.unparsed`: a message of the agent that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentUnparsedData {
    /// The reason why it is not understood.
    pub error: String,
    /// The place in the message where reading it failed.
    pub location: String,
    /// The SHA-256 of the bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_hash: Option<String>,
}
