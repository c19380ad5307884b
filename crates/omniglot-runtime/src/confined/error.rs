//! Why a path is refused.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::Root;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is outside of the session's directory {}", path.display(), root.display())]
    Outside { path: PathBuf, root: PathBuf },
    #[error("{} is a private file of the daemon", .0.display())]
    Private(PathBuf),
    #[error("{} does not exist", .0.display())]
    NotFound(PathBuf),
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    #[error("the directory {} is not empty", .0.display())]
    NotEmpty(PathBuf),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

pub(super) enum Refused {
    Private,
    Errno(Errno),
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl Refused {
    /// As `at`; where the path cannot be made because its directory is missing, that is what does not exist.
    pub(super) fn of_parent(self, path: &Path, root: Option<&Root>) -> OpenError {
        match (self, path.parent()) {
            (missing @ Self::Errno(Errno::NOENT | Errno::NOTDIR), Some(parent)) => missing.at(parent, root),
            (refused, _) => refused.at(path, root),
        }
    }

    pub(super) fn at(self, path: &Path, root: Option<&Root>) -> OpenError {
        match (self, root) {
            (Self::Private, _) => OpenError::Private(path.to_owned()),
            (Self::Errno(Errno::XDEV | Errno::LOOP), Some(root)) => root.outside(path),
            (Self::Errno(Errno::NOENT), _) => OpenError::NotFound(path.to_owned()),
            (Self::Errno(Errno::ISDIR | Errno::NXIO), _) => OpenError::NotAFile(path.to_owned()),
            (Self::Errno(Errno::NOTDIR), _) => OpenError::NotADirectory(path.to_owned()),
            (Self::Errno(Errno::EXIST), _) => OpenError::Exists(path.to_owned()),
            (Self::Errno(Errno::NOTEMPTY), _) => OpenError::NotEmpty(path.to_owned()),
            (Self::Errno(errno), _) => OpenError::Io { path: path.to_owned(), source: errno.into() },
        }
    }
}
