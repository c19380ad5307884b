//! Content blocks of messages: the model's and the CLI's.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};
use crate::fault::unparsed;

#[derive(Debug)]
pub(crate) enum Block<'a> {
    Text(String),
    Thinking(String),
    /// Thought that only its vendor can read.
    RedactedThinking,
    ToolUse(ToolUse),
    ToolResult(ToolResult<'a>),
    Image(ImageSource),
    /// A tool that a search has found.
    ToolReference(String),
    Unknown {
        kind: String,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The tool's shape, not ours: kept verbatim.
    pub(crate) input: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolResult<'a> {
    pub(crate) tool_use_id: String,
    #[serde(default, borrow)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) is_error: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ImageSource {
    #[serde(default)]
    pub(crate) media_type: Option<String>,
    #[serde(default)]
    pub(crate) data: Option<String>,
    #[serde(default)]
    pub(crate) url: Option<String>,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Text {
    #[serde(alias = "code", alias = "refusal")]
    text: String,
}

#[derive(Deserialize)]
struct Thinking {
    #[serde(default)]
    thinking: String,
}

#[derive(Deserialize)]
struct Image {
    source: ImageSource,
}

/// An image as MCP servers have it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpImage {
    data: String,
    mime_type: String,
}

#[derive(Deserialize)]
struct Reference {
    tool_name: String,
}

impl<'a> Block<'a> {
    pub(crate) fn parse(block: &'a RawValue) -> Result<Self, Unparsed> {
        let Tag { kind } = decode("content", block)?;
        let location = format!("content.{kind}");
        Ok(match &*kind {
            "text" | "code" | "refusal" => Self::Text(decode::<Text>(&location, block)?.text),
            "thinking" => Self::Thinking(decode::<Thinking>(&location, block)?.thinking),
            "redacted_thinking" => Self::RedactedThinking,
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Self::ToolUse(decode(&location, block)?),
            "tool_reference" => Self::ToolReference(decode::<Reference>(&location, block)?.tool_name),
            "image" => Self::Image(image(&location, block)?),
            kind if kind.ends_with("tool_result") => Self::ToolResult(decode(&location, block)?),
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

fn image(location: &str, block: &RawValue) -> Result<ImageSource, Unparsed> {
    match serde_json::from_str::<McpImage>(block.get()) {
        Ok(McpImage { data, mime_type }) => {
            Ok(ImageSource { media_type: Some(mime_type), data: Some(data), url: None })
        }
        Err(_) => Ok(decode::<Image>(location, block)?.source),
    }
}

/// The blocks of a content, which may be plain text instead of a list. What is not understood is told apart,
/// so that the rest of the message stays.
pub(crate) fn blocks<'a>(content: &'a RawValue, faults: &mut Vec<Unparsed>) -> Vec<Block<'a>> {
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return vec![Block::Text(text)];
    }
    let raw: Vec<&'a RawValue> = match serde_json::from_str(content.get()) {
        Ok(list) => list,
        Err(error) => {
            faults.push(unparsed("content", error.to_string()));
            vec![]
        }
    };
    let mut read = Vec::with_capacity(raw.len());
    for block in raw {
        match Block::parse(block) {
            Ok(Block::Unknown { kind }) => {
                faults.push(unparsed("content", format!("unknown kind of block: {kind}")));
            }
            Ok(block) => read.push(block),
            Err(fault) => faults.push(fault),
        }
    }
    read
}
