//! Unified diffs as the pairs of texts that ACP shows edits with.

use agent_client_protocol_schema::v1::Diff;

/// One pair per hunk: what stood there, and what stands there now. Empty when `unified` is no diff.
pub(super) fn hunks(path: &str, unified: &str) -> Vec<Diff> {
    let is_new = unified.lines().next() == Some("--- /dev/null");
    let mut hunks: Vec<Hunk> = vec![];
    for line in unified.split_inclusive('\n') {
        if line.starts_with("@@") {
            hunks.push(Hunk::default());
        } else if let Some(hunk) = hunks.last_mut() {
            hunk.line(line);
        }
    }
    let pair = |hunk: Hunk| Diff::new(path, hunk.new).old_text((!is_new).then_some(hunk.old));
    hunks.into_iter().map(pair).collect()
}

#[derive(Debug, Default)]
struct Hunk {
    old: String,
    new: String,
    last: Option<Side>,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Old,
    New,
    Both,
}

impl Hunk {
    fn line(&mut self, line: &str) {
        let side = match line.as_bytes().first() {
            Some(b'-') => Side::Old,
            Some(b'+') => Side::New,
            Some(b' ') => Side::Both,
            // Some tools leave the blank of an empty line out.
            Some(b'\n') => return self.add(Side::Both, line),
            Some(b'\\') => return self.unfinished(),
            _ => return,
        };
        self.add(side, line.get(1..).unwrap_or_default());
    }

    fn add(&mut self, side: Side, text: &str) {
        self.sides(side).for_each(|of| of.push_str(text));
        self.last = Some(side);
    }

    /// "\ No newline at end of file"
    fn unfinished(&mut self) {
        let Some(side) = self.last else { return };
        for text in self.sides(side).filter(|text| text.ends_with('\n')) {
            text.pop();
        }
    }

    fn sides(&mut self, side: Side) -> impl Iterator<Item = &mut String> {
        let old = matches!(side, Side::Old | Side::Both).then_some(&mut self.old);
        let new = matches!(side, Side::New | Side::Both).then_some(&mut self.new);
        old.into_iter().chain(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(unified: &str) -> Vec<(Option<String>, String)> {
        hunks("/a", unified).into_iter().map(|diff| (diff.old_text, diff.new_text)).collect()
    }

    #[test]
    fn each_hunk_is_a_pair_of_texts() {
        let unified = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n@@ -9 +9 @@\n-nine\n+neun\n";
        let pair = |old: &str, new: &str| (Some(old.to_owned()), new.to_owned());
        assert_eq!(pairs(unified), [pair("one\ntwo\n", "one\nzwei\n"), pair("nine\n", "neun\n")]);
    }

    #[test]
    fn a_new_file_has_no_old_text() {
        assert_eq!(pairs("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"), [(None, "a\n".to_owned())]);
    }

    #[test]
    fn a_missing_last_line_break_stays_missing() {
        let unified = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
        assert_eq!(pairs(unified), [(Some("a".to_owned()), "b".to_owned())]);
    }

    #[test]
    fn what_is_no_diff_has_no_hunks() {
        assert!(pairs("hello").is_empty());
    }
}
