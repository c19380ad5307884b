//! The changes of files, collected file by file.

use omniglot_schema::{ContentPart, FileAction};

use crate::faces::opencode::wire::{DiffStatus, FileDiff};

/// The changed files in the order of their first change.
#[derive(Debug, Clone, Default)]
pub(super) struct Diffs {
    files: Vec<FileDiff>,
}

impl Diffs {
    pub(super) fn all(&self) -> Vec<FileDiff> {
        self.files.clone()
    }

    pub(super) fn add(&mut self, diff: FileDiff) {
        match self.files.iter_mut().find(|known| known.file == diff.file) {
            None => self.files.push(diff),
            Some(known) => {
                known.additions += diff.additions;
                known.deletions += diff.deletions;
                known.patch.push_str(&diff.patch);
                // What was made here and then changed is still new.
                if known.status != DiffStatus::Added || diff.status == DiffStatus::Deleted {
                    known.status = diff.status;
                }
            }
        }
    }

    pub(super) fn lines(&self) -> (u64, u64) {
        let sum = |count: fn(&FileDiff) -> u64| self.files.iter().map(count).sum();
        (sum(|file| file.additions), sum(|file| file.deletions))
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// All patches, and the files that they change; none without changes.
    pub(super) fn patch(&self) -> Option<(Vec<u8>, Vec<String>)> {
        let patches = self.files.iter().flat_map(|file| file.patch.bytes()).collect();
        let files = self.files.iter().map(|file| file.file.clone()).collect();
        (!self.files.is_empty()).then_some((patches, files))
    }
}

/// The changes among the parts of an item.
pub(super) fn changes(parts: &[ContentPart]) -> Vec<FileDiff> {
    parts.iter().filter_map(change).collect()
}

fn change(part: &ContentPart) -> Option<FileDiff> {
    let (path, patch) = match part {
        ContentPart::FileRef { path, diff: Some(patch), .. } => (path, patch),
        // It is too long for OpenCode's clients, which get all diffs of a session at once.
        ContentPart::FileRef { path, action, diff_blob: Some(_), .. } => {
            let status = if *action == FileAction::Write { DiffStatus::Added } else { DiffStatus::Modified };
            let (additions, deletions) = (0, 0);
            return Some(FileDiff { file: path.clone(), patch: String::new(), additions, deletions, status });
        }
        _ => return None,
    };
    let count = |sign: char, header: &str| {
        let lines = patch.lines().filter(|line| line.starts_with(sign) && !line.starts_with(header));
        u64::try_from(lines.count()).unwrap_or(u64::MAX)
    };
    let has = |line: &str| patch.lines().any(|known| known == line);
    let status = match (has("--- /dev/null"), has("+++ /dev/null")) {
        (true, _) => DiffStatus::Added,
        (_, true) => DiffStatus::Deleted,
        _ => DiffStatus::Modified,
    };
    Some(FileDiff {
        file: path.clone(),
        patch: patch.clone(),
        additions: count('+', "+++ "),
        deletions: count('-', "--- "),
        status,
    })
}
