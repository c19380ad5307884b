//! The file changes of Codex as `file_ref` parts with unified diffs (T14).

use omniglot_schema::{ContentPart, FileAction};
use similar::TextDiff;

use super::wire::{FileUpdate, UpdateKind};

/// Returns the `file_ref` of one change. The diff of a file that is added or deleted is its bare content.
pub(crate) fn file_ref(change: &FileUpdate) -> ContentPart {
    let FileUpdate { path, kind, diff } = change;
    let name = path.trim_start_matches('/');
    let (action, diff) = match kind {
        UpdateKind::Add => (FileAction::Write, whole("", diff, "/dev/null", &format!("b/{name}"))),
        UpdateKind::Delete => (FileAction::Patch, whole(diff, "", &format!("a/{name}"), "/dev/null")),
        UpdateKind::Update { move_path } => {
            let note = move_path.as_ref().map(|to| format!("\n\nMoved to: {to}")).unwrap_or_default();
            let diff = diff.strip_suffix(&note).unwrap_or(diff);
            let after = move_path.as_deref().unwrap_or(path).trim_start_matches('/');
            (FileAction::Patch, format!("--- a/{name}\n+++ b/{after}\n{diff}"))
        }
    };
    ContentPart::file(path.clone(), action, Some(diff))
}

fn whole(old: &str, new: &str, before: &str, after: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().header(before, after).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(change: &str) -> String {
        let ContentPart::FileRef { path, action, diff, .. } =
            file_ref(&serde_json::from_str(change).unwrap())
        else {
            unreachable!()
        };
        format!("{action:?} {path}\n{}", diff.unwrap())
    }

    #[test]
    fn trap_the_diff_of_an_added_or_deleted_file_is_its_content() {
        insta::assert_snapshot!(shown(r#"{"path":"/w/n.txt","kind":{"type":"add"},"diff":"alpha\nbeta\n"}"#), @r"
        Write /w/n.txt
        --- /dev/null
        +++ b/w/n.txt
        @@ -0,0 +1,2 @@
        +alpha
        +beta
        ");
        insta::assert_snapshot!(shown(r#"{"path":"/w/n.txt","kind":{"type":"delete"},"diff":"gone\n"}"#), @r"
        Patch /w/n.txt
        --- a/w/n.txt
        +++ /dev/null
        @@ -1 +0,0 @@
        -gone
        ");
    }

    /// A7: Codex tells in words below the diff where the file went.
    #[test]
    fn hunks_get_their_header_and_a_moved_file_both_names() {
        let moved = r#"{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},
            "diff":"@@ -1 +1 @@\n-x\n+y\n\n\nMoved to: /w/b"}"#;
        insta::assert_snapshot!(shown(moved), @r"
        Patch /w/a
        --- a/w/a
        +++ b/w/b
        @@ -1 +1 @@
        -x
        +y
        ");
    }
}
