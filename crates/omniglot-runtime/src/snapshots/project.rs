//! The project of a directory: the repository that it belongs to, as far as a snapshot needs it.

use std::fs;
use std::path::{Path, PathBuf};

use super::SnapshotError;

/// The place of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Project {
    /// The folder that has `.git`, or else the session's directory itself.
    pub(super) top: PathBuf,
    /// The session's directory below `top`; empty when they are the same.
    pub(super) inner: String,
    /// The objects of the project's repository.
    pub(super) objects: Option<PathBuf>,
    /// The patterns of ignored files that are in no folder of the project.
    pub(super) exclude: Option<PathBuf>,
}

impl Project {
    /// Refuses directories that are not one project: home, its parents, and whatever has the daemon's own files.
    pub(super) fn of(directory: &Path, home: Option<&Path>, data_dir: &Path) -> Result<Self, SnapshotError> {
        let excluded = |why| Err(SnapshotError::Excluded(why));
        if !directory.is_dir() {
            return excluded("the session's directory is not there");
        }
        if is_home_or_above(directory, home) {
            return excluded("the session's directory is the home directory, or one above it");
        }
        if data_dir.starts_with(directory) || directory.starts_with(omniglot_store::private(data_dir)) {
            return excluded("the daemon's own files are in the session's directory");
        }
        let repository = Repository::around(directory).filter(|found| !is_home_or_above(&found.top, home));
        let top = repository.as_ref().map_or(directory, |found| &found.top);
        let inner = directory.strip_prefix(top).unwrap_or(Path::new(""));
        let (Some(_), Some(inner)) = (top.to_str(), inner.to_str()) else {
            return excluded("the path of the session's directory is not UTF-8");
        };
        Ok(Self {
            inner: inner.to_owned(),
            objects: repository.as_ref().and_then(Repository::objects),
            exclude: repository
                .as_ref()
                .map(|found| found.common.join("info/exclude"))
                .filter(|path| path.is_file()),
            top: top.to_owned(),
        })
    }

    /// Shortens a path below `top` to one below the session's directory.
    pub(super) fn shown(&self, path: &[u8]) -> String {
        let path = String::from_utf8_lossy(path);
        let inner = path.strip_prefix(&self.inner).map(|rest| rest.trim_start_matches('/'));
        inner.unwrap_or(&path).to_owned()
    }
}

fn is_home_or_above(directory: &Path, home: Option<&Path>) -> bool {
    directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory))
}

/// The repository that a directory is in.
struct Repository {
    top: PathBuf,
    /// The folder with the objects, which all work trees of a repository share.
    common: PathBuf,
}

impl Repository {
    fn around(directory: &Path) -> Option<Self> {
        let top = directory.ancestors().find(|folder| folder.join(".git").exists())?;
        let git = top.join(".git");
        let own = match git.is_dir() {
            true => git,
            // A second work tree, or a submodule, names its repository.
            false => top.join(fs::read_to_string(git).ok()?.strip_prefix("gitdir: ")?.trim_end()),
        };
        let common = fs::read_to_string(own.join("commondir")).ok();
        let common = common.map(|path| own.join(path.trim_end())).unwrap_or(own);
        Some(Self { top: top.to_owned(), common })
    }

    /// Objects named by another hash, or a path that a list of paths cannot have, are of no use.
    fn objects(&self) -> Option<PathBuf> {
        let config = fs::read_to_string(self.common.join("config")).unwrap_or_default();
        let objects = self.common.join("objects").canonicalize().ok()?;
        let is_usable = !config.to_ascii_lowercase().contains("objectformat");
        (is_usable && objects.to_str().is_some_and(|path| !path.contains(['\n', '"']))).then_some(objects)
    }
}
