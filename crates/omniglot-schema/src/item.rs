//! Items: the discrete units of content of a session, and the parts they are made of.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{CallId, ItemId};
use crate::tool::{ToolKind, ToolSubject};
use crate::usage::Usage;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UniversalItem {
    pub item_id: ItemId,
    /// The agent's own id; it may repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_item_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<ItemId>,
    pub kind: ItemKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ItemRole>,
    pub status: ItemStatus,
    pub content: Vec<ContentPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    Message,
    ToolCall,
    ToolResult,
    System,
    Status,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemRole {
    User,
    Assistant,
    System,
    Tool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
}

/// One typed part of an item's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    Text {
        text: String,
    },
    Json {
        json: serde_json::Value,
    },
    ToolCall {
        name: String,
        /// JSON text.
        arguments: String,
        call_id: CallId,
        /// The agent's own description of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ToolKind>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<Box<ToolSubject>>,
    },
    ToolResult {
        call_id: CallId,
        output: String,
        /// The stderr of the command, where the agent reports it apart; `output` is without it then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    FileRef {
        path: String,
        action: FileAction,
        /// Unified diff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    Reasoning {
        text: String,
        visibility: ReasoningVisibility,
    },
    Image {
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime: Option<String>,
    },
    Status {
        label: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// The tokens of the model call that a `step` is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

impl ContentPart {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns all that a tool has given back as one text, what it wrote to stderr last.
    pub fn printed(&self) -> Option<Cow<'_, str>> {
        let Self::ToolResult { output, stderr, .. } = self else { return None };
        let Some(stderr) = stderr.as_deref().filter(|stderr| !stderr.is_empty()) else {
            return Some(Cow::Borrowed(output));
        };
        let line_end = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        Some(Cow::Owned([output, line_end, stderr].concat()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    Read,
    Write,
    Patch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningVisibility {
    Public,
    Private,
}

/// The event that a status item reports: the second half of its label `<agent>.<what>` (T13).
///
/// A closed list: a new label is added here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusLabel {
    Compaction,
    Retry,
    Removed,
    ModeChanged,
    Warning,
    Hook,
    Late,
    MemoryLost,
    ExtensionError,
    ExtensionUi,
    /// One call of the model, from its beginning to its end.
    Step,
}

impl StatusLabel {
    pub const ALL: [Self; 11] = [
        Self::Compaction,
        Self::Retry,
        Self::Removed,
        Self::ModeChanged,
        Self::Warning,
        Self::Hook,
        Self::Late,
        Self::MemoryLost,
        Self::ExtensionError,
        Self::ExtensionUi,
        Self::Step,
    ];

    /// Reads the second half of a label `<agent>.<what>`.
    pub fn of_label(label: &str) -> Option<Self> {
        let (_, what) = label.rsplit_once('.')?;
        Self::ALL.into_iter().find(|known| known.as_str() == what)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Retry => "retry",
            Self::Removed => "removed",
            Self::ModeChanged => "mode_changed",
            Self::Warning => "warning",
            Self::Hook => "hook",
            Self::Late => "late",
            Self::MemoryLost => "memory_lost",
            Self::ExtensionError => "extension_error",
            Self::ExtensionUi => "extension_ui",
            Self::Step => "step",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_printed_is_its_output_and_then_its_stderr() {
        let printed = |output: &str, stderr: Option<&str>| {
            let part = ContentPart::ToolResult {
                call_id: CallId("call_1".into()),
                output: output.into(),
                stderr: stderr.map(str::to_owned),
                is_error: None,
                exit_code: None,
                duration_ms: None,
            };
            part.printed().unwrap().into_owned()
        };
        assert_eq!(printed("out", None), "out");
        assert_eq!(printed("out", Some("oops")), "out\noops");
        assert_eq!(printed("out\n", Some("oops\n")), "out\noops\n");
        assert_eq!(printed("", Some("oops")), "oops");
        assert_eq!(ContentPart::text("out").printed(), None);
    }
}
