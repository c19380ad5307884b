//! What an edit does to a file, as a unified diff: of one that was made, and of one that is asked for.

use std::fmt::Write as _;

use omniglot_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::diff::unified;

/// What the tools that change files tell of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileChange {
    #[serde(alias = "notebook_path")]
    file_path: String,
    #[serde(default)]
    structured_patch: Vec<Hunk>,
    /// The whole file, when it was written.
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    original_file: Option<String>,
    /// The whole notebook after its edit.
    #[serde(default, alias = "updated_file")]
    updated_file: Option<String>,
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
        let Self { file_path: path, structured_patch, content, original_file, updated_file } = self;
        let is_new = original_file.as_deref().unwrap_or_default().is_empty() && content.is_some();
        let action = if is_new { FileAction::Write } else { FileAction::Patch };
        let diff = if structured_patch.is_empty() {
            let after = content.or(updated_file);
            after.map(|after| unified(&path, original_file.as_deref().unwrap_or_default(), &after))
        } else {
            Some(render(&path, &structured_patch))
        };
        ContentPart::FileRef { path, action, diff }
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
struct Replacement {
    old_string: String,
    new_string: String,
}

#[derive(Deserialize)]
struct Edits {
    edits: Vec<Replacement>,
}

/// What the input of an edit would change. The file itself is not known here: line numbers count from the
/// snippet, and a file that is written whole is shown as new.
pub(crate) fn asked(tool: &str, input: &Map<String, Value>) -> Vec<ContentPart> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let Some(path) = text("file_path").or_else(|| text("notebook_path")) else { return vec![] };
    let of = |edit: &Replacement| {
        let diff = Some(unified(path, &edit.old_string, &edit.new_string));
        ContentPart::FileRef { path: path.to_owned(), action: FileAction::Patch, diff }
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
            vec![ContentPart::FileRef { path: path.to_owned(), action: FileAction::Write, diff }]
        }
        _ => vec![],
    }
}
