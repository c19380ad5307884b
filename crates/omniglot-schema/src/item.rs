//! Items: the discrete units of content of a session, and the parts they are made of.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{CallId, ItemId};
use crate::tool::{ToolKind, ToolSubject};
use crate::usage::Usage;

/// One unit of a session's content: a message, a call, a result, or something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UniversalItem {
    /// The id of the item; unique in its session.
    pub item_id: ItemId,
    /// The agent's own id; it may repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_item_id: Option<String>,
    /// The item that this one belongs to: the call of a result, the call that started a subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<ItemId>,
    /// The kind of item.
    pub kind: ItemKind,
    /// The side that speaks, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ItemRole>,
    /// How far the item is.
    pub status: ItemStatus,
    /// The parts of the item; final once it is completed.
    pub content: Vec<ContentPart>,
}

/// The kind of an item.
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

/// The side that an item comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemRole {
    User,
    Assistant,
    System,
    Tool,
}

/// How far an item is.
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
    /// Words.
    Text {
        /// The words; Markdown where the agent writes it.
        text: String,
    },
    /// Data of the agent that no other type fits.
    Json {
        /// Any JSON value.
        json: serde_json::Value,
    },
    /// A call of a tool.
    ToolCall {
        /// The agent's own name of the tool.
        name: String,
        /// JSON text.
        arguments: String,
        /// Ties the result to the call.
        call_id: CallId,
        /// The agent's own description of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The kind of call, the same for every agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<ToolKind>,
        /// The command, files or URL that the call is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<Box<ToolSubject>>,
    },
    /// The result of a call.
    ToolResult {
        /// The call that this is the result of.
        call_id: CallId,
        /// The text that the tool gave back.
        output: String,
        /// The stderr of the command, where the agent reports it apart; `output` is without it then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
        /// Whether the tool failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        /// The exit code of a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// How long the call ran, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A file that was read or changed.
    FileRef {
        /// The path of the file, as the agent tells it.
        path: String,
        /// Whether the file was read, written or changed.
        action: FileAction,
        /// Unified diff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// A path to GET the diff from the daemon, where it is too long to stand in `diff`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff_blob: Option<String>,
    },
    /// A thought of the model.
    Reasoning {
        /// The thought.
        text: String,
        /// Whether the thought is meant for readers.
        visibility: ReasoningVisibility,
    },
    /// An image.
    Image {
        /// A path to GET from the daemon, or a path on its machine.
        path: String,
        /// The media type of the image.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime: Option<String>,
    },
    /// Something that happened.
    Status {
        /// `<agent>.<what>`, of a closed list.
        label: String,
        /// The event in words.
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

    pub fn file(path: String, action: FileAction, diff: Option<String>) -> Self {
        Self::FileRef { path, action, diff, diff_blob: None }
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

/// The action that was carried out on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    Read,
    Write,
    Patch,
}

/// Whether a thought is meant for readers.
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
    /// A turn was reverted, or its revert taken back.
    Reverted,
}

impl StatusLabel {
    pub const ALL: [Self; 12] = [
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
        Self::Reverted,
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
            Self::Reverted => "reverted",
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
