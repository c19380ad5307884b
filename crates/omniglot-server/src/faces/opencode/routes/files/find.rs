//! Finds files by a few letters of their path, for a person who is about to attach one.
//!
//! Searches only inside the directory, follows no link, and skips hidden and generated files.

use std::collections::VecDeque;
use std::path::PathBuf;

use omniglot_runtime::confined::Root;
use serde::Serialize;

/// The limit of entries that are searched in a directory.
const MOST_ENTRIES: usize = 20_000;

/// Folders with generated files.
const MADE: [&str; 6] = ["node_modules", "target", "dist", "build", "__pycache__", "venv"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Entry {
    /// Below the directory.
    pub(super) path: String,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    File,
    Directory,
}

/// Returns the best matches first. Blocks.
pub(super) fn find(directory: &Root, query: &str, limit: usize) -> Vec<Entry> {
    let query = query.to_lowercase();
    let mut found: Vec<_> = entries(directory)
        .into_iter()
        .filter_map(|entry| Some((distance(&entry.path.to_lowercase(), &query)?, entry)))
        .collect();
    found.sort_by(|(a, one), (b, other)| {
        (a, one.path.len(), &one.path).cmp(&(b, other.path.len(), &other.path))
    });
    found.into_iter().take(limit).map(|(_, entry)| entry).collect()
}

/// Lists the nearest folders first, so that the limit cuts off deep ones.
fn entries(directory: &Root) -> Vec<Entry> {
    let mut found = vec![];
    let mut todo = VecDeque::from([PathBuf::new()]);
    while let Some(folder) = todo.pop_front() {
        for child in directory.list(&folder).unwrap_or_default() {
            let name = child.name.to_string_lossy().into_owned();
            if name.starts_with('.') || MADE.contains(&name.as_str()) {
                continue;
            }
            if found.len() == MOST_ENTRIES {
                return found;
            }
            let path = folder.join(&name);
            let shown = path.to_string_lossy().into_owned();
            if child.is_dir {
                found.push(Entry { path: format!("{shown}/"), kind: Kind::Directory });
                todo.push_back(path);
            } else {
                found.push(Entry { path: shown, kind: Kind::File });
            }
        }
    }
    found
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
    fn the_nearest_name_comes_first_and_nothing_hidden_or_outside_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["src/main.rs", "domain/x.rs", "main.py", ".git/main", "target/main", "m/a/i/n.txt"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("/", folder.path().join("main-link")).unwrap();
        std::fs::create_dir_all(folder.path().join("data/private/main")).unwrap();
        let root = || Root::open(folder.path(), Private::of(&folder.path().join("data"))).unwrap();
        let paths = |query: &str, limit| -> Vec<String> {
            find(&root(), query, limit).into_iter().map(|entry| entry.path).collect()
        };
        assert_eq!(paths("MAIN", 9), ["main.py", "src/main.rs", "domain/", "domain/x.rs", "m/a/i/n.txt"]);
        assert_eq!(paths("main", 1), ["main.py"]);
        assert!(paths("zzz", 9).is_empty());
    }
}
