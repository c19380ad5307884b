//! The parts of a message.

use serde::Serialize;

use super::Record;
use super::session::Tokens;
use crate::faces::opencode::wire::ids::Id;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    pub id: Id,
    #[serde(rename = "sessionID")]
    pub session_id: Id,
    #[serde(rename = "messageID")]
    pub message_id: Id,
    #[serde(flatten)]
    pub body: PartBody,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PartBody {
    Text {
        text: String,
        /// True for text of neither a person nor a model.
        #[serde(skip_serializing_if = "Option::is_none")]
        synthetic: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        time: Option<Span>,
    },
    Reasoning {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Record>,
        time: Span,
    },
    File(Attachment),
    Tool(ToolPart),
    StepStart {},
    StepFinish {
        reason: &'static str,
        cost: f64,
        tokens: Tokens,
    },
    Patch {
        hash: String,
        files: Vec<String>,
    },
    Compaction {
        auto: bool,
    },
}

/// Milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span {
    pub start: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<i64>,
}

/// A file by its address.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attachment {
    pub mime: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolPart {
    #[serde(rename = "callID")]
    pub call_id: String,
    pub tool: String,
    pub state: ToolState,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum ToolState {
    Pending {
        input: Record,
        raw: String,
    },
    Running {
        input: Record,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(skip_serializing_if = "Record::is_empty")]
        metadata: Record,
        time: Span,
    },
    Completed {
        input: Record,
        output: String,
        title: String,
        metadata: Record,
        time: Span,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Part>,
    },
    Error {
        input: Record,
        error: String,
        #[serde(skip_serializing_if = "Record::is_empty")]
        metadata: Record,
        time: Span,
    },
}
