//! Permissions and questions, and the answers to them.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct PermissionAsked {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) permission: String,
    #[serde(default)]
    pub(crate) patterns: Vec<String>,
    /// The patterns that an `always` would allow.
    #[serde(default)]
    pub(crate) always: Vec<String>,
    #[serde(default)]
    pub(crate) metadata: PermissionMetadata,
    pub(crate) tool: Option<ToolRef>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PermissionMetadata {
    pub(crate) command: Option<String>,
    pub(crate) filepath: Option<String>,
    pub(crate) diff: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolRef {
    #[serde(rename = "callID")]
    pub(crate) call: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PermissionReplied {
    #[serde(rename = "requestID")]
    pub(crate) request: String,
    pub(crate) reply: Reply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reply {
    Once,
    Always,
    Reject,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QuestionAsked {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) questions: Vec<Question>,
    pub(crate) tool: Option<ToolRef>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Question {
    pub(crate) question: String,
    pub(crate) header: Option<String>,
    #[serde(default)]
    pub(crate) options: Vec<Choice>,
    #[serde(default)]
    pub(crate) multiple: bool,
    /// Whether own words are welcome; they are unless it says no.
    pub(crate) custom: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice {
    pub(crate) label: String,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QuestionReplied {
    #[serde(rename = "requestID")]
    pub(crate) request: String,
    #[serde(default)]
    pub(crate) answers: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QuestionRejected {
    #[serde(rename = "requestID")]
    pub(crate) request: String,
}
