//! Opens, lists, makes, renames and removes files below one directory and nowhere else: no `..`, absolute path or
//! symbolic link leads out, and nothing leads to the private files of the daemon.
//!
//! The kernel resolves the whole path in one step (`openat2`), so that nothing can be exchanged between a
//! check and its use. Where it cannot (an old kernel, a sandbox that forbids the call), the path is walked
//! part by part and links are not followed at all. A file is private by the path of the opened file, which the
//! kernel tells; hard links and second mounts that a person has made are not recognised.
//!
//! The crate `cap-std` would replace the call and the walk alone: it opens pipes and devices, waits for their other
//! end, and knows no private files, so most of this module would stand on top of it.

mod change;
mod error;
mod read;
mod replace;
mod resolve;
mod temporary;

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::config;
pub use error::OpenError;
use error::Refused;
pub use read::FileInfo;
pub use replace::ReplaceError;
pub(crate) use replace::{CopyError, copy};
pub use temporary::Temporaries;
pub(crate) use temporary::TemporaryDirectory;

/// The files of the daemon that nobody reaches through it: its private directory and its configuration.
#[derive(Debug, Clone)]
pub struct Private {
    hidden: Arc<[PathBuf]>,
    /// A directory below a hidden one that is not hidden.
    shown: Option<Arc<Path>>,
}

impl Private {
    pub fn of(data_dir: &Path) -> Self {
        let paths = [omniglot_store::private(data_dir), data_dir.join(config::FILE_NAME)];
        Self { hidden: paths.into_iter().map(real).collect(), shown: None }
    }

    /// Hides the whole data directory but `shown`.
    pub(crate) fn all_of(data_dir: &Path, shown: Option<PathBuf>) -> Self {
        Self { hidden: [real(data_dir.to_owned())].into(), shown: shown.map(|path| real(path).into()) }
    }

    /// Whether a path leads to a private file now. Parts that do not exist lead nowhere.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.ancestors().find_map(|part| part.canonicalize().ok()).is_some_and(|found| self.has(&found))
    }

    fn has(&self, resolved: &Path) -> bool {
        let shown = self.shown.as_ref().is_some_and(|shown| resolved.starts_with(shown));
        !shown && self.hidden.iter().any(|private| resolved.starts_with(private))
    }

    /// Whether private files would move with what is there.
    fn are_below(&self, resolved: &Path) -> bool {
        self.hidden.iter().any(|private| private.starts_with(resolved))
    }

    /// Returns the file unless it is private.
    fn admit(&self, file: OwnedFd) -> Result<OwnedFd, Refused> {
        let path = real_path(&file)?;
        if self.has(&path) { Err(Refused::Private) } else { Ok(file) }
    }
}

fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

/// A directory that bounds everything opened by it.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    path: PathBuf,
    private: Private,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// One `openat2`, or the walk where there is none.
    Kernel,
    #[cfg(test)]
    Walk,
}

/// A file or folder of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: OsString,
    pub is_dir: bool,
}

/// Opens a file anywhere to read it, for a client that may name any path.
pub(crate) fn open_file(path: &Path, private: &Private) -> Result<File, OpenError> {
    let file = openat(CWD, path, OFlags::RDONLY | SAFE, Mode::empty()).map_err(Refused::from);
    let file = file.and_then(|file| private.admit(file)).map_err(|refused| refused.at(path, None))?;
    regular(file).map_err(|refused| refused.at(path, None))
}

impl Root {
    pub fn open(path: &Path, private: Private) -> Result<Self, OpenError> {
        let dir = openat(CWD, path, OFlags::DIRECTORY | OFlags::RDONLY | SAFE, Mode::empty());
        let dir = dir.map_err(Refused::from).and_then(|dir| private.admit(dir));
        let dir = dir.map_err(|refused| refused.at(path, None))?;
        Ok(Self { dir, path: path.to_owned(), private, how: How::Kernel })
    }

    /// The path by which the root was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(test)]
    fn by_walking(mut self) -> Self {
        self.how = How::Walk;
        self
    }
}

/// Returns the file unless it is a directory, a pipe or a device.
fn regular(file: OwnedFd) -> Result<File, Refused> {
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(Errno::ISDIR.into()),
    }
}

/// The link of the kernel that tells where an open file is.
fn proc_path(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A file whose place cannot be told could be private.
fn real_path(file: &OwnedFd) -> Result<PathBuf, Refused> {
    proc_path(file).read_link().map_err(|_| Refused::Private)
}

/// A pipe in the place of a file must not make us wait for its other end.
const SAFE: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

#[cfg(test)]
mod tests;
