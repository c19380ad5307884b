//! `session/update` and the fields of a tool call, typed; no meaning added.
//!
//! Entries and enums are the protocol crate's. The structs around them are ours, because the crate
//! skips bad list entries and unknown tool states without a word; here each becomes an [`Unparsed`].

use std::borrow::Cow;

use agent_client_protocol_schema::v1::{
    AvailableCommand, CompactionStatus, ContentBlock, NoticeSeverity, PlanEntry, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolKind,
};
use omniglot_schema::ToolPath;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{entries, field};
use crate::contract::{Unparsed, decode};

/// The parameters of `session/update`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionUpdate<'a> {
    pub(crate) session_id: String,
    #[serde(borrow)]
    pub(crate) update: &'a RawValue,
}

/// An update, by its `sessionUpdate` tag.
pub(crate) enum Update<'a> {
    UserMessage,
    AgentMessage(Chunk<'a>),
    AgentThought(Chunk<'a>),
    ToolCall(ToolFields),
    /// More about a call, or the first of it.
    ToolProgress(ToolFields),
    Plan(Vec<PlanEntry>),
    Commands(Vec<AvailableCommand>),
    CurrentMode(String),
    ConfigOptions(&'a RawValue),
    SessionInfo(SessionInfo<'a>),
    Usage(UsageFields),
    Notice(NoticeFields),
    Compaction(CompactionFields),
    CompactionSummary {
        id: String,
        text: Chunk<'a>,
    },
    Unknown {
        kind: String,
    },
}

impl<'a> Update<'a> {
    /// Reads an update; pieces that make no sense go to `faults` and the rest stays.
    pub(crate) fn parse(update: &'a RawValue, faults: &mut Vec<Unparsed>) -> Result<Self, Unparsed> {
        let Tag { kind } = decode("session/update", update)?;
        Ok(match &*kind {
            "user_message_chunk" => Self::UserMessage,
            "agent_message_chunk" => Self::AgentMessage(decode(&kind, update)?),
            "agent_thought_chunk" => Self::AgentThought(decode(&kind, update)?),
            "tool_call" => Self::ToolCall(ToolFields::parse(&kind, update, faults)?),
            "tool_call_update" => Self::ToolProgress(ToolFields::parse(&kind, update, faults)?),
            "plan" => {
                let Plan { entries: list } = decode(&kind, update)?;
                Self::Plan(entries("plan.entries", Some(list), faults).unwrap_or_default())
            }
            "available_commands_update" => {
                let Commands { available_commands } = decode(&kind, update)?;
                let location = "available_commands_update.availableCommands";
                Self::Commands(entries(location, Some(available_commands), faults).unwrap_or_default())
            }
            "current_mode_update" => {
                let CurrentMode { current_mode_id } = decode(&kind, update)?;
                Self::CurrentMode(current_mode_id)
            }
            "config_option_update" => {
                let ConfigOptions { config_options } = decode(&kind, update)?;
                Self::ConfigOptions(config_options)
            }
            "session_info_update" => Self::SessionInfo(decode(&kind, update)?),
            "usage_update" => Self::Usage(UsageFields::parse(&kind, update, faults)?),
            "notice" => Self::Notice(decode(&kind, update)?),
            "compaction_update" => Self::Compaction(CompactionFields::parse(&kind, update, faults)?),
            "compaction_summary_chunk" => {
                let CompactionTag { compaction_id } = decode(&kind, update)?;
                Self::CompactionSummary { id: compaction_id, text: decode(&kind, update)? }
            }
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow, rename = "sessionUpdate")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Plan<'a> {
    #[serde(borrow)]
    entries: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commands<'a> {
    #[serde(borrow)]
    available_commands: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CurrentMode {
    current_mode_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigOptions<'a> {
    #[serde(borrow)]
    config_options: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactionTag {
    compaction_id: String,
}

/// A piece of a message or thought.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(default)]
    pub(crate) message_id: Option<String>,
    #[serde(default, borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl Chunk<'_> {
    pub(crate) fn content(&self) -> Result<ContentBlock, Unparsed> {
        decode("content", self.content)
    }

    /// Extensions are free-form: what does not have the known shape says nothing to us.
    pub(crate) fn meta(&self) -> ChunkMeta {
        ChunkMeta::read(self.meta)
    }
}

/// The extensions of a chunk that change its meaning.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChunkMeta {
    #[serde(rename = "claudeCode")]
    pub(crate) claude: ClaudeMeta,
    /// The usage that qwen-code reports per model call, instead of with the prompt's answer.
    pub(crate) usage: Option<super::usage::TokenCount>,
}

impl ChunkMeta {
    pub(crate) fn read(meta: Option<&RawValue>) -> Self {
        meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default()
    }
}

/// The `_meta` that claude-agent-acp adds to chunks and tool calls.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ClaudeMeta {
    pub(crate) tool_name: Option<String>,
    pub(crate) parent_tool_use_id: Option<String>,
    /// Present once the tool has run.
    pub(crate) tool_response: Option<serde::de::IgnoredAny>,
    /// `informational` marks a notice of the agent that is not the model's text.
    pub(crate) kind: Option<String>,
}

/// The fields of a tool call: in an announcement, an update or a permission request alike.
#[derive(Debug, Default)]
pub(crate) struct ToolFields {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) status: Option<ToolCallStatus>,
    pub(crate) content: Option<Vec<ToolCallContent>>,
    pub(crate) locations: Option<Vec<ToolPath>>,
    /// JSON text, verbatim: the tool's shape, not ours.
    pub(crate) raw_input: Option<String>,
    pub(crate) raw_output: Option<Box<RawValue>>,
    pub(crate) meta: ToolMeta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolMeta {
    #[serde(rename = "claudeCode")]
    pub(crate) claude: ClaudeMeta,
    /// The tool's own name, as qwen-code tells it.
    #[serde(rename = "toolName")]
    pub(crate) tool_name: Option<String>,
    pub(crate) terminal_output: Option<TerminalOutput>,
    pub(crate) terminal_output_delta: Option<TerminalOutput>,
    pub(crate) terminal_exit: Option<TerminalExit>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TerminalOutput {
    pub(crate) data: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TerminalExit {
    #[serde(default)]
    pub(crate) exit_code: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawToolFields<'a> {
    tool_call_id: String,
    #[serde(default, borrow)]
    title: Option<&'a RawValue>,
    #[serde(default, borrow)]
    name: Option<&'a RawValue>,
    #[serde(default, borrow)]
    kind: Option<&'a RawValue>,
    #[serde(default, borrow)]
    status: Option<&'a RawValue>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    locations: Option<&'a RawValue>,
    #[serde(default, borrow)]
    raw_input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    raw_output: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl ToolFields {
    pub(crate) fn parse(
        location: &str,
        raw: &RawValue,
        faults: &mut Vec<Unparsed>,
    ) -> Result<Self, Unparsed> {
        let raw: RawToolFields<'_> = decode(location, raw)?;
        let path = |location: ToolCallLocation| ToolPath {
            path: location.path.to_string_lossy().into_owned(),
            line: location.line.map(u64::from),
        };
        let locations = entries(&format!("{location}.locations"), raw.locations, faults);
        Ok(Self {
            title: field(&format!("{location}.title"), raw.title, faults),
            name: field(&format!("{location}.name"), raw.name, faults),
            kind: field(&format!("{location}.kind"), raw.kind, faults),
            status: field(&format!("{location}.status"), raw.status, faults),
            content: entries(&format!("{location}.content"), raw.content, faults),
            locations: locations.map(|list| list.into_iter().map(path).collect()),
            raw_input: raw.raw_input.map(|input| input.get().to_owned()),
            raw_output: raw.raw_output.map(ToOwned::to_owned),
            meta: raw.meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default(),
            id: raw.tool_call_id,
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct SessionInfo<'a> {
    /// Null takes the title away.
    #[serde(default, borrow, deserialize_with = "present")]
    title: Option<&'a RawValue>,
    #[serde(default, rename = "_meta")]
    meta: Option<serde_json::Value>,
}

impl SessionInfo<'_> {
    pub(crate) fn title(&self) -> Result<Option<Option<String>>, Unparsed> {
        self.title.map(|title| decode("session_info_update.title", title)).transpose()
    }

    /// codex-acp 2.6 reports a failed model call nowhere else.
    pub(crate) fn is_codex_system_error(&self) -> bool {
        let status = self.meta.as_ref().and_then(|meta| meta.pointer("/codex/threadStatus/type"));
        status.is_some_and(|status| status == "systemError")
    }
}

fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

pub(crate) struct UsageFields {
    pub(crate) used: u64,
    pub(crate) size: u64,
    pub(crate) cost: Option<Cost>,
    pub(crate) model: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Cost {
    pub(crate) amount: f64,
    pub(crate) currency: String,
}

#[derive(Deserialize)]
struct RawUsage<'a> {
    used: u64,
    size: u64,
    #[serde(default, borrow)]
    cost: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageMeta {
    #[serde(rename = "_claude/model")]
    claude_model: Option<String>,
}

impl UsageFields {
    fn parse(kind: &str, raw: &RawValue, faults: &mut Vec<Unparsed>) -> Result<Self, Unparsed> {
        let raw: RawUsage<'_> = decode(kind, raw)?;
        let meta: UsageMeta =
            raw.meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
        Ok(Self {
            used: raw.used,
            size: raw.size,
            cost: field("usage_update.cost", raw.cost, faults),
            model: meta.claude_model,
        })
    }
}

#[derive(Deserialize)]
pub(crate) struct NoticeFields {
    pub(crate) severity: NoticeSeverity,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
}

pub(crate) struct CompactionFields {
    pub(crate) id: String,
    pub(crate) status: CompactionStatus,
    pub(crate) summary: Vec<ContentBlock>,
    pub(crate) error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCompaction<'a> {
    compaction_id: String,
    status: CompactionStatus,
    #[serde(default, borrow)]
    summary: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

impl CompactionFields {
    fn parse(kind: &str, raw: &RawValue, faults: &mut Vec<Unparsed>) -> Result<Self, Unparsed> {
        let raw: RawCompaction<'_> = decode(kind, raw)?;
        Ok(Self {
            id: raw.compaction_id,
            status: raw.status,
            summary: entries("compaction_update.summary", raw.summary, faults).unwrap_or_default(),
            error: field("compaction_update.error", raw.error, faults),
        })
    }
}
