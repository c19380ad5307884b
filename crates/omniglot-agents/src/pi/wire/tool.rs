//! The execution of a tool: its start, its output so far and its end.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Block, blocks};
use crate::contract::Unparsed;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolStart {
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) args: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolUpdate {
    pub(crate) tool_call_id: String,
    #[serde(default)]
    pub(crate) partial_result: ToolOutput,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolEnd {
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) result: ToolOutput,
    #[serde(default)]
    pub(crate) is_error: bool,
    #[serde(default)]
    pub(crate) duration_ms: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolOutput {
    content: Option<Box<RawValue>>,
    pub(crate) details: Option<Box<RawValue>>,
    pub(crate) structured_content: Option<Box<RawValue>>,
}

impl ToolOutput {
    pub(crate) fn blocks(&self, faults: &mut Vec<Unparsed>) -> Vec<Block<'_>> {
        blocks(self.content.as_deref(), faults)
    }
}

/// The details of an edit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EditDetails {
    /// A unified diff; newer versions only.
    pub(crate) patch: Option<String>,
    /// Lines with their numbers.
    pub(crate) diff: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CommandOutcome {
    pub(crate) exit_code: Option<i64>,
}
