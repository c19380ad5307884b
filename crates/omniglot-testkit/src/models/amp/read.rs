//! Reads the messages of a thread into the common form.

use serde::Deserialize;
use serde_json::Value;

use crate::models::request::{Message, Part, Role};

pub(super) fn message(message: &Value) -> Message {
    let role = if message["role"] == "assistant" { Role::Assistant } else { Role::User };
    let blocks = message["content"].as_array().into_iter().flatten();
    let known = blocks.filter_map(|block| Block::deserialize(block).ok());
    Message::new(role, known.flat_map(Block::parts).collect())
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text { text: String },
    Thinking { thinking: String },
    Image { source: Source },
    ToolUse { name: String, input: Value },
    ToolResult { run: Run },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    media_type: String,
}

#[derive(Deserialize)]
struct Run {
    status: String,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Value,
}

impl Block {
    fn parts(self) -> Vec<Part> {
        match self {
            Self::Text { text } => vec![Part::Text(text)],
            Self::Thinking { thinking } => vec![Part::Thinking(thinking)],
            Self::Image { source } => vec![Part::Image { mime: source.media_type }],
            Self::ToolUse { name, input } => vec![Part::ToolCall { name, args: input }],
            Self::ToolResult { run } => run.parts(),
        }
    }
}

impl Run {
    /// An image that was read becomes a part beside the result.
    fn parts(self) -> Vec<Part> {
        let output = match self.status.as_str() {
            "done" => text(&self.result),
            "error" => text(&self.error["message"]),
            status => status.to_owned(),
        };
        let image = self.result["imageInfo"]["mimeType"].as_str();
        let image = image.map(|mime| Part::Image { mime: mime.to_owned() });
        let result = Part::ToolResult { output, is_error: self.status != "done" };
        std::iter::once(result).chain(image).collect()
    }
}

/// Returns a text as it is, and anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
