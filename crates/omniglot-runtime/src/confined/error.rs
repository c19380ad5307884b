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
    pub(super) fn at(self, path: &Path, root: Option<&Root>) -> OpenError {
        match (self, root) {
            (Self::Private, _) => OpenError::Private(path.to_owned()),
            (Self::Errno(Errno::XDEV | Errno::LOOP), Some(root)) => root.outside(path),
            (Self::Errno(Errno::NOENT), _) => OpenError::NotFound(path.to_owned()),
            (Self::Errno(Errno::ISDIR | Errno::NXIO), _) => OpenError::NotAFile(path.to_owned()),
            (Self::Errno(errno), _) => OpenError::Io { path: path.to_owned(), source: errno.into() },
        }
    }
}
