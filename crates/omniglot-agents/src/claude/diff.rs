//! The unified diff of an edit: of one that was made, and of one that is asked for.

use std::borrow::Cow;
use std::fmt::Write as _;

use omniglot_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::diff::{of_files, unified};

/// The report of a tool that changes files.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileChange {
    /// `create` or `update`, for a file that was written whole.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(alias = "notebook_path")]
    file_path: String,
    /// For display: every leading tab is two spaces there, so that a diff made of it may not apply.
    #[serde(default)]
    structured_patch: Vec<Hunk>,
    /// The whole file, when it was written.
    #[serde(default)]
    content: Option<String>,
    /// The whole file before; absent when it was new or is large.
    #[serde(default, alias = "original_file")]
    original_file: Option<String>,
    /// The whole notebook after its edit.
    #[serde(default, alias = "updated_file")]
    updated_file: Option<String>,
    #[serde(default)]
    old_string: Option<String>,
    #[serde(default)]
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hunk {
    old_start: u64,
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
    lines: Vec<String>,
}

impl FileChange {
    pub(crate) fn into_part(self) -> ContentPart {
        let is_new = self.original_file.as_deref().unwrap_or_default().is_empty() && self.content.is_some();
        let action = if is_new { FileAction::Write } else { FileAction::Patch };
        let diff = self.diff();
        ContentPart::file(self.file_path, action, diff)
    }

    fn diff(&self) -> Option<String> {
        let before = self.original_file.as_deref().filter(|file| !file.is_empty());
        match self.after().filter(|after| self.leaves(after)) {
            Some(after) => Some(of_files(&self.file_path, before, &after)),
            None if self.structured_patch.is_empty() => None,
            None => Some(render(&self.file_path, &self.structured_patch)),
        }
    }

    /// The whole file after the change, as far as it is told with the file before it.
    fn after(&self) -> Option<Cow<'_, str>> {
        let existed = self.kind.as_deref() == Some("update") || !self.structured_patch.is_empty();
        if self.original_file.is_none() && existed {
            return None;
        }
        if let Some(after) = self.content.as_deref().or(self.updated_file.as_deref()) {
            return Some(after.into());
        }
        let (before, old, new) =
            (self.original_file.as_deref()?, self.old_string.as_deref()?, self.new_string.as_deref()?);
        edited(before, old, new, self.replace_all).map(Cow::from)
    }

    /// Whether `after` has the lines that the hunks leave. The CLI may have written other quotation marks than those
    /// that it was given, and tells that nowhere else.
    fn leaves(&self, after: &str) -> bool {
        let lines: Vec<&str> = after.split('\n').collect();
        self.structured_patch.iter().all(|hunk| hunk.is_in(&lines))
    }
}

/// An edit as the CLI makes it: lines that are removed go with their line breaks.
pub(crate) fn edited(before: &str, old: &str, new: &str, replace_all: bool) -> Option<String> {
    if old.is_empty() {
        return before.is_empty().then(|| new.to_owned());
    }
    if !before.contains(old) {
        return None;
    }
    let with_break = format!("{old}\n");
    let whole_lines = new.is_empty() && !old.ends_with('\n') && before.contains(&with_break);
    let old = if whole_lines { &with_break } else { old };
    Some(if replace_all { before.replace(old, new) } else { before.replacen(old, new, 1) })
}

impl Hunk {
    fn is_in(&self, after: &[&str]) -> bool {
        let first = usize::try_from(self.new_start.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut lines = after.iter().skip(first);
        let mut left = self.lines.iter().filter_map(|line| line.strip_prefix([' ', '+']));
        left.all(|line| lines.next().is_some_and(|it| displayed(it) == line))
    }
}

/// A line as the CLI displays it.
fn displayed(line: &str) -> Cow<'_, str> {
    let text = line.trim_start_matches('\t');
    match line.len() - text.len() {
        0 => line.into(),
        tabs => format!("{}{text}", "  ".repeat(tabs)).into(),
    }
}

fn render(path: &str, hunks: &[Hunk]) -> String {
    let shown = path.trim_start_matches('/');
    let mut diff = format!("--- a/{shown}\n+++ b/{shown}\n");
    for Hunk { old_start, old_lines, new_start, new_lines, lines } in hunks {
        // Writing to a string cannot fail.
        let _ = writeln!(diff, "@@ -{old_start},{old_lines} +{new_start},{new_lines} @@");
        for line in lines {
            diff.push_str(line);
            diff.push('\n');
        }
    }
    diff
}

#[derive(Deserialize)]
pub(crate) struct Replacement {
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    #[serde(default)]
    pub(crate) replace_all: bool,
}

#[derive(Deserialize)]
struct Edits {
    edits: Vec<Replacement>,
}

/// Returns the changes of an edit whose result is only text, as those of subagents are; `files` may know better.
pub(crate) fn made(tool: &str, input: &Map<String, Value>, words: &str) -> Vec<ContentPart> {
    let mut parts = asked(tool, input);
    // What was in the file, or in the rest of a notebook, is not known.
    let is_whole = matches!(tool, "Edit" | "MultiEdit") || words.starts_with("File created");
    for part in parts.iter_mut().filter(|_| !is_whole) {
        if let ContentPart::FileRef { diff, .. } = part {
            *diff = None;
        }
    }
    parts
}

/// Returns the changes that an edit's input asks for. The file itself is not known here: line numbers count from the
/// snippet, and a file that is written whole is shown as new.
pub(crate) fn asked(tool: &str, input: &Map<String, Value>) -> Vec<ContentPart> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let Some(path) = text("file_path").or_else(|| text("notebook_path")) else { return vec![] };
    let of = |edit: &Replacement| {
        let diff = Some(unified(path, &edit.old_string, &edit.new_string));
        ContentPart::file(path.to_owned(), FileAction::Patch, diff)
    };
    let input = || Value::Object(input.clone());
    match tool {
        "Edit" => serde_json::from_value(input()).iter().map(of).collect(),
        "MultiEdit" => {
            serde_json::from_value(input()).iter().flat_map(|Edits { edits }| edits.iter().map(of)).collect()
        }
        "Write" | "NotebookEdit" => {
            let content = text("content").or_else(|| text("new_source")).unwrap_or_default();
            let diff = Some(unified(path, "", content));
            vec![ContentPart::file(path.to_owned(), FileAction::Write, diff)]
        }
        _ => vec![],
    }
}
