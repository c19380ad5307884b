//! Hooks: who is called when something happens in a session, what became of the calls, and what they carry.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::event::{UniversalEvent, UniversalEventType};
use crate::ids::{EventId, SessionId};
use crate::label::Labels;
use crate::lifecycle::{ErrorCode, SessionEndReason};
use crate::usage::StopReason;

/// One hook of the configuration, and how its calls go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookInfo {
    /// The name of the hook.
    pub name: String,
    /// Scheme and host of its address; the rest may be a secret.
    pub target: String,
    /// How its calls go.
    pub state: HookState,
    /// The number of calls that wait.
    pub queued: u64,
    /// The number of dead letters.
    pub dead: u64,
    /// The number of calls that were taken since the daemon started.
    pub delivered: u64,
    /// The outcome of the last call, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_outcome: Option<String>,
    /// The time of that outcome, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call_at: Option<i64>,
}

/// How the calls of a hook go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    /// The last call was taken, or there was none.
    Active,
    /// The last call was not taken; it is tried again.
    Failing,
    /// The receiver answered 410: nothing is sent until the hook is retried or gets another address.
    Disabled,
}

impl HookState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Failing => "failing",
            Self::Disabled => "disabled",
        }
    }
}

/// All hooks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HookListResponse {
    /// The hooks, in the order of the configuration.
    pub hooks: Vec<HookInfo>,
}

/// A call that nobody has taken. Its body is made anew from the log when it is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The `webhook-id` of the call, which is the id of its event.
    pub id: EventId,
    /// The session of the event.
    pub session_id: SessionId,
    /// The sequence of the event.
    pub sequence: u64,
    /// The type of the event.
    pub r#type: UniversalEventType,
    /// How often the call was tried.
    pub attempts: u32,
    /// The reason why it is dead, in words.
    pub reason: String,
    /// The time since which it is dead, in milliseconds since 1970.
    pub died_at: i64,
}

/// Dead letters of a hook.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLettersResponse {
    /// The letters, oldest event first.
    pub letters: Vec<DeadLetter>,
    /// Whether there are further letters.
    pub has_more: bool,
}

/// The result of retrying dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HookRetryResponse {
    /// The number of letters that are sent again.
    pub retried: u64,
}

/// The outcome of a call that was made for a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookTestResponse {
    /// Whether the receiver has taken it.
    pub delivered: bool,
    /// The outcome in words.
    pub outcome: String,
    /// The status that the receiver answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The body of a call in the format `json`, in the manner of Standard Webhooks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HookCall {
    /// The type of the event, or `test`.
    pub r#type: String,
    /// The time of the event.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: jiff::Timestamp,
    /// The event in short.
    pub data: HookCallData,
}

/// An event in short: titles and kinds, and only with `include = "details"` more than that.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct HookCallData {
    /// The hook that calls.
    pub hook: String,
    /// A sentence about it for people.
    pub message: String,
    /// The session of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The labels of the session.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub labels: Labels,
    /// The sequence of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The permission or question, where a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The tool that the agent wants to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The reason why a turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// How long the turn took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The kind of failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ErrorCode>,
    /// The reason why the session ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<SessionEndReason>,
    /// The page of the session, where `public_url` is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The link by which a person may answer this request once, where `answer_links` is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_url: Option<String>,
    /// The whole event, with `include = "details"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Box<UniversalEvent>>,
}
