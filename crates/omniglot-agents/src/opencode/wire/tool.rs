//! Calls of tools: how far they have come, and what single tools tell beside their output.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{File, Span};
use crate::about::if_fitting;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tool {
    pub(crate) tool: String,
    #[serde(rename = "callID")]
    pub(crate) call: String,
    pub(crate) state: ToolState,
}

impl Tool {
    /// The session of the subagent that it began.
    pub(crate) fn began(&self) -> Option<&str> {
        self.state.metadata.as_ref()?.session_id.as_deref()
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ToolState {
    pub(crate) status: ToolStatus,
    pub(crate) input: Option<Box<RawValue>>,
    pub(crate) title: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) metadata: Option<ToolMetadata>,
    #[serde(default)]
    pub(crate) attachments: Vec<File>,
    #[serde(default)]
    pub(crate) time: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ToolStatus {
    Pending,
    Running,
    Completed,
    Error,
}

/// The metadata of single tools beside their output. Every tool, also one of an MCP server, may use these names for
/// something else.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolMetadata {
    /// The whole output so far, while a command runs.
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) output: Option<String>,
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) exit: Option<i64>,
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) diff: Option<String>,
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) filediff: Option<FileDiff>,
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) filepath: Option<String>,
    /// Whether the file was there before it was written.
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) exists: Option<bool>,
    /// The child session of a subagent.
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) session_id: Option<String>,
    /// The answers to a question.
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) answers: Option<Vec<Vec<String>>>,
    /// Where the whole of a long output is.
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) output_path: Option<String>,
    /// The files that a patch has changed.
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) files: Vec<ChangedFile>,
    #[serde(deserialize_with = "if_fitting")]
    pub(crate) display: Display,
}

/// The entry that the tool `read` has shown: a file or a directory.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Display {
    #[serde(rename = "type", deserialize_with = "if_fitting")]
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangedFile {
    /// `add`, `update`, `delete` or `move`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) file_path: String,
    pub(crate) move_path: Option<String>,
    pub(crate) patch: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct FileDiff {
    pub(crate) file: String,
    pub(crate) patch: Option<String>,
}
