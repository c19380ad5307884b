//! Unified diffs from the before-and-after texts that ACP agents give.

use agent_client_protocol_schema::v1::Diff;
use omniglot_schema::{ContentPart, FileAction};
use similar::TextDiff;

/// What one edit does to one file.
///
/// An agent may give only the replaced snippet instead of the whole file; then the line numbers count
/// from the snippet's start, which is the best that can be known.
pub(crate) fn file_ref(diff: &Diff) -> ContentPart {
    let path = diff.path.to_string_lossy().into_owned();
    // gemini writes an empty text where others write null for a file that did not exist.
    let old = diff.old_text.as_deref().unwrap_or_default();
    let action = if old.is_empty() { FileAction::Write } else { FileAction::Patch };
    ContentPart::FileRef { diff: Some(unified(&path, old, &diff.new_text)), path, action }
}

fn unified(path: &str, old: &str, new: &str) -> String {
    // Snippets come without their last line break. Only a difference in it tells about the file.
    if !old.is_empty() && !old.ends_with('\n') && !new.ends_with('\n') {
        return unified(path, &format!("{old}\n"), &format!("{new}\n"));
    }
    let path = path.trim_start_matches('/');
    let before = if old.is_empty() { "/dev/null".to_owned() } else { format!("a/{path}") };
    TextDiff::from_lines(old, new).unified_diff().header(&before, &format!("b/{path}")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(diff: &str) -> String {
        let ContentPart::FileRef { path, action, diff } = file_ref(&serde_json::from_str(diff).unwrap())
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
