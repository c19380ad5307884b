//! User input: text and files as Codex takes them, and Codex's form of them as parts of the user's item.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_schema::{ContentPart, FileAction};
use omniglot_timeline::inline_image;
use serde_json::value::RawValue;

use super::wire::{ReviewTarget, SetName, StartReview, StartTurn, UserInput};
use crate::contract::{Attachment, FileContent, Prompt};

/// Codex takes pictures; every other file goes along as text or is named, and Codex reads it itself.
pub(crate) fn to_wire(prompt: &Prompt, cwd: &Path) -> Vec<UserInput> {
    let text = (!prompt.text.is_empty() || prompt.attachments.is_empty())
        .then(|| UserInput::Text { text: prompt.text.clone() });
    text.into_iter().chain(prompt.attachments.iter().map(|file| attached(file, cwd))).collect()
}

fn attached(attachment: &Attachment, cwd: &Path) -> UserInput {
    let path = cwd.join(&attachment.file.path);
    let path = path.to_string_lossy();
    match &attachment.content {
        FileContent::Image { mime, bytes } => {
            UserInput::Image { url: format!("data:{mime};base64,{}", STANDARD.encode(bytes)) }
        }
        FileContent::Text(text) => {
            UserInput::Text { text: format!("{OPENING}{path}\">\n{text}\n</attached_file>") }
        }
        FileContent::Unread => UserInput::Text { text: format!("{OPENING}{path}\" />") },
    }
}

const OPENING: &str = "<attached_file path=\"";

/// Returns the user's message from the parameters of the request that sent it.
pub(crate) fn said(method: &str, params: &RawValue) -> Vec<ContentPart> {
    let command = |text: String| vec![ContentPart::Text { text }];
    match method {
        "thread/compact/start" => command(super::COMPACT.to_owned()),
        "thread/name/set" => {
            let named: Option<SetName> = serde_json::from_str(params.get()).ok();
            command(format!("/rename {}", named.map(|named| named.name).unwrap_or_default()))
        }
        "review/start" => command(match serde_json::from_str::<StartReview>(params.get()) {
            Ok(StartReview { target: ReviewTarget::Custom { instructions }, .. }) => {
                format!("/review {instructions}")
            }
            _ => "/review".to_owned(),
        }),
        _ => {
            let turn: StartTurn = serde_json::from_str(params.get()).unwrap_or_default();
            from_wire(turn.input)
        }
    }
}

/// A file that went along whole is named, not repeated.
pub(crate) fn from_wire(input: Vec<UserInput>) -> Vec<ContentPart> {
    let read = |path: String| ContentPart::file(path, FileAction::Read, None);
    let part = |input| match input {
        UserInput::Text { text } => Some(match attached_path(&text) {
            Some(path) => read(path.to_owned()),
            None => ContentPart::Text { text },
        }),
        UserInput::Image { url } => picture(&url),
        UserInput::LocalImage { path }
        | UserInput::LocalAudio { path }
        | UserInput::Mention { path, .. }
        | UserInput::Skill { path, .. } => Some(read(path)),
        UserInput::Audio { .. } | UserInput::Unknown => None,
    };
    input.into_iter().filter_map(part).collect()
}

fn attached_path(text: &str) -> Option<&str> {
    text.strip_prefix(OPENING)?.split_once('"').map(|(path, _)| path)
}

/// A picture as a data URL, or somewhere else on the net.
pub(crate) fn picture(url: &str) -> Option<ContentPart> {
    if url.is_empty() {
        return None;
    }
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    Some(match inline {
        Some((mime, data)) => inline_image(mime, data),
        None => ContentPart::Image { path: url.to_owned(), mime: None },
    })
}
