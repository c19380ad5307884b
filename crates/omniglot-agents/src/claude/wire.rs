//! Claude Code's own messages, typed: one JSON object per line, read tag first, body later.
//!
//! Adds no meaning. Fields that nobody reads are left out, so a version that adds some changes nothing here.

pub(crate) mod content;
pub(crate) mod control;
pub(crate) mod result;
pub(crate) mod stream;
pub(crate) mod system;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};

pub(crate) use content::{Block, blocks};
pub(crate) use control::{
    CanUseTool, ControlRequest, ControlResponse, Outgoing, PermissionUpdate, Request, RequestBody, UserPrompt,
};
pub(crate) use result::{ModelUsage, Tokens, TurnResult};
pub(crate) use stream::{Delta, Event, Started, StartedBlock, StreamEvent};
pub(crate) use system::{CommandEntry, InitLine, System, TaskLine};

/// One line of the agent.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    System(System),
    Stream(StreamEvent<'a>),
    Assistant(Assistant<'a>),
    User(User<'a>),
    Result(Box<TurnResult>),
    ControlRequest(ControlRequest<'a>),
    ControlResponse(ControlResponse<'a>),
    ControlCancel(ControlCancel),
    ToolProgress(ToolProgress),
    ToolUseSummary(ToolUseSummary),
    AuthStatus(AuthStatus),
    CommandLifecycle(CommandLifecycle),
    RateLimit(RateLimit),
    /// The conversation is new; the next `init` tells its id.
    ConversationReset,
    PromptSuggestion,
    KeepAlive,
    Unknown {
        kind: String,
    },
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

impl<'a> Message<'a> {
    pub(crate) fn parse(frame: &'a RawValue) -> Result<Self, Unparsed> {
        let Tag { kind } = decode("stdout", frame)?;
        Ok(match &*kind {
            "system" => Self::System(System::parse(frame)?),
            "stream_event" => Self::Stream(decode(&kind, frame)?),
            "assistant" => Self::Assistant(decode(&kind, frame)?),
            "user" => Self::User(decode(&kind, frame)?),
            "result" => Self::Result(Box::new(decode(&kind, frame)?)),
            "control_request" => Self::ControlRequest(decode(&kind, frame)?),
            "control_response" => Self::ControlResponse(decode(&kind, frame)?),
            "control_cancel_request" => Self::ControlCancel(decode(&kind, frame)?),
            "tool_progress" => Self::ToolProgress(decode(&kind, frame)?),
            "tool_use_summary" => Self::ToolUseSummary(decode(&kind, frame)?),
            "auth_status" => Self::AuthStatus(decode(&kind, frame)?),
            "command_lifecycle" => Self::CommandLifecycle(decode(&kind, frame)?),
            "rate_limit_event" => Self::RateLimit(decode(&kind, frame)?),
            "conversation_reset" => Self::ConversationReset,
            "prompt_suggestion" => Self::PromptSuggestion,
            "keep_alive" => Self::KeepAlive,
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

/// One content block of a reply; all lines of a message have its id.
#[derive(Debug, Deserialize)]
pub(crate) struct Assistant<'a> {
    #[serde(borrow)]
    pub(crate) message: Reply<'a>,
    #[serde(default)]
    pub(crate) parent_tool_use_id: Option<String>,
    /// The kind of API error that the text reports.
    #[serde(default)]
    pub(crate) error: Option<String>,
    /// The reply was cut.
    #[serde(default)]
    pub(crate) aborted: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Reply<'a> {
    pub(crate) id: String,
    /// `<synthetic>` when the CLI wrote it.
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(borrow)]
    pub(crate) content: &'a RawValue,
}

/// A message that the CLI adds on the user's side: tool results, notes, echoes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct User<'a> {
    #[serde(borrow)]
    pub(crate) message: UserContent<'a>,
    #[serde(default, rename = "parent_tool_use_id")]
    pub(crate) parent_tool_use_id: Option<String>,
    #[serde(default, borrow, rename = "tool_use_result")]
    pub(crate) tool_use_result: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) uuid: Option<String>,
    #[serde(default)]
    pub(crate) is_replay: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UserContent<'a> {
    #[serde(borrow)]
    pub(crate) content: &'a RawValue,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ControlCancel {
    pub(crate) request_id: String,
}

/// A sign of life of a running tool. The ids are swapped: `tool_use_id` is one of the message's own.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolProgress {
    #[serde(default)]
    pub(crate) parent_tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolUseSummary {
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) preceding_tool_use_ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthStatus {
    #[serde(default)]
    pub(crate) error: Option<String>,
}

/// The progress of a prompt that was sent with a uuid.
#[derive(Debug, Deserialize)]
pub(crate) struct CommandLifecycle {
    pub(crate) command_uuid: String,
    pub(crate) state: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RateLimit {
    #[serde(default)]
    pub(crate) rate_limit_info: RateLimitInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RateLimitInfo {
    pub(crate) status: Option<String>,
    /// Seconds since 1970.
    pub(crate) resets_at: Option<f64>,
    pub(crate) rate_limit_type: Option<String>,
}
