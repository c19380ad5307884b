//! Who speaks on the user's side of a transcript: a person, a tool, or the CLI itself.

use serde_json::value::RawValue;

use super::super::translate::INTERRUPTED;
use super::super::wire::system::TaskLine;
use super::super::wire::{self, Block};
use super::plain;
use super::wire::UserLine;

pub(super) enum Said {
    /// A person's words, which begin a turn.
    Prompt(Box<RawValue>),
    /// As a prompt, for the CLI itself.
    Command(Box<RawValue>),
    Results,
    /// The running turn was cancelled.
    Interruption,
    /// The output of one of the CLI's own commands.
    CommandOutput(String),
    TaskEnded(Box<TaskLine>),
    /// Something for the model that readers should see: the summary of what was compacted.
    Note,
    /// Something for the model alone.
    Hidden,
}

pub(super) fn said(line: &UserLine<'_>) -> Said {
    if line.is_compact_summary {
        return Said::Note;
    }
    if line.is_meta {
        return Said::Hidden;
    }
    let blocks = wire::blocks(line.message.content, &mut Vec::new());
    if blocks.iter().any(|block| matches!(block, Block::ToolResult(_))) {
        return Said::Results;
    }
    match blocks.as_slice() {
        [Block::Text(text)] => spoken(text, line),
        _ => Said::Prompt(line.message.content.to_owned()),
    }
}

fn spoken(text: &str, line: &UserLine<'_>) -> Said {
    let text = text.trim();
    if text.starts_with(INTERRUPTED) {
        return Said::Interruption;
    }
    if text.starts_with("<command-name>") || text.starts_with("<command-message>") {
        return Said::Command(plain(&command(text)));
    }
    if let Some(printed) = tag(text, "local-command-stdout").or_else(|| tag(text, "local-command-stderr")) {
        let printed = printed.trim();
        return Said::CommandOutput(if printed.is_empty() { "(no output)" } else { printed }.to_owned());
    }
    if text.starts_with("<task-notification>") {
        return Said::TaskEnded(Box::new(task(text)));
    }
    Said::Prompt(line.message.content.to_owned())
}

/// A command as it was typed.
fn command(text: &str) -> String {
    let (name, args) = (tag(text, "command-name"), tag(text, "command-args"));
    let words = [name, args].into_iter().flatten().map(str::trim).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn task(text: &str) -> TaskLine {
    let field = |name| tag(text, name).map(|value| value.trim().to_owned());
    TaskLine {
        task_id: field("task-id").unwrap_or_default(),
        tool_use_id: field("tool-use-id"),
        status: field("status"),
        summary: field("summary"),
        ..TaskLine::default()
    }
}

/// Returns the text between the tags of this name.
fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner)
}
