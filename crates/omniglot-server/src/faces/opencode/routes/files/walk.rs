//! Walks through the files of a directory, the nearest folders first.
//!
//! Stays inside the directory, follows no link, and leaves out what is hidden, generated, or ignored by the
//! project's `.gitignore` and `.ignore` files.

use std::collections::VecDeque;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use omniglot_runtime::confined::Root;

/// Folders with generated files, which a directory without a repository does not ignore.
const GENERATED: [&str; 6] = ["node_modules", "target", "dist", "build", "__pycache__", "venv"];

const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// The longest file of rules that is read.
const LONGEST_RULES: u64 = 1 << 20;

/// A file or folder, by its path below the directory.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) is_dir: bool,
}

/// A folder that is still to be listed, and the rules of the folders above it, the nearest last.
struct Folder {
    path: PathBuf,
    rules: Vec<Arc<Gitignore>>,
}

pub(super) struct Walk<'a> {
    root: &'a Root,
    folders: VecDeque<Folder>,
    found: VecDeque<Found>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        let folders = VecDeque::from([Folder { path: PathBuf::new(), rules: vec![] }]);
        Self { root, folders, found: VecDeque::new() }
    }

    fn list(&mut self, Folder { path, mut rules }: Folder) {
        rules.extend(rules_of(self.root, &path).map(Arc::new));
        for child in self.root.list(&path).unwrap_or_default() {
            let name = child.name.to_string_lossy();
            let inner = path.join(&child.name);
            if name.starts_with('.') || GENERATED.contains(&&*name) || ignores(&rules, &inner, child.is_dir) {
                continue;
            }
            if child.is_dir {
                self.folders.push_back(Folder { path: inner.clone(), rules: rules.clone() });
            }
            self.found.push_back(Found { path: inner, is_dir: child.is_dir });
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        while self.found.is_empty() {
            let folder = self.folders.pop_front()?;
            self.list(folder);
        }
        self.found.pop_front()
    }
}

/// Returns the rules of one folder, if it has any.
pub(super) fn rules_of(root: &Root, folder: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for name in RULES {
        let mut text = String::new();
        let file = root.read(&folder.join(name)).ok();
        let read = file.and_then(|file| file.take(LONGEST_RULES).read_to_string(&mut text).ok());
        for line in read.iter().flat_map(|_| text.lines()) {
            // A line that is no rule hides nothing.
            let _known = builder.add_line(None, line).is_ok();
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Whether the nearest rule about a path ignores it.
fn ignores(rules: &[Arc<Gitignore>], path: &Path, is_dir: bool) -> bool {
    let mut about = rules.iter().rev().map(|rules| rules.matched(path, is_dir));
    about.find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
}
