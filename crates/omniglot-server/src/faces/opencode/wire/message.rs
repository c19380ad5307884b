//! A message's record: one of the user's, or the assistant's.

use serde::Serialize;

use super::error::OcError;
use super::part::Part;
use super::session::{FileDiff, Tokens};
use crate::faces::opencode::wire::ids::Id;

/// One entry of `GET /session/{id}/message`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageWithParts {
    pub info: MessageInfo,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum MessageInfo {
    User(UserMessage),
    Assistant(Box<AssistantMessage>),
}

impl MessageInfo {
    pub fn id(&self) -> &Id {
        match self {
            Self::User(user) => &user.id,
            Self::Assistant(assistant) => &assistant.id,
        }
    }

    pub fn session_id(&self) -> &Id {
        match self {
            Self::User(user) => &user.session_id,
            Self::Assistant(assistant) => &assistant.session_id,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserMessage {
    pub id: Id,
    #[serde(rename = "sessionID")]
    pub session_id: Id,
    pub time: UserTime,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<UserSummary>,
    pub agent: String,
    pub model: MessageModel,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserTime {
    pub created: i64,
}

/// The changes of the turn that this message began.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct UserSummary {
    pub diffs: Vec<FileDiff>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageModel {
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(rename = "modelID")]
    pub model_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssistantMessage {
    pub id: Id,
    #[serde(rename = "sessionID")]
    pub session_id: Id,
    pub time: AssistantTime,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<OcError>,
    #[serde(rename = "parentID")]
    pub parent_id: Id,
    #[serde(rename = "modelID")]
    pub model_id: String,
    #[serde(rename = "providerID")]
    pub provider_id: String,
    pub mode: String,
    pub agent: String,
    pub path: MessagePath,
    /// Set on the message that carries the summary of a compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<bool>,
    pub cost: f64,
    pub tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssistantTime {
    pub created: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessagePath {
    pub cwd: String,
    pub root: String,
}
