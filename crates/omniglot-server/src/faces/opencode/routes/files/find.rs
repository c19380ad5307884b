//! Finds files by a few letters of their path, for a person who is about to attach one.

use omniglot_runtime::confined::Root;
use serde::{Deserialize, Serialize};

use super::walk::{Found, Walk};

/// The limit of entries that are searched in a directory.
const MOST_ENTRIES: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    /// Below the directory.
    pub(super) path: String,
    #[serde(rename = "type")]
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    File,
    Directory,
}

impl From<Found> for Entry {
    fn from(found: Found) -> Self {
        let path = found.path.to_string_lossy();
        if found.is_dir {
            Self { path: format!("{path}/"), kind: Kind::Directory }
        } else {
            Self { path: path.into_owned(), kind: Kind::File }
        }
    }
}

/// Returns the best matches first. Blocks.
pub(super) fn find(root: &Root, query: &str, limit: usize, wanted: impl Fn(Kind) -> bool) -> Vec<Entry> {
    let entries = Walk::new(root).take(MOST_ENTRIES).map(Entry::from);
    nearest(entries.filter(|entry| wanted(entry.kind)), query, limit)
}

/// Returns the entries that have the letters of the query, the best matches first.
pub(super) fn nearest(entries: impl Iterator<Item = Entry>, query: &str, limit: usize) -> Vec<Entry> {
    let query = query.to_lowercase();
    let mut found: Vec<_> =
        entries.filter_map(|entry| Some((distance(&entry.path.to_lowercase(), &query)?, entry))).collect();
    found.sort_by(|(a, one), (b, other)| {
        (a, one.path.len(), &one.path).cmp(&(b, other.path.len(), &other.path))
    });
    found.into_iter().take(limit).map(|(_, entry)| entry).collect()
}

/// Returns the distance of a path from the query; `None` when it lacks some of its letters in their order.
fn distance(path: &str, query: &str) -> Option<u8> {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if name.starts_with(query) {
        return Some(0);
    }
    if name.contains(query) {
        return Some(1);
    }
    if path.contains(query) {
        return Some(2);
    }
    let mut letters = path.chars();
    query.chars().all(|wanted| letters.any(|letter| letter == wanted)).then_some(3)
}

#[cfg(test)]
mod tests {
    use omniglot_runtime::confined::Private;

    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_nothing_hidden_ignored_or_outside_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["src/main.rs", "domain/x.rs", "main.py", ".git/main", "target/main", "m/a/i/n.txt"];
        for path in files.into_iter().chain(["logs/main", "m/main.log", "m/main.keep"]) {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(folder.path().join(".gitignore"), "logs/\nmain.*\n!main.py\n").unwrap();
        std::fs::write(folder.path().join("m/.ignore"), "!*.keep\n").unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("main-link")).unwrap();
        std::fs::create_dir_all(folder.path().join("data/private/main")).unwrap();
        let root = || Root::open(folder.path(), Private::of(&folder.path().join("data"))).unwrap();
        let paths = |query: &str, limit| -> Vec<String> {
            find(&root(), query, limit, |_| true).into_iter().map(|entry| entry.path).collect()
        };
        assert_eq!(paths("MAIN", 9), ["main.py", "m/main.keep", "domain/", "domain/x.rs", "m/a/i/n.txt"]);
        assert_eq!(paths("main", 1), ["main.py"]);
        assert!(paths("zzz", 9).is_empty());
        let folders = find(&root(), "", 9, |kind| kind == Kind::Directory);
        assert!(folders.iter().any(|entry| entry.path == "src/") && folders.len() < 9, "{folders:?}");
    }
}
