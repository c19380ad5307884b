//! Unified diffs from the before-and-after texts that ACP agents give.

use agent_client_protocol_schema::v1::Diff;
use omniglot_schema::{ContentPart, FileAction};

use crate::diff::unified;

/// Returns the `file_ref` of one edit.
///
/// An agent may give only the replaced snippet instead of the whole file; then the line numbers count
/// from the snippet's start, which is the best that can be known.
pub(crate) fn file_ref(diff: &Diff) -> ContentPart {
    let path = diff.path.to_string_lossy().into_owned();
    // gemini writes an empty text where others write null for a file that did not exist.
    let old = diff.old_text.as_deref().unwrap_or_default();
    let action = if old.is_empty() { FileAction::Write } else { FileAction::Patch };
    let unified = unified(&path, old, &diff.new_text);
    ContentPart::file(path, action, Some(unified))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(diff: &str) -> String {
        let ContentPart::FileRef { path, action, diff, .. } = file_ref(&serde_json::from_str(diff).unwrap())
        else {
            unreachable!()
        };
        format!("{action:?} {path}\n{}", diff.unwrap())
    }

    #[test]
    fn a_new_file_is_written_and_a_known_one_patched() {
        insta::assert_snapshot!(shown(r#"{"path":"/w/note.txt","oldText":null,"newText":"hello\n"}"#), @r"
        Write /w/note.txt
        --- /dev/null
        +++ b/w/note.txt
        @@ -0,0 +1 @@
        +hello
        ");
        insta::assert_snapshot!(shown(r#"{"path":"a.md","oldText":"one","newText":"one\ntwo"}"#), @r"
        Patch a.md
        --- a/a.md
        +++ b/a.md
        @@ -1 +1,2 @@
         one
        +two
        ");
        insta::assert_snapshot!(shown(r#"{"path":"a.md","oldText":"one\n","newText":"one\ntwo"}"#), @r"
        Patch a.md
        --- a/a.md
        +++ b/a.md
        @@ -1 +1,2 @@
         one
        +two
        \ No newline at end of file
        ");
    }
}
