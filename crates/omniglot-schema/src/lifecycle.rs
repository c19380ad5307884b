//! The data of the events of sessions, turns, items and errors.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{ItemId, SessionId, TurnId};
use crate::item::UniversalItem;
use crate::usage::{StopReason, Usage};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStartedData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<SessionStartedMetadata>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStartedMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionEndedData {
    pub reason: SessionEndReason,
    pub terminated_by: TerminatedBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<StderrOutput>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionEndReason {
    Completed,
    Error,
    Terminated,
}

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
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
}

/// The common data of both turn events: the contract's own type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEventData {
    pub phase: TurnPhase,
    pub turn_id: Option<TurnId>,
    pub metadata: Option<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnStartedData {
    pub phase: TurnPhase,
    pub turn_id: TurnId,
    pub metadata: TurnStartedMetadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnStartedMetadata {
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOrigin {
    /// A posted message started the turn.
    User,
    /// The agent started the turn by itself.
    Agent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEndedData {
    pub phase: TurnPhase,
    pub turn_id: TurnId,
    pub metadata: TurnEndedMetadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEndedMetadata {
    pub stop_reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_subagents: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub duration_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    Started,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemEventData {
    pub item: UniversalItem,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemDeltaData {
    pub item_id: ItemId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_item_id: Option<String>,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorData {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub code: Option<ErrorCode>,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentUnparsedData {
    pub error: String,
    pub location: String,
    /// The SHA-256 of the bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_hash: Option<String>,
}
