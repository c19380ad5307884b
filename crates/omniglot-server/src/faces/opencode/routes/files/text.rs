//! Finds lines of files by a regular expression.

use std::io::{BufRead as _, BufReader, Read as _};

use omniglot_runtime::confined::Root;
use regex::bytes::{Regex, RegexBuilder};
use serde::Serialize;

use super::walk::Walk;

/// The number of matches, as in OpenCode.
const MOST: usize = 10;

/// The number of files that are searched, and the bytes of each.
const MOST_FILES: usize = 20_000;
const LONGEST_FILE: u64 = 4 << 20;

/// The memory of a compiled expression.
const LARGEST_EXPRESSION: usize = 1 << 20;

/// A line that matches, in the form of ripgrep.
#[derive(Debug, Serialize)]
pub(crate) struct Match {
    path: Text,
    lines: Text,
    line_number: u64,
    absolute_offset: usize,
    submatches: Vec<Submatch>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Text {
    text: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Submatch {
    #[serde(rename = "match")]
    found: Text,
    start: usize,
    end: usize,
}

pub(super) fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(LARGEST_EXPRESSION).build()
}

/// Returns the first matches of the nearest files. Blocks.
pub(super) fn find(root: &Root, pattern: &Regex) -> Vec<Match> {
    let files = Walk::new(root).filter(|found| !found.is_dir).take(MOST_FILES);
    files.flat_map(|found| in_file(root, &found.path, pattern)).take(MOST).collect()
}

/// Returns the matches of one file; one with a NUL is no text.
fn in_file(root: &Root, path: &std::path::Path, pattern: &Regex) -> Vec<Match> {
    let Ok(file) = root.read(path) else { return vec![] };
    let (mut found, mut line, mut offset) = (vec![], vec![], 0);
    let mut reader = BufReader::new(file.take(LONGEST_FILE));
    for line_number in 1.. {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(read) if read > 0 && !line.contains(&0) && found.len() < MOST => {}
            _ => break,
        }
        let submatches: Vec<_> = pattern.find_iter(trimmed(&line)).map(submatch).collect();
        if !submatches.is_empty() {
            let (path, lines) = (text(path.to_string_lossy().as_bytes()), text(&line));
            found.push(Match { path, lines, line_number, absolute_offset: offset, submatches });
        }
        offset += line.len();
    }
    found
}

/// Leaves out the end of the line, which no expression shall match.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

fn submatch(found: regex::bytes::Match<'_>) -> Submatch {
    Submatch { found: text(found.as_bytes()), start: found.start(), end: found.end() }
}

fn text(bytes: &[u8]) -> Text {
    Text { text: String::from_utf8_lossy(bytes).into_owned() }
}

#[cfg(test)]
mod tests {
    use omniglot_runtime::confined::Private;

    use super::*;

    #[test]
    fn lines_are_found_with_their_places_and_files_without_text_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "no\nthe heron, the heron\n").unwrap();
        std::fs::write(folder.path().join("b.bin"), "\0the heron").unwrap();
        let root = Root::open(folder.path(), Private::of(folder.path())).unwrap();
        let found = find(&root, &compiled("her.n$|the").unwrap());
        assert_eq!(found.len(), 1, "{found:?}");
        let [first] = &found[..] else { unreachable!() };
        assert_eq!((&*first.path.text, first.line_number, first.absolute_offset), ("a.txt", 2, 3));
        assert_eq!(first.lines.text, "the heron, the heron\n");
        let places: Vec<_> = first.submatches.iter().map(|sub| (sub.start, sub.end)).collect();
        assert_eq!(places, [(0, 3), (11, 14), (15, 20)]);
        assert!(compiled("(").is_err() && compiled(&"a{1000}{1000}".repeat(9)).is_err());
    }
}
