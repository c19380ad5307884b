//! The folders that lead to directories of sessions, for a caller who sees the sessions and no files. The disk is not
//! read: everything here is told by the sessions themselves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::entries::Node;
use super::find::{Entry, nearest};
use super::walk::Found;

/// The directories of sessions below a directory, and the folders between.
#[derive(Debug, Default)]
pub(super) struct SessionFolders {
    root: PathBuf,
    /// Below the root.
    folders: BTreeSet<PathBuf>,
}

impl SessionFolders {
    pub(super) fn below(root: &str, directories: impl Iterator<Item = String>) -> Self {
        let mut folders = BTreeSet::new();
        for directory in directories {
            let Ok(inner) = Path::new(&directory).strip_prefix(root) else { continue };
            let above = inner.ancestors().filter(|folder| !folder.as_os_str().is_empty());
            folders.extend(above.map(Path::to_owned));
        }
        Self { root: root.into(), folders }
    }

    /// Lists the folders directly in `path`, which is absolute or below the root.
    pub(super) fn list(&self, path: &Path) -> Vec<Node> {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        let path: PathBuf = path.components().filter(|part| part.as_os_str() != ".").collect();
        let within = self.folders.iter().filter(|folder| folder.parent() == Some(&path));
        within.map(|folder| Node::folder(&self.root, folder)).collect()
    }

    /// Returns the paths of the best matches first.
    pub(super) fn find(&self, query: &str, limit: usize) -> Vec<String> {
        let entry = |folder: &PathBuf| Entry::from(Found { path: folder.clone(), is_dir: true });
        let found = nearest(self.folders.iter().map(entry), query, limit);
        found.into_iter().map(|entry| entry.path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_that_lead_to_sessions_are_listed_and_found_and_no_others() {
        let sessions = ["/home/ann/shop", "/home/ann/shop/api", "/home/ann/w/blog", "/srv/x", "/home/annex"];
        let folders = SessionFolders::below("/home/ann", sessions.into_iter().map(str::to_owned));
        let listed = |path: &str| serde_json::to_value(folders.list(Path::new(path))).unwrap();
        for path in ["", ".", "/home/ann"] {
            let names = [&listed(path)[0]["name"], &listed(path)[1]["name"]];
            assert_eq!((names, listed(path).as_array().unwrap().len()), ([&"shop".into(), &"w".into()], 2));
        }
        let blog = serde_json::json!([{ "name": "blog", "path": "w/blog", "absolute": "/home/ann/w/blog",
            "type": "directory", "ignored": false }]);
        assert_eq!(listed("w"), blog);
        assert_eq!(listed("w/blog"), serde_json::json!([]));
        assert_eq!(listed("/srv"), serde_json::json!([]));
        assert_eq!(folders.find("shop", 9), ["shop/", "shop/api/"]);
        assert_eq!(folders.find("", 2).len(), 2);
        let all = SessionFolders::below("/", ["/srv/x".to_owned()].into_iter());
        assert_eq!(all.find("srv", 9), ["srv/", "srv/x/"]);
    }
}
