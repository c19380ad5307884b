//! Reads a Responses request into the common form.

use serde::Deserialize;
use serde_json::Value;

use crate::models::openai::mime_of_data_url;
use crate::models::request::{Message, Part, Request, Role};

pub(super) fn request(request: &mut Request) -> Result<(), serde_json::Error> {
    let body = Body::deserialize(&request.body)?;
    request.streaming = body.stream;
    request.model = body.model;
    let added = body.input.iter().flat_map(Item::tools);
    request.tools = body.tools.iter().chain(added).flat_map(Tool::names).collect();
    let (system, messages): (Vec<_>, Vec<_>) =
        body.input.into_iter().filter_map(Item::message).partition(|message| message.role == Role::System);
    let instructions = body.instructions.into_iter();
    request.system = instructions.chain(system.iter().map(Message::text)).collect::<Vec<_>>().join("\n");
    request.messages = messages;
    Ok(())
}

#[derive(Deserialize)]
struct Body {
    model: String,
    #[serde(default)]
    stream: bool,
    instructions: Option<String>,
    input: Vec<Item>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    /// Tools of the provider itself have only a type.
    name: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    /// The members of a namespace.
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        role: String,
        content: Content,
    },
    FunctionCall {
        name: String,
        #[serde(default)]
        arguments: String,
    },
    CustomToolCall {
        name: String,
        #[serde(default)]
        input: String,
    },
    #[serde(alias = "custom_tool_call_output")]
    FunctionCallOutput {
        output: Content,
    },
    /// Carries the tools of newer models.
    AdditionalTools {
        tools: Vec<Tool>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Pieces(Vec<Piece>),
}

#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
    image_url: Option<String>,
}

impl Tool {
    fn names(&self) -> Vec<String> {
        let name = self.name.as_ref().unwrap_or(&self.kind);
        let inner = self.tools.iter().flat_map(Self::names).map(|tool| format!("{name}/{tool}"));
        std::iter::once(name.clone()).chain(inner).collect()
    }
}

impl Item {
    fn tools(&self) -> &[Tool] {
        match self {
            Self::AdditionalTools { tools } => tools,
            _ => &[],
        }
    }

    fn message(self) -> Option<Message> {
        Some(match self {
            Self::Message { role, content } => Message::new(role_of(&role), content.parts()),
            Self::FunctionCall { name, arguments } => {
                let args = serde_json::from_str(&arguments).unwrap_or_default();
                Message::new(Role::Assistant, vec![Part::ToolCall { name, args }])
            }
            Self::CustomToolCall { name, input } => {
                Message::new(Role::Assistant, vec![Part::ToolCall { name, args: Value::String(input) }])
            }
            Self::FunctionCallOutput { output } => result(output),
            Self::AdditionalTools { .. } | Self::Other => return None,
        })
    }
}

fn role_of(role: &str) -> Role {
    match role {
        "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        _ => Role::User,
    }
}

/// The images of a result become parts beside it.
fn result(output: Content) -> Message {
    let (images, texts): (Vec<_>, Vec<_>) =
        output.parts().into_iter().partition(|part| matches!(part, Part::Image { .. }));
    let output = Message::new(Role::Tool, texts).text();
    let result = Part::ToolResult { output, is_error: false };
    Message::new(Role::Tool, std::iter::once(result).chain(images).collect())
}

impl Content {
    fn parts(self) -> Vec<Part> {
        match self {
            Self::Text(text) => vec![Part::Text(text)],
            Self::Pieces(pieces) => pieces.into_iter().filter_map(Piece::part).collect(),
        }
    }
}

impl Piece {
    fn part(self) -> Option<Part> {
        let image = self.image_url.map(|url| Part::Image { mime: mime_of_data_url(&url) });
        image.or_else(|| self.text.map(Part::Text))
    }
}
