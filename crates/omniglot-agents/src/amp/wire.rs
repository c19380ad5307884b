//! The lines of Amp, typed, without meaning. The tag is decoded first, so that an unknown line stays whole.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};

#[derive(Debug)]
pub(crate) enum Line<'a> {
    Init(Init),
    User(Message<'a>),
    Assistant(Message<'a>),
    Result(TurnResult),
    Unknown { kind: String },
}

#[derive(Deserialize)]
struct Tag {
    r#type: String,
    #[serde(default)]
    subtype: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Init {
    pub(crate) session_id: String,
    #[serde(default)]
    pub(crate) cwd: Option<String>,
    #[serde(default)]
    pub(crate) mcp_servers: Vec<McpServer>,
    #[serde(default)]
    pub(crate) agent_mode: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    pub(crate) status: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    message: Content<'a>,
}

#[derive(Debug, Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Tokens {
    #[serde(default)]
    pub(crate) input_tokens: u64,
    #[serde(default)]
    pub(crate) output_tokens: u64,
    #[serde(default)]
    pub(crate) cache_creation_input_tokens: u64,
    #[serde(default)]
    pub(crate) cache_read_input_tokens: u64,
}

#[derive(Debug)]
pub(crate) enum Block<'a> {
    Text(String),
    Thinking(String),
    /// The model's thoughts, encrypted.
    RedactedThinking,
    Call(Call<'a>),
    Result(CallResult),
    Unknown {
        kind: String,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct Call<'a> {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(borrow)]
    pub(crate) input: &'a RawValue,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CallResult {
    pub(crate) tool_use_id: String,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) is_error: bool,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Thinking {
    thinking: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TurnResult {
    #[serde(default)]
    pub(crate) is_error: bool,
    #[serde(default)]
    pub(crate) error: Option<String>,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(frame: &'a RawValue) -> Result<Self, Unparsed> {
        let tag: Tag = decode("line", frame)?;
        Ok(match (tag.r#type.as_str(), tag.subtype.as_deref()) {
            ("system", Some("init")) => Self::Init(decode("system.init", frame)?),
            ("user", _) => Self::User(decode("user", frame)?),
            ("assistant", _) => Self::Assistant(decode("assistant", frame)?),
            ("result", _) => Self::Result(decode("result", frame)?),
            (kind, None) => Self::Unknown { kind: kind.to_owned() },
            (kind, Some(subtype)) => Self::Unknown { kind: format!("{kind}.{subtype}") },
        })
    }
}

impl<'a> Message<'a> {
    /// Returns the content; a block that cannot be read is told as a fault.
    pub(crate) fn blocks(&self, faults: &mut Vec<Unparsed>) -> Vec<Block<'a>> {
        let block = |raw: &&'a RawValue| Block::parse(raw).map_err(|fault| faults.push(fault)).ok();
        self.message.content.iter().filter_map(block).collect()
    }

    pub(crate) fn stop_reason(&self) -> Option<&str> {
        self.message.stop_reason.as_deref()
    }

    pub(crate) fn usage(&self) -> Option<Tokens> {
        self.message.usage
    }
}

impl<'a> Block<'a> {
    fn parse(raw: &'a RawValue) -> Result<Self, Unparsed> {
        let tag: Tag = decode("content", raw)?;
        Ok(match tag.r#type.as_str() {
            "text" => Self::Text(decode::<Text>("content.text", raw)?.text),
            "thinking" => Self::Thinking(decode::<Thinking>("content.thinking", raw)?.thinking),
            "redacted_thinking" => Self::RedactedThinking,
            "tool_use" => Self::Call(decode("content.tool_use", raw)?),
            "tool_result" => Self::Result(decode("content.tool_result", raw)?),
            kind => Self::Unknown { kind: kind.to_owned() },
        })
    }
}
