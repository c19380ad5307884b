//! Reads a Messages request into the common form.

use serde::Deserialize;
use serde_json::Value;

use crate::models::request::{Message, Part, Request, Role};

pub(super) fn request(request: &mut Request) -> Result<(), serde_json::Error> {
    let body = Body::deserialize(&request.body)?;
    request.streaming = body.stream;
    request.model = body.model;
    request.system = body.system.map(|system| system.text()).unwrap_or_default();
    request.tools = body.tools.into_iter().map(|tool| tool.name).collect();
    request.messages = body.messages.into_iter().map(Turn::message).collect();
    Ok(())
}

#[derive(Deserialize)]
struct Body {
    model: String,
    #[serde(default)]
    stream: bool,
    system: Option<Content>,
    #[serde(default)]
    tools: Vec<Tool>,
    messages: Vec<Turn>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
    },
    Image {
        source: Source,
    },
    ToolUse {
        name: String,
        #[serde(default)]
        input: Value,
    },
    ToolResult {
        content: Option<Content>,
        #[serde(default)]
        is_error: bool,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    media_type: String,
}

impl Turn {
    fn message(self) -> Message {
        let role = match self.role.as_str() {
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => Role::User,
        };
        Message::new(role, self.content.parts())
    }
}

impl Content {
    fn text(self) -> String {
        Message::new(Role::System, self.parts()).text()
    }

    fn parts(self) -> Vec<Part> {
        match self {
            Self::Text(text) => vec![Part::Text(text)],
            Self::Blocks(blocks) => blocks.into_iter().flat_map(Block::parts).collect(),
        }
    }
}

impl Block {
    fn parts(self) -> Vec<Part> {
        match self {
            Self::Text { text } => vec![Part::Text(text)],
            Self::Thinking { thinking } => vec![Part::Thinking(thinking)],
            Self::Image { source } => vec![Part::Image { mime: source.media_type }],
            Self::ToolUse { name, input } => vec![Part::ToolCall { name, args: input }],
            Self::ToolResult { content, is_error } => result(content, is_error),
            Self::Other => vec![],
        }
    }
}

/// The images of a result become parts beside it.
fn result(content: Option<Content>, is_error: bool) -> Vec<Part> {
    let parts = content.map(Content::parts).unwrap_or_default();
    let (images, texts): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|part| matches!(part, Part::Image { .. }));
    let output = Message::new(Role::Tool, texts).text();
    std::iter::once(Part::ToolResult { output, is_error }).chain(images).collect()
}
