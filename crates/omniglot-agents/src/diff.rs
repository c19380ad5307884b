//! Unified diffs, in the one form that clients receive.

use similar::TextDiff;

/// Returns the diff from `old` to `new`; `old` is empty for a file that did not exist.
pub(crate) fn unified(path: &str, old: &str, new: &str) -> String {
    // Snippets lack their last line break. Only a difference in it is a fact about the file.
    if !old.is_empty() && !old.ends_with('\n') && !new.ends_with('\n') {
        return unified(path, &format!("{old}\n"), &format!("{new}\n"));
    }
    let path = path.trim_start_matches('/');
    let before = if old.is_empty() { "/dev/null".to_owned() } else { format!("a/{path}") };
    TextDiff::from_lines(old, new).unified_diff().header(&before, &format!("b/{path}")).to_string()
}
