//! The differences between two snapshots.

use std::collections::BTreeMap;

use crate::snapshots::SnapshotError;
use crate::snapshots::refs::Tree;
use crate::snapshots::shadow::Shadow;

/// A file in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) id: String,
}

/// The paths that differ, each as it was and as it is.
#[derive(Debug, Default)]
pub(super) struct Diff(BTreeMap<Vec<u8>, (Option<Entry>, Option<Entry>)>);

impl Shadow {
    pub(super) async fn diff(&self, from: &Tree, to: &Tree) -> Result<Diff, SnapshotError> {
        if from == to {
            return Ok(Diff::default());
        }
        let words = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from.as_str(), to.as_str()];
        Ok(Diff::read(&self.git.run(&words, b"").await?))
    }
}

impl Diff {
    /// Reads pairs of `:MODE MODE ID ID LETTER` and a path.
    fn read(raw: &[u8]) -> Self {
        let mut words = raw.split(|byte| *byte == 0);
        let mut paths = BTreeMap::new();
        while let (Some(states), Some(path)) = (words.next(), words.next()) {
            let states = String::from_utf8_lossy(states);
            let mut states = states.trim_start_matches(':').split(' ');
            let mut next = || states.next().unwrap_or_default().to_owned();
            let (old_mode, new_mode, old_id, new_id) = (next(), next(), next(), next());
            paths.insert(path.to_owned(), (entry(old_mode, old_id), entry(new_mode, new_id)));
        }
        Self(paths)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.0.keys()
    }

    /// All paths as they were.
    pub(super) fn old(&self) -> BTreeMap<Vec<u8>, Option<Entry>> {
        self.0.iter().map(|(path, (old, _))| (path.clone(), old.clone())).collect()
    }

    pub(super) fn old_of(&self, path: &[u8]) -> Option<&Option<Entry>> {
        self.0.get(path).map(|(old, _)| old)
    }

    pub(super) fn new_of(&self, path: &[u8]) -> Option<&Option<Entry>> {
        self.0.get(path).map(|(_, new)| new)
    }
}

fn entry(mode: String, id: String) -> Option<Entry> {
    mode.bytes().any(|digit| digit != b'0').then_some(Entry { mode, id })
}
