//! What an item is made of: which text is streamed, and how a final content fits what was streamed (T6).
//!
//! Pure functions over bodies; the Timeline's items use them.

use omniglot_schema::{ContentPart, ItemRole};

use crate::draft::{Body, Outcome, ToolResult};

pub(super) enum Fit {
    /// The final content goes on where the stream stopped.
    Extends {
        body: Body,
        rest: String,
    },
    Contradicts {
        body: Body,
    },
}

/// How the final content of an item fits what was streamed of it (T6).
pub(super) fn fit(begun: &Body, streamed: &str, body: Body) -> Fit {
    let same_call = |a: &Body, b: &Body| match (a, b) {
        (Body::ToolResult(a), Body::ToolResult(b)) => a.call == b.call,
        (Body::Reasoning { .. }, Body::Message { .. }) | (Body::Message { .. }, Body::Reasoning { .. }) => {
            false
        }
        _ => true,
    };
    if begun.kind() != body.kind() || begun.role() != body.role() || !same_call(begun, &body) {
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
pub(super) fn is_streamed(body: &Body) -> bool {
    matches!(body, Body::Message { .. } | Body::Reasoning { .. })
}

/// Takes the text that must pass through deltas out of a body.
pub(super) fn split_streamed(body: Body) -> (Body, String) {
    match body {
        Body::Message { role, parts } => {
            let (texts, parts): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|part| matches!(part, ContentPart::Text { .. }));
            let text = texts.into_iter().filter_map(text_of).collect();
            (Body::Message { role, parts }, text)
        }
        Body::Reasoning { text, visibility } => (Body::Reasoning { text: String::new(), visibility }, text),
        body => (body, String::new()),
    }
}

fn with_streamed(body: Body, text: String) -> Body {
    match body {
        Body::Message { role, parts } => Body::Message { role, parts: with_text(parts, &text) },
        Body::Reasoning { visibility, .. } => Body::Reasoning { text, visibility },
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

/// Arguments are JSON whatever the agent wrote; without any, what was streamed of them.
pub(super) fn json_text(arguments: &str, streamed: &str) -> String {
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let candidates = [arguments, streamed];
    match candidates.into_iter().find(|text| is_json(text)) {
        Some(text) => text.to_owned(),
        None if arguments.is_empty() && streamed.is_empty() => "{}".to_owned(),
        None => serde_json::Value::from(if arguments.is_empty() { streamed } else { arguments }).to_string(),
    }
}

pub(super) fn needs_turn(body: &Body) -> bool {
    match body {
        Body::Message { role, .. } => *role != ItemRole::System,
        Body::Reasoning { .. } | Body::ToolCall(_) | Body::ToolResult(_) | Body::Step { .. } => true,
        Body::System { .. } | Body::Status { .. } | Body::Unknown { .. } => false,
    }
}

/// A result that failed is an error, also where its agent does not say so again.
pub(super) fn settled(body: Body, outcome: Outcome) -> Body {
    match body {
        Body::ToolResult(result) if outcome == Outcome::Failed => {
            Body::ToolResult(ToolResult { is_error: result.is_error.or(Some(true)), ..result })
        }
        body => body,
    }
}
