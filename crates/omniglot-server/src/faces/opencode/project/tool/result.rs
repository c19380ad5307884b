//! The part of a call that is over.

use std::borrow::Cow;

use omniglot_schema::{ContentPart, ItemStatus, UniversalItem};
use omniglot_timeline::view::Call;
use serde_json::{Value, json};

use super::{CallPart, input};
use crate::faces::opencode::project::Projector;
use crate::faces::opencode::project::user::image;
use crate::faces::opencode::wire::tool_names::{BASH, TODOWRITE};
use crate::faces::opencode::wire::{DiffStatus, FileDiff, Part, PartBody, Record, Span, ToolState};

/// As much of a command's output as its part repeats for the screen, as OpenCode does.
const SHOWN: usize = 30 * 1024;

/// The result of a call.
struct Came<'a> {
    output: Cow<'a, str>,
    is_error: bool,
    exit_code: Option<i64>,
}

impl Came<'_> {
    /// To OpenCode, a command that ran has not failed, whatever its exit code.
    fn has_failed(&self) -> bool {
        self.is_error && self.exit_code.is_none()
    }
}

pub(super) fn state(
    part: &CallPart,
    call: &Call,
    item: &UniversalItem,
    changes: &[FileDiff],
    projector: &mut Projector,
) -> ToolState {
    let came = came(item);
    let metadata = metadata(part, item, &came, changes);
    let time = Span { start: part.start, end: Some(projector.now) };
    let mut whole = part.input.clone();
    input::complete(&part.tool, &mut whole, changes);
    if came.has_failed() {
        return ToolState::Error { input: whole, error: came.output.into_owned(), metadata, time };
    }
    let attachments = attachments(part, item, projector);
    let title = title(call, &whole);
    let output = came.output.into_owned();
    ToolState::Completed { input: whole, output, title, metadata, time, attachments }
}

fn came(item: &UniversalItem) -> Came<'_> {
    let found = item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { is_error, exit_code, .. } => {
            let is_error = is_error.unwrap_or(false) || item.status == ItemStatus::Failed;
            Some(Came { output: part.printed().unwrap_or_default(), is_error, exit_code: *exit_code })
        }
        _ => None,
    });
    found.unwrap_or(Came {
        output: Cow::default(),
        is_error: item.status == ItemStatus::Failed,
        exit_code: None,
    })
}

fn title(call: &Call, input: &Record) -> String {
    let telling = ["filePath", "description", "command", "pattern", "url", "query", "path"];
    let told = telling.iter().find_map(|key| input.get(*key).and_then(Value::as_str));
    call.title.as_deref().or(told).unwrap_or_default().to_owned()
}

fn metadata(part: &CallPart, item: &UniversalItem, came: &Came<'_>, changes: &[FileDiff]) -> Record {
    let mut metadata = part.metadata();
    let mut put = |key: &str, value: Value| metadata.insert(key.to_owned(), value);
    // The error is shown by itself, and would be there twice.
    if part.tool == BASH && !came.has_failed() {
        let shown = end_of(&came.output, SHOWN);
        put("output", json!(shown));
        put("truncated", json!(shown.len() < came.output.len()));
    }
    if let Some(code) = came.exit_code {
        put("exit", json!(code));
    }
    if let Some(first) = changes.first() {
        let all: String = changes.iter().map(|change| change.patch.as_str()).collect();
        put("diff", json!(all));
        put("filediff", json!(first));
        put("files", changes.iter().map(patched).collect());
    }
    if let Some(answers) = &part.answers {
        put("answers", json!(answers));
    }
    if part.tool == TODOWRITE
        && let Some(todos) = part.input.get("todos")
    {
        put("todos", todos.clone());
    }
    let structured = item.content.iter().find_map(|part| match part {
        ContentPart::Json { json } => Some(json.clone()),
        _ => None,
    });
    if let Some(structured) = structured {
        put("structured", structured);
    }
    metadata
}

/// One file of a patch, as the patch tool tells it.
fn patched(change: &FileDiff) -> Value {
    let kind = match change.status {
        DiffStatus::Added => "add",
        DiffStatus::Deleted => "delete",
        DiffStatus::Modified => "update",
    };
    json!({
        "filePath": change.file, "relativePath": change.file, "type": kind, "diff": change.patch,
        "patch": change.patch, "additions": change.additions, "deletions": change.deletions,
    })
}

fn attachments(call: &CallPart, item: &UniversalItem, projector: &mut Projector) -> Vec<Part> {
    let images = item.content.iter().filter_map(|part| match part {
        ContentPart::Image { path, mime } => Some(image(path, mime.as_deref())),
        _ => None,
    });
    let part = |attachment| Part {
        id: projector.ids.part(projector.now),
        session_id: projector.id.clone(),
        message_id: call.message.clone(),
        body: PartBody::File(attachment),
    };
    images.map(part).collect()
}

/// The last `limit` bytes of a text, or a little less where a character would be cut.
pub(super) fn end_of(text: &str, limit: usize) -> &str {
    let from = text.len().saturating_sub(limit);
    let from = (from..=text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or(text.len());
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn the_end_of_a_text_never_cuts_a_character() {
        assert_eq!(end_of("abc", 9), "abc");
        assert_eq!(end_of("abc", 2), "bc");
        assert_eq!(end_of("aäb", 2), "b");
        assert_eq!(end_of("", 2), "");
    }
}
