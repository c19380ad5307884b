//! Changes of files as OpenCode's tools tell them, in the one form in which clients see them (T14).

use omniglot_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{ChangedFile, FileDiff, ToolMetadata};
use crate::diff::unified;

/// Returns the changes of a tool that ended well. `proposed` is the change that a person was asked about.
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
        None => ContentPart::file(path.to_owned(), FileAction::Write, None),
    }
}

fn patched(file: &ChangedFile) -> ContentPart {
    let path = file.move_path.as_ref().unwrap_or(&file.file_path).clone();
    file_change(path, &file.patch, file.kind == "add")
}

/// A change as OpenCode tells it: a unified diff below a title line and a rule, between two full paths.
pub(crate) fn file_change(path: String, diff: &str, is_new: bool) -> ContentPart {
    let diff = diff.find("--- ").and_then(|start| diff.get(start..)).unwrap_or(diff);
    let is_new = is_new || diff.contains("\n@@ -0,0 ");
    let action = if is_new { FileAction::Write } else { FileAction::Patch };
    ContentPart::file(path, action, Some(between(diff, is_new)))
}

/// The same with the names that [`unified`] gives.
fn between(diff: &str, is_new: bool) -> String {
    let mut lines = diff.splitn(3, '\n');
    let old = lines.next().and_then(|line| line.strip_prefix("--- "));
    let new = lines.next().and_then(|line| line.strip_prefix("+++ "));
    let (Some(old), Some(new), Some(rest)) = (old, new, lines.next()) else { return diff.to_owned() };
    let old = if is_new { "/dev/null".to_owned() } else { name('a', old) };
    format!("--- {old}\n+++ {}\n{rest}", name('b', new))
}

fn name(side: char, path: &str) -> String {
    let path = path.trim_end();
    if path.starts_with('/') && path != "/dev/null" { format!("{side}{path}") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_the_same_names_whoever_tells_it() {
        let told = |diff: &str| {
            let change = file_change("/w/new.txt".to_owned(), diff, false);
            let ContentPart::FileRef { diff: Some(diff), .. } = change else { panic!("{change:?}") };
            diff
        };
        let new = "Index: /w/new.txt\n====\n--- /w/new.txt\t\n+++ /w/new.txt\t\n@@ -0,0 +1,1 @@\n+one\n";
        let ours = unified("/w/new.txt", "", "one\n");
        assert_eq!(told(new).lines().take(2).collect::<Vec<_>>(), ours.lines().take(2).collect::<Vec<_>>());
        let old = "--- /w/new.txt\n+++ /w/new.txt\n@@ -1,1 +1,1 @@\n-one\n+two\n";
        assert_eq!(told(old), "--- a/w/new.txt\n+++ b/w/new.txt\n@@ -1,1 +1,1 @@\n-one\n+two\n");
    }
}
