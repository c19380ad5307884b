//! The project of a directory: its root and branch. Read from the files, never by running a program.

use std::path::{Path, PathBuf};

use crate::faces::opencode::wire::ids::fingerprint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectInfo {
    pub(crate) directory: String,
    /// The top of the repository, or the directory itself without one.
    pub(crate) worktree: String,
    pub(crate) project: String,
    git: Option<PathBuf>,
}

impl ProjectInfo {
    pub(crate) fn of(directory: &str) -> Self {
        let top = Path::new(directory).ancestors().find(|folder| is_repository(&folder.join(".git")));
        let worktree = top.unwrap_or(Path::new(directory)).to_string_lossy().into_owned();
        let project = format!("{:016x}", fingerprint(worktree.as_bytes()));
        let git = top.map(|top| top.join(".git")).and_then(|git| git_folder(&git));
        Self { directory: directory.to_owned(), worktree, project, git }
    }

    /// Returns the branch that is checked out, if any is.
    pub(crate) fn branch(&self) -> Option<String> {
        let head = std::fs::read_to_string(self.git.as_ref()?.join("HEAD")).ok()?;
        head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
    }
}

/// A folder of that name alone makes no repository.
fn is_repository(git: &Path) -> bool {
    git.is_file() || git.join("HEAD").exists()
}

/// In a linked worktree `.git` is a file that names the folder.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let text = std::fs::read_to_string(git).ok()?;
    let folder = text.trim().strip_prefix("gitdir: ")?;
    Some(git.parent()?.join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_its_repository_and_branch() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let alone = ProjectInfo::of(inner.to_str().unwrap());
        assert_eq!((alone.worktree.as_str(), alone.branch()), (inner.to_str().unwrap(), None));
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        let place = ProjectInfo::of(inner.to_str().unwrap());
        assert_eq!(place.worktree, folder.path().to_str().unwrap());
        assert_eq!(place.branch().as_deref(), Some("feature/x"));
        assert_ne!(place.project, alone.project);
    }

    #[test]
    fn a_linked_worktree_has_its_own_branch() {
        let folder = tempfile::tempdir().unwrap();
        let linked = folder.path().join("linked");
        std::fs::create_dir_all(folder.path().join("git")).unwrap();
        std::fs::create_dir(&linked).unwrap();
        std::fs::write(folder.path().join("git/HEAD"), "ref: refs/heads/side\n").unwrap();
        std::fs::write(linked.join(".git"), "gitdir: ../git\n").unwrap();
        assert_eq!(ProjectInfo::of(linked.to_str().unwrap()).branch().as_deref(), Some("side"));
    }
}
