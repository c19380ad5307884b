//! The lines of a transcript, typed: those of the protocol in another spelling, and the CLI's own notes.
//!
//! Adds no meaning.

mod system;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::translate::INTERRUPTED;
use super::super::wire::system::TaskLine;
use super::super::wire::{Assistant, Block, Reply, Tokens, User, UserContent, blocks};
use super::order::Entry;
use crate::contract::{Unparsed, decode};

pub(super) use system::SystemLine;

/// The fields that every line may have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) uuid: Option<String>,
    #[serde(default)]
    pub(super) timestamp: Option<String>,
    #[serde(default)]
    pub(super) is_sidechain: bool,
    #[serde(default)]
    pub(super) agent_id: Option<String>,
    #[serde(default)]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    pub(super) version: Option<String>,
}

impl Head {
    /// A line of the conversation.
    pub(super) fn is_spoken(&self) -> bool {
        matches!(self.kind.as_str(), "user" | "assistant")
    }
}

/// The field that distinguishes a transcript from a recording.
#[derive(Deserialize)]
pub(super) struct Tag {
    #[serde(rename = "type")]
    _kind: String,
    #[serde(default)]
    pub(super) ch: Option<String>,
}

#[derive(Debug)]
pub(super) enum Line<'a> {
    User(UserLine<'a>),
    Assistant(AssistantLine<'a>),
    System(SystemLine),
    Attachment(AttachmentLine<'a>),
    Title {
        title: Option<String>,
        /// By a person.
        given: bool,
    },
    Cost {
        total: f64,
    },
    /// A prompt waits, or waits no more.
    Queue,
    /// A copy of what the model was sent, with the vendor's prompts: never to be shown.
    ModelRequest,
    /// A line that the CLI keeps for itself.
    Bookkeeping,
    Progress,
    Unknown {
        kind: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Title {
    #[serde(default, alias = "aiTitle", alias = "summary")]
    custom_title: Option<String>,
}

#[derive(Deserialize)]
struct Cost {
    #[serde(rename = "totalCostUSD")]
    total: f64,
}

impl<'a> Line<'a> {
    pub(super) fn parse(kind: &str, frame: &'a RawValue) -> Result<Self, Unparsed> {
        Ok(match kind {
            "user" => Self::User(decode(kind, frame)?),
            "assistant" => Self::Assistant(decode(kind, frame)?),
            "system" => Self::System(SystemLine::parse(frame)?),
            "attachment" => Self::Attachment(decode(kind, frame)?),
            "custom-title" => Self::Title { title: decode::<Title>(kind, frame)?.custom_title, given: true },
            "ai-title" | "summary" => {
                Self::Title { title: decode::<Title>(kind, frame)?.custom_title, given: false }
            }
            "cost-state" => Self::Cost { total: decode::<Cost>(kind, frame)?.total },
            "queue-operation" => Self::Queue,
            "api-request" | "api-request-shape" | "api-request-blob" => Self::ModelRequest,
            "last-prompt"
            | "tools-used"
            | "atis-latch"
            | "mode"
            | "permission-mode"
            | "agent-name"
            | "agent-color"
            | "agent-setting"
            | "file-history-snapshot"
            | "file-history-delta"
            | "attribution-snapshot" => Self::Bookkeeping,
            "progress" => Self::Progress,
            _ => Self::Unknown { kind: kind.to_owned() },
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserLine<'a> {
    #[serde(borrow)]
    pub(super) message: UserContent<'a>,
    #[serde(default)]
    pub(super) uuid: Option<String>,
    #[serde(default, borrow)]
    tool_use_result: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) permission_mode: Option<String>,
    /// The CLI wrote it for the model.
    #[serde(default)]
    pub(super) is_meta: bool,
    #[serde(default)]
    pub(super) is_compact_summary: bool,
}

/// The result of a call that makes a subagent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subagent {
    agent_id: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    agent_type: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

impl<'a> UserLine<'a> {
    /// As the protocol has it.
    pub(super) fn live(&self, entry: &Entry<'_>) -> User<'a> {
        User {
            message: UserContent { content: self.message.content },
            parent_tool_use_id: entry.thread.clone(),
            tool_use_result: self.tool_use_result,
            uuid: self.uuid.clone(),
            is_replay: false,
        }
    }

    fn subagent(&self) -> Option<(Subagent, String)> {
        let raw = self.tool_use_result.filter(|raw| raw.get().starts_with('{'))?;
        let agent = serde_json::from_str::<Subagent>(raw.get()).ok()?;
        let read = blocks(self.message.content, &mut Vec::new());
        let call = read.into_iter().find_map(|block| {
            let Block::ToolResult(result) = block else { return None };
            Some(result.tool_use_id)
        });
        Some((agent, call?))
    }

    pub(super) fn agent_and_call(&self) -> Option<(String, String)> {
        self.subagent().map(|(agent, call)| (agent.agent_id, call))
    }

    /// The subagent that goes on in the background.
    pub(super) fn launched(&self) -> Option<TaskLine> {
        let (agent, call) = self.subagent()?;
        (agent.status.as_deref() == Some("async_launched")).then(|| TaskLine {
            task_id: agent.agent_id,
            tool_use_id: Some(call),
            task_type: Some("local_agent".to_owned()),
            subagent_type: agent.agent_type,
            description: agent.description,
            ..TaskLine::default()
        })
    }

    pub(super) fn is_interruption(&self) -> bool {
        let read = blocks(self.message.content, &mut Vec::new());
        matches!(read.as_slice(), [Block::Text(text)] if text.starts_with(INTERRUPTED))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AssistantLine<'a> {
    #[serde(borrow)]
    pub(super) message: FinalReply<'a>,
    #[serde(default)]
    pub(super) is_api_error_message: bool,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    is_aborted_mid_stream: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct FinalReply<'a> {
    pub(super) id: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<Tokens>,
}

impl<'a> AssistantLine<'a> {
    /// As the protocol has it.
    pub(super) fn live(self, entry: &Entry<'_>) -> Assistant<'a> {
        let FinalReply { id, model, content, .. } = self.message;
        Assistant {
            message: Reply { id, model, content },
            parent_tool_use_id: entry.thread.clone(),
            error: self.is_api_error_message.then(|| self.error.unwrap_or_else(|| "unknown".to_owned())),
            aborted: self.is_aborted_mid_stream || entry.cut,
        }
    }

    pub(super) fn calls_a_tool(&self) -> bool {
        let read = blocks(self.message.content, &mut Vec::new());
        read.iter().any(|block| matches!(block, Block::ToolUse(_)))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct AttachmentLine<'a> {
    #[serde(borrow)]
    pub(super) attachment: Attachment<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Attachment<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(default)]
    origin: Option<Origin>,
}

/// Who queued it, when it was not a person.
#[derive(Debug, Deserialize)]
struct Origin {
    #[serde(default)]
    kind: Option<String>,
}

impl<'a> Attachment<'a> {
    /// A prompt that the CLI put into the running turn.
    pub(super) fn queued_prompt(&self) -> Option<&'a RawValue> {
        let by_person =
            self.origin.as_ref().and_then(|origin| origin.kind.as_deref()).is_none_or(|kind| kind == "human");
        self.prompt.filter(|_| self.kind == "queued_command" && by_person)
    }
}
