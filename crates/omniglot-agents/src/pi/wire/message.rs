//! A message of the conversation: its blocks and its tokens.

use omniglot_schema::ContentPart;
use omniglot_timeline::inline_image;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Tag;
use crate::contract::{Unparsed, decode};
use crate::fault::unparsed;

#[derive(Deserialize)]
pub(super) struct OfMessage<'a> {
    #[serde(borrow)]
    pub(super) message: Message<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message<'a> {
    pub(crate) role: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) provider: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) usage: Option<Tokens>,
    #[serde(default)]
    pub(crate) stop_reason: Option<String>,
    #[serde(default)]
    pub(crate) error_message: Option<String>,
    #[serde(default)]
    pub(crate) display: Option<bool>,
}

impl<'a> Message<'a> {
    /// Returns the blocks of the content, each by itself: a bad one takes none of the others away.
    pub(crate) fn blocks(&self, faults: &mut Vec<Unparsed>) -> Vec<Block<'a>> {
        blocks(self.content, faults)
    }
}

pub(super) fn blocks<'a>(content: Option<&'a RawValue>, faults: &mut Vec<Unparsed>) -> Vec<Block<'a>> {
    let Some(content) = content else { return vec![] };
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return vec![Block::Text { text }];
    }
    let list: Vec<&RawValue> = decode("content", content).unwrap_or_else(|fault| {
        faults.push(fault);
        vec![]
    });
    list.into_iter().map(|block| Block::parse(block, faults)).collect()
}

/// A block of a message. An unknown one keeps its position.
#[derive(Debug, Clone)]
pub(crate) enum Block<'a> {
    Text { text: String },
    Thinking { text: String },
    Call(ToolCall<'a>),
    Image(ContentPart),
    Unknown,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ToolCall<'a> {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock {
    text: String,
}

#[derive(Deserialize)]
struct ThinkingBlock {
    #[serde(default)]
    thinking: String,
}

#[derive(Deserialize)]
struct ImageBlock {
    data: String,
    #[serde(rename = "mimeType")]
    mime_type: String,
}

impl<'a> Block<'a> {
    fn parse(block: &'a RawValue, faults: &mut Vec<Unparsed>) -> Self {
        Self::read(block).unwrap_or_else(|fault| {
            faults.push(fault);
            Self::Unknown
        })
    }

    fn read(block: &'a RawValue) -> Result<Self, Unparsed> {
        let Tag { r#type: kind } = decode("content", block)?;
        Ok(match &*kind {
            "text" => Self::Text { text: decode::<TextBlock>("text", block)?.text },
            "thinking" => Self::Thinking { text: decode::<ThinkingBlock>("thinking", block)?.thinking },
            "toolCall" => Self::Call(decode("toolCall", block)?),
            "image" => {
                let ImageBlock { data, mime_type } = decode("image", block)?;
                Self::Image(inline_image(&mime_type, &data))
            }
            other => return Err(unparsed(format!("content.{other}"), "unknown block")),
        })
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) reasoning: Option<u64>,
    pub(crate) total_tokens: u64,
    pub(crate) cost: Cost,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Cost {
    pub(crate) total: f64,
}
