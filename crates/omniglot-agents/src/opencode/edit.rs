//! Changes of files as OpenCode's tools tell them, in the one form in which clients see them (T14).

use omniglot_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{ChangedFile, FileDiff, ToolMetadata};
use crate::diff::unified;

/// What a tool that ended well has changed. `proposed` is the change that a person was asked about.
pub(crate) fn edited(
    metadata: &ToolMetadata,
    input: Option<&RawValue>,
    proposed: Option<String>,
) -> Vec<ContentPart> {
    if !metadata.files.is_empty() {
        return metadata.files.iter().map(patched).collect();
    }
    match (&metadata.filediff, &metadata.filepath, metadata.exists) {
        (Some(FileDiff { file, patch }), ..) => {
            let diff = patch.as_ref().or(metadata.diff.as_ref());
            diff.map(|diff| file_change(file.clone(), diff, false)).into_iter().collect()
        }
        (None, Some(path), Some(existed)) => vec![written(path, existed, input, proposed)],
        (None, ..) => vec![],
    }
}

/// The tool that writes whole files tells no change: a new file is all new, what an old one was before is
/// known only when somebody was asked about it.
fn written(path: &str, existed: bool, input: Option<&RawValue>, proposed: Option<String>) -> ContentPart {
    #[derive(Deserialize)]
    struct Written {
        content: String,
    }
    let content = || {
        let input: Option<Written> = serde_json::from_str(input?.get()).ok();
        input.map(|input| unified(path, "", &input.content))
    };
    match proposed.or_else(|| if existed { None } else { content() }) {
        Some(diff) => file_change(path.to_owned(), &diff, !existed),
        None => ContentPart::FileRef { path: path.to_owned(), action: FileAction::Write, diff: None },
    }
}

fn patched(file: &ChangedFile) -> ContentPart {
    let path = file.move_path.as_ref().unwrap_or(&file.file_path).clone();
    file_change(path, &file.patch, file.kind == "add")
}

/// A change as OpenCode tells it: a unified diff below a title line and a rule.
pub(crate) fn file_change(path: String, diff: &str, is_new: bool) -> ContentPart {
    let diff = diff.find("--- ").and_then(|start| diff.get(start..)).unwrap_or(diff).to_owned();
    let is_new = is_new || diff.contains("\n@@ -0,0 ");
    let action = if is_new { FileAction::Write } else { FileAction::Patch };
    ContentPart::FileRef { path, action, diff: Some(diff) }
}
