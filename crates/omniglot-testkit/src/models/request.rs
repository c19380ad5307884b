//! The requests of an agent to a model, in a provider-neutral form for assertions.
//!
//! Each provider reads its own; the raw body stays beside it.

use serde_json::Value;

/// One request as a scripted model received it.
#[derive(Clone, Debug)]
pub struct Request {
    pub purpose: Purpose,
    pub method: String,
    /// With its query.
    pub path: String,
    pub body: Value,
    pub model: String,
    pub system: String,
    pub messages: Vec<Message>,
    /// The names of the tools that the model may call.
    pub tools: Vec<String>,
    pub streaming: bool,
}

/// The role of a request in the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The conversation: it takes the next reply.
    Main,
    /// A side request of the agent, such as a title or a count of tokens: answered without the script.
    Side,
    /// No script expects the request; the test fails.
    Unexpected,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    Thinking(String),
    Image { mime: String },
    ToolCall { name: String, args: Value },
    ToolResult { output: String, is_error: bool },
}

impl Message {
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts }
    }

    /// Returns all its text, joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Request {
    /// Returns all text of the conversation, of every role.
    pub fn text(&self) -> String {
        self.messages.iter().map(Message::text).collect::<Vec<_>>().join("\n")
    }

    /// Returns the results of tools, the oldest first.
    pub fn tool_results(&self) -> Vec<&str> {
        let results = self.parts().filter_map(|part| match part {
            Part::ToolResult { output, .. } => Some(output.as_str()),
            _ => None,
        });
        results.collect()
    }

    /// Returns the media types of the images that the model can see.
    pub fn images(&self) -> Vec<&str> {
        let images = self.parts().filter_map(|part| match part {
            Part::Image { mime } => Some(mime.as_str()),
            _ => None,
        });
        images.collect()
    }

    pub fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    /// Whether the last message holds this text.
    pub fn last_says(&self, text: &str) -> bool {
        self.messages.last().is_some_and(|message| message.text().contains(text))
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.messages.iter().flat_map(|message| &message.parts)
    }

    /// Describes the request in one line of an error message.
    pub(crate) fn line(&self) -> String {
        let last = self.messages.last().map(Message::text).unwrap_or_default();
        let last: String = last.chars().take(200).collect();
        let (purpose, tools) = (self.purpose, self.tools.len());
        format!(
            "{purpose:?} {} {} model {:?}, {tools} tools, last: {last:?}",
            self.method, self.path, self.model
        )
    }
}

impl Request {
    /// Returns a request of which only method, path and body are known.
    pub(crate) fn unread(method: &str, path: &str, body: Value) -> Self {
        Self {
            purpose: Purpose::Unexpected,
            method: method.to_owned(),
            path: path.to_owned(),
            body,
            model: String::new(),
            system: String::new(),
            messages: vec![],
            tools: vec![],
            streaming: false,
        }
    }
}
