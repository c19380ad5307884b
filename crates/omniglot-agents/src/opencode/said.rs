//! The user's message, read from the request that sent it to the server.

use omniglot_schema::ContentPart;
use serde::Deserialize;

use super::part::file_part;
use super::wire::{PromptBody, PromptPart};
use crate::http::Request;

/// A request beside a prompt that makes a turn: a command, or a line for the shell.
#[derive(Deserialize)]
#[serde(untagged)]
enum Other {
    Command { command: String, arguments: String },
    Shell { command: String },
}

pub(crate) fn user_content(request: &Request) -> Vec<ContentPart> {
    let Some(body) = request.body.as_deref() else { return vec![] };
    if let Ok(other) = serde_json::from_str::<Other>(body.get()) {
        let text = match other {
            Other::Command { command, arguments } => format!("/{command} {arguments}").trim_end().to_owned(),
            Other::Shell { command } => format!("!{command}"),
        };
        return vec![ContentPart::text(text)];
    }
    let parts = serde_json::from_str::<PromptBody<'_>>(body.get()).map(|body| body.parts).unwrap_or_default();
    let known = parts.iter().filter_map(|part| serde_json::from_str::<PromptPart>(part.get()).ok());
    known
        .map(|part| match part {
            PromptPart::Text { text } => ContentPart::text(text),
            PromptPart::File(file) => file_part(&file),
            PromptPart::Agent { name } => ContentPart::text(format!("@{name}")),
            PromptPart::Subtask { prompt } => ContentPart::text(prompt),
        })
        .collect()
}
