//! Prompts: what a person sends, in the form that the CLI takes, and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_schema::{ContentPart, FileAction, MessageId};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::wire::{Block, blocks};
use crate::contract::{Attachment, Prompt, Unparsed};
use crate::conversation::attached::{Attached, attached, file_in};
use crate::fault::unparsed;

#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    message: Message<'a>,
    parent_tool_use_id: Option<()>,
    session_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<OutBlock>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutBlock {
    Text { text: String },
    Image { source: Source },
}

#[derive(Serialize)]
struct Source {
    r#type: &'static str,
    media_type: String,
    data: String,
}

/// The line that sends a prompt.
pub(crate) fn line(prompt: &Prompt) -> Result<Box<RawValue>, Unparsed> {
    let content = if prompt.attachments.is_empty() {
        Content::Text(&prompt.text)
    } else {
        let text = (!prompt.text.is_empty()).then(|| OutBlock::Text { text: prompt.text.clone() });
        Content::Blocks(text.into_iter().chain(prompt.attachments.iter().map(block)).collect())
    };
    let message = Message { role: "user", content };
    let uuid = prompt.message_id.as_ref().and_then(uuid);
    let line = Line { r#type: "user", message, parent_tool_use_id: None, session_id: "", uuid };
    to_raw_value(&line).map_err(|error| unparsed("stdin", error.to_string()))
}

/// The uuid inside of our own message ids, by which the CLI tells what becomes of a prompt.
pub(crate) fn uuid(id: &MessageId) -> Option<String> {
    let digits = id.0.strip_prefix("msg_").filter(|digits| digits.len() == 32)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    let part = |range: std::ops::Range<usize>| digits.get(range);
    Some([part(0..8)?, part(8..12)?, part(12..16)?, part(16..20)?, part(20..32)?].join("-"))
}

fn block(attachment: &Attachment) -> OutBlock {
    match attached(attachment) {
        Attached::Picture { mime, bytes } => OutBlock::Image {
            source: Source { r#type: "base64", media_type: mime.to_owned(), data: STANDARD.encode(bytes) },
        },
        Attached::Tag(text) => OutBlock::Text { text },
    }
}

/// Returns a sent prompt as parts. A file that was sent whole is named, not repeated.
pub(crate) fn content(content: &RawValue) -> Vec<ContentPart> {
    let part = |block| match block {
        Block::Text(text) => Some(match file_in(&text) {
            Some(path) => ContentPart::file(path, FileAction::Read, None),
            None => ContentPart::Text { text },
        }),
        Block::Image(source) => super::output::image(source),
        Block::Thinking(_)
        | Block::RedactedThinking
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::ToolReference(_)
        | Block::Unknown { .. } => None,
    };
    blocks(content, &mut Vec::new()).into_iter().filter_map(part).collect()
}
