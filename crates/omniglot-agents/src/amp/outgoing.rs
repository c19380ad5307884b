//! Our one message to Amp: a prompt. It is read back when it was really sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_schema::{ContentPart, FileAction};
use omniglot_timeline::inline_image;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::contract::{Attachment, Prompt, Unparsed};
use crate::conversation::attached::{Attached, attached, file_in};
use crate::fault::unparsed;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    r#type: UserLine,
    message: Message,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) steer: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UserLine {
    User,
}

#[derive(Debug, Serialize, Deserialize)]
struct Message {
    role: String,
    content: Vec<Block>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text { text: String },
    Image { source: Source },
}

#[derive(Debug, Serialize, Deserialize)]
struct Source {
    r#type: String,
    media_type: String,
    data: String,
}

impl Sent {
    pub(crate) fn parse(frame: &RawValue) -> Option<Self> {
        serde_json::from_str(frame.get()).ok()
    }

    /// Returns the line that sends a prompt.
    pub(crate) fn line(prompt: &Prompt) -> Result<Box<RawValue>, Unparsed> {
        let text = (!prompt.text.is_empty()).then(|| Block::Text { text: prompt.text.clone() });
        let content = text.into_iter().chain(prompt.attachments.iter().map(block)).collect();
        let message = Message { role: "user".to_owned(), content };
        to_raw_value(&Self { r#type: UserLine::User, message, steer: false })
            .map_err(|error| unparsed("stdin", error.to_string()))
    }

    /// Returns the prompt as parts. A file that was sent whole is named, not repeated.
    pub(crate) fn content(&self) -> Vec<ContentPart> {
        let part = |block: &Block| match block {
            Block::Text { text } => match file_in(text) {
                Some(path) => ContentPart::file(path, FileAction::Read, None),
                None => ContentPart::text(text.clone()),
            },
            Block::Image { source } => inline_image(&source.media_type, &source.data),
        };
        self.message.content.iter().map(part).collect()
    }

    /// Returns all text, as Amp repeats it.
    pub(crate) fn text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text { text } => Some(text.clone()),
            Block::Image { .. } => None,
        };
        self.message.content.iter().filter_map(text).collect()
    }
}

fn block(attachment: &Attachment) -> Block {
    match attached(attachment) {
        Attached::Picture { mime, bytes } => Block::Image {
            source: Source {
                r#type: "base64".to_owned(),
                media_type: mime.to_owned(),
                data: STANDARD.encode(bytes),
            },
        },
        Attached::Tag(text) => Block::Text { text },
    }
}
