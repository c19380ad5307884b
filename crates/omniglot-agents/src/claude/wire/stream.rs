//! The model's own stream, passed on by the CLI event by event.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Tokens;
use crate::contract::{Unparsed, decode};

#[derive(Debug, Deserialize)]
pub(crate) struct StreamEvent<'a> {
    #[serde(borrow)]
    event: &'a RawValue,
    #[serde(default)]
    pub(crate) parent_tool_use_id: Option<String>,
    /// With the end of a message that was cut (2.1.325): its blocks from this one on are void.
    #[serde(default)]
    pub(crate) abandoned_blocks: Option<Abandoned>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Abandoned {
    pub(crate) from_block_index: u32,
}

#[derive(Debug)]
pub(crate) enum Event {
    MessageStart(Started),
    BlockStart { index: u32, block: StartedBlock },
    BlockDelta { index: u32, delta: Delta },
    BlockStop,
    MessageDelta { usage: Option<Tokens>, stop_reason: Option<String> },
    MessageStop,
    Ping,
    Unknown { kind: String },
}

#[derive(Debug, Deserialize)]
pub(crate) struct Started {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) usage: Option<Tokens>,
}

#[derive(Debug)]
pub(crate) enum StartedBlock {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse { id: String, name: String },
    Unknown { kind: String },
}

#[derive(Debug)]
pub(crate) enum Delta {
    Text(String),
    Thinking(String),
    InputJson(String),
    /// Signatures and citations: nothing to show.
    Silent,
    Unknown {
        kind: String,
    },
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct MessageStart {
    message: Started,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    index: u32,
    #[serde(borrow)]
    content_block: &'a RawValue,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
    index: u32,
    #[serde(borrow)]
    delta: &'a RawValue,
}

#[derive(Deserialize)]
struct MessageDelta {
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    delta: Stop,
}

#[derive(Default, Deserialize)]
struct Stop {
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct NamedTool {
    id: String,
    name: String,
}

/// The one text that a delta carries, under the name of its kind.
#[derive(Deserialize)]
struct DeltaText {
    #[serde(alias = "thinking", alias = "partial_json")]
    text: String,
}

impl StreamEvent<'_> {
    pub(crate) fn event(&self) -> Result<Event, Unparsed> {
        let Tag { kind } = decode("stream_event", self.event)?;
        let location = format!("stream_event.{kind}");
        Ok(match &*kind {
            "message_start" => Event::MessageStart(decode::<MessageStart>(&location, self.event)?.message),
            "content_block_start" => {
                let BlockStart { index, content_block } = decode(&location, self.event)?;
                Event::BlockStart { index, block: StartedBlock::parse(&location, content_block)? }
            }
            "content_block_delta" => {
                let BlockDelta { index, delta } = decode(&location, self.event)?;
                Event::BlockDelta { index, delta: Delta::parse(&location, delta)? }
            }
            "content_block_stop" => Event::BlockStop,
            "message_delta" => {
                let MessageDelta { usage, delta } = decode(&location, self.event)?;
                Event::MessageDelta { usage, stop_reason: delta.stop_reason }
            }
            "message_stop" => Event::MessageStop,
            "ping" => Event::Ping,
            _ => Event::Unknown { kind: kind.into_owned() },
        })
    }
}

impl StartedBlock {
    fn parse(location: &str, block: &RawValue) -> Result<Self, Unparsed> {
        let Tag { kind } = decode(location, block)?;
        Ok(match &*kind {
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "redacted_thinking" => Self::RedactedThinking,
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let NamedTool { id, name } = decode(location, block)?;
                Self::ToolUse { id, name }
            }
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

impl Delta {
    fn parse(location: &str, delta: &RawValue) -> Result<Self, Unparsed> {
        let Tag { kind } = decode(location, delta)?;
        let text = || decode::<DeltaText>(location, delta).map(|delta| delta.text);
        Ok(match &*kind {
            "text_delta" => Self::Text(text()?),
            "thinking_delta" => Self::Thinking(text()?),
            "input_json_delta" => Self::InputJson(text()?),
            "signature_delta" | "citations_delta" => Self::Silent,
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}
