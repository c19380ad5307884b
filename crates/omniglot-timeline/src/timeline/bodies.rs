//! The content of an item: which text is streamed, and how a final content fits what was streamed (T6).
//!
//! Pure functions over bodies; the Timeline's items use them.

use omniglot_schema::{ContentPart, ItemKind, ItemRole};

use crate::draft::{Body, ToolCall, ToolResult};

/// The content of an item as far as it is known. A call has two items.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Plain(Body),
    Call(ToolCall),
    Result(ToolResult),
}

impl From<Body> for Content {
    fn from(body: Body) -> Self {
        Self::Plain(body)
    }
}

impl Content {
    pub(super) fn kind(&self) -> ItemKind {
        match self {
            Self::Plain(body) => body.kind(),
            Self::Call(_) => ItemKind::ToolCall,
            Self::Result(_) => ItemKind::ToolResult,
        }
    }

    pub(super) fn role(&self) -> Option<ItemRole> {
        match self {
            Self::Plain(body) => body.role(),
            Self::Call(_) => Some(ItemRole::Assistant),
            Self::Result(_) => Some(ItemRole::Tool),
        }
    }

    pub(super) fn needs_turn(&self) -> bool {
        match self {
            Self::Plain(Body::Message { role, .. }) => *role != ItemRole::System,
            Self::Plain(Body::Reasoning { .. } | Body::Step { .. }) | Self::Call(_) | Self::Result(_) => true,
            Self::Plain(Body::System { .. } | Body::Status { .. } | Body::Unknown { .. }) => false,
        }
    }
}

pub(super) enum Fit {
    /// The final content goes on where the stream stopped.
    Extends {
        body: Content,
        rest: String,
    },
    Contradicts {
        body: Content,
    },
}

/// How the final content of an item fits what was streamed of it (T6).
pub(super) fn fit(begun: &Content, streamed: &str, body: Content) -> Fit {
    let is_thought = |body: &Content| matches!(body, Content::Plain(Body::Reasoning { .. }));
    let is_same_kind = begun.kind() == body.kind() && begun.role() == body.role();
    if !is_same_kind || is_thought(begun) != is_thought(&body) {
        return Fit::Contradicts { body };
    }
    if !is_streamed(&body) {
        return Fit::Extends { body, rest: String::new() };
    }
    let (body, text) = split_streamed(body);
    match text.strip_prefix(streamed) {
        Some(rest) => Fit::Extends { body, rest: rest.to_owned() },
        None if text.is_empty() => Fit::Extends { body, rest: String::new() },
        None => Fit::Contradicts { body: with_streamed(body, text) },
    }
}

/// The deltas of these concatenate to their text.
pub(super) fn is_streamed(body: &Content) -> bool {
    matches!(body, Content::Plain(Body::Message { .. } | Body::Reasoning { .. }))
}

/// Takes the text that must pass through deltas out of a body.
pub(super) fn split_streamed(body: Content) -> (Content, String) {
    match body {
        Content::Plain(Body::Message { role, parts }) => {
            let (texts, parts): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|part| matches!(part, ContentPart::Text { .. }));
            let text = texts.into_iter().filter_map(text_of).collect();
            (Body::Message { role, parts }.into(), text)
        }
        Content::Plain(Body::Reasoning { text, visibility }) => {
            (Body::Reasoning { text: String::new(), visibility }.into(), text)
        }
        body => (body, String::new()),
    }
}

fn with_streamed(body: Content, text: String) -> Content {
    match body {
        Content::Plain(Body::Message { role, parts }) => {
            Body::Message { role, parts: with_text(parts, &text) }.into()
        }
        Content::Plain(Body::Reasoning { visibility, .. }) => Body::Reasoning { text, visibility }.into(),
        body => body,
    }
}

pub(super) fn with_text(parts: Vec<ContentPart>, streamed: &str) -> Vec<ContentPart> {
    if streamed.is_empty() {
        return parts;
    }
    std::iter::once(ContentPart::text(streamed)).chain(parts).collect()
}

pub(super) fn text_of(part: ContentPart) -> Option<String> {
    match part {
        ContentPart::Text { text } => Some(text),
        _ => None,
    }
}

pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Arguments are JSON whatever the agent wrote; without any, what was streamed of them.
pub(super) fn json_text(arguments: &str, streamed: &str) -> String {
    let candidates = [arguments, streamed];
    match candidates.into_iter().find(|text| is_json(text)) {
        Some(text) => text.to_owned(),
        None if arguments.is_empty() && streamed.is_empty() => "{}".to_owned(),
        None => serde_json::Value::from(if arguments.is_empty() { streamed } else { arguments }).to_string(),
    }
}
