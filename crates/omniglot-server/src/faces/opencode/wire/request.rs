//! The requests of an agent to a person.

use serde::Serialize;

use super::Record;
use crate::faces::opencode::wire::ids::Id;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PermissionRequest {
    pub id: Id,
    #[serde(rename = "sessionID")]
    pub session_id: Id,
    /// The kind of permission: the name of a tool.
    pub permission: String,
    pub patterns: Vec<String>,
    pub metadata: Record,
    /// The patterns that the answer `always` would allow.
    pub always: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolReference>,
}

/// The tool call that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolReference {
    #[serde(rename = "messageID")]
    pub message_id: Id,
    #[serde(rename = "callID")]
    pub call_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    Once,
    Always,
    Reject,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionRequest {
    pub id: Id,
    #[serde(rename = "sessionID")]
    pub session_id: Id,
    pub questions: Vec<QuestionInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolReference>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionInfo {
    pub question: String,
    pub header: String,
    pub options: Vec<QuestionOption>,
    pub multiple: bool,
    /// Whether an answer beside the options is allowed.
    pub custom: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionOption {
    pub label: String,
    pub description: String,
}
