//! The messages of `pi --mode rpc`, typed: one JSON object per line, read tag first, body later.
//!
//! Adds no meaning. Pi repeats the whole message in every update; only the change is read.

mod message;
mod tool;
mod update;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};
use message::OfMessage;
pub(crate) use message::{Block, Message, Tokens};
pub(crate) use tool::*;
pub(crate) use update::*;

/// One line of Pi.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    Response(Response<'a>),
    Dialog(Dialog),
    AgentStart,
    AgentEnd(AgentEnd),
    Settled(Settled),
    MessageStart(Message<'a>),
    MessageUpdate(Box<Update>),
    MessageEnd(Message<'a>),
    ToolUpdate(ToolUpdate),
    ToolEnd(Box<ToolEnd>),
    ToolStart(ToolStart),
    Level(Level),
    Name(Name),
    CompactionStart(CompactionStart),
    CompactionEnd(CompactionEnd),
    RetryStart(RetryStart),
    RetryEnd(RetryEnd),
    ExtensionError(ExtensionError),
    /// It repeats what others tell, or counts what nobody waits for.
    Repeated,
    Unknown {
        kind: String,
    },
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(frame: &'a RawValue) -> Result<Self, Unparsed> {
        let Tag { r#type: kind } = decode("line", frame)?;
        Ok(match &*kind {
            "response" => Self::Response(decode(&kind, frame)?),
            "extension_ui_request" => Self::Dialog(decode(&kind, frame)?),
            "agent_start" => Self::AgentStart,
            "agent_end" => Self::AgentEnd(decode(&kind, frame)?),
            "agent_settled" => Self::Settled(decode(&kind, frame)?),
            "message_start" => Self::MessageStart(decode::<OfMessage<'_>>(&kind, frame)?.message),
            "message_update" => Self::MessageUpdate(decode(&kind, frame)?),
            "message_end" => Self::MessageEnd(decode::<OfMessage<'_>>(&kind, frame)?.message),
            "tool_execution_start" => Self::ToolStart(decode(&kind, frame)?),
            "tool_execution_update" => Self::ToolUpdate(decode(&kind, frame)?),
            "tool_execution_end" => Self::ToolEnd(decode(&kind, frame)?),
            "thinking_level_changed" => Self::Level(decode(&kind, frame)?),
            "session_info_changed" => Self::Name(decode(&kind, frame)?),
            "compaction_start" => Self::CompactionStart(decode(&kind, frame)?),
            "compaction_end" => Self::CompactionEnd(decode(&kind, frame)?),
            "auto_retry_start" => Self::RetryStart(decode(&kind, frame)?),
            "auto_retry_end" => Self::RetryEnd(decode(&kind, frame)?),
            "extension_error" => Self::ExtensionError(decode(&kind, frame)?),
            "turn_start" | "turn_end" | "queue_update" | "entry_appended" | "bash_execution_update" => {
                Self::Repeated
            }
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Response<'a> {
    #[serde(default)]
    pub(crate) id: Option<String>,
    pub(crate) command: String,
    pub(crate) success: bool,
    #[serde(borrow, default)]
    pub(crate) data: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) error: Option<String>,
}

impl Response<'_> {
    pub(crate) fn words(&self) -> String {
        self.error.clone().unwrap_or_else(|| format!("{} was refused", self.command))
    }
}

/// A request of an extension to the person, or a note for the screen.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dialog {
    pub(crate) id: String,
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) message: Option<String>,
    #[serde(default)]
    pub(crate) options: Vec<String>,
    #[serde(default)]
    pub(crate) placeholder: Option<String>,
    #[serde(default)]
    pub(crate) prefill: Option<String>,
    /// The milliseconds after which Pi takes no answer any more.
    #[serde(default)]
    pub(crate) timeout: Option<f64>,
    #[serde(default, rename = "statusKey")]
    pub(crate) status_key: Option<String>,
    #[serde(default, rename = "statusText")]
    pub(crate) status_text: Option<String>,
    #[serde(default, rename = "notifyType")]
    pub(crate) notify_type: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AgentEnd {
    /// Only versions that end with `agent_settled` have it.
    #[serde(default, rename = "willRetry")]
    pub(crate) will_retry: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Settled {
    #[serde(default)]
    pub(crate) aborted: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Level {
    pub(crate) level: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Name {
    #[serde(default)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CompactionStart {
    #[serde(default)]
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionEnd {
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) result: Option<Compacted>,
    #[serde(default)]
    pub(crate) aborted: bool,
    #[serde(default)]
    pub(crate) will_retry: bool,
    #[serde(default)]
    pub(crate) error_message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Compacted {
    #[serde(default)]
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) tokens_before: Option<u64>,
    #[serde(default)]
    pub(crate) estimated_tokens_after: Option<u64>,
    #[serde(default)]
    pub(crate) usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryStart {
    #[serde(default)]
    pub(crate) attempt: u64,
    #[serde(default)]
    pub(crate) max_attempts: u64,
    #[serde(default)]
    pub(crate) delay_ms: u64,
    #[serde(default)]
    pub(crate) error_message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryEnd {
    #[serde(default)]
    pub(crate) success: bool,
    #[serde(default)]
    pub(crate) final_error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtensionError {
    #[serde(default)]
    pub(crate) extension_path: String,
    #[serde(default)]
    pub(crate) event: String,
    #[serde(default)]
    pub(crate) error: String,
}

/// The state of a session, as `get_state` tells it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    #[serde(default)]
    pub(crate) model: Option<Model>,
    #[serde(default)]
    pub(crate) thinking_level: Option<String>,
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    #[serde(default)]
    pub(crate) session_name: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Model {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) provider: String,
    #[serde(default)]
    pub(crate) reasoning: bool,
    #[serde(default)]
    pub(crate) context_window: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Models {
    #[serde(default)]
    pub(crate) models: Vec<Model>,
}

/// The messages of the user from which the session can be forked, oldest first.
#[derive(Debug, Deserialize)]
pub(crate) struct ForkMessages {
    pub(crate) messages: Vec<ForkMessage>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForkMessage {
    pub(crate) entry_id: String,
    pub(crate) text: String,
}

/// The answer to a fork.
#[derive(Debug, Deserialize)]
pub(crate) struct Forked {
    #[serde(default)]
    pub(crate) cancelled: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Commands {
    #[serde(default)]
    pub(crate) commands: Vec<CommandEntry>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CommandEntry {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Accepted {
    pub(crate) disposition: Option<String>,
}
