//! Files and directories under a temporary name until they are complete. They go when they are dropped; those of a
//! daemon that has died go when the next one starts, which finds their places in its private directory.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use uuid::Uuid;

use super::change::{NEW_DIRECTORY, remove_tree};
use super::{OpenError, Refused, Root, SAFE, real_path};

/// The beginning of each temporary name.
const PREFIX: &str = ".omniglot-";

/// The records of temporary names: a file for each, which holds the path of its directory.
#[derive(Debug, Clone)]
pub struct Temporaries {
    records: PathBuf,
}

impl Temporaries {
    pub fn of(data_dir: &Path) -> Self {
        Self { records: omniglot_store::private(data_dir).join("temporary") }
    }

    /// Removes what a daemon has left that died.
    pub fn sweep(&self) {
        let records = std::fs::read_dir(&self.records).into_iter().flatten().flatten();
        for record in records.filter(|record| record.file_name().as_bytes().starts_with(PREFIX.as_bytes())) {
            let swept = sweep(&record.path(), &record.file_name());
            if let Err(error) =
                swept.or_else(unless_missing).and_then(|()| std::fs::remove_file(record.path()))
            {
                tracing::warn!(%error, record = ?record.path(), "a temporary file of an earlier daemon stays");
            }
        }
    }

    /// Chooses a name in the directory and records it.
    pub(super) fn reserve(&self, dir: OwnedFd) -> Result<Temporary, Refused> {
        let name = format!("{PREFIX}{}", Uuid::now_v7());
        let record = self.records.join(&name);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.records).map_err(errno)?;
        std::fs::write(&record, real_path(&dir)?.into_os_string().into_vec()).map_err(errno)?;
        Ok(Temporary { dir, name, record })
    }
}

fn sweep(record: &Path, name: &OsStr) -> io::Result<()> {
    let path = PathBuf::from(std::ffi::OsString::from_vec(std::fs::read(record)?));
    let dir = openat(CWD, &path, OFlags::DIRECTORY | OFlags::RDONLY | SAFE, Mode::empty())?;
    remove_tree(&dir, name)
}

fn unless_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn errno(error: io::Error) -> Refused {
    Refused::Errno(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// A name that is in use; dropping it removes what has the name.
pub(super) struct Temporary {
    pub(super) dir: OwnedFd,
    pub(super) name: String,
    record: PathBuf,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let removed = remove_tree(&self.dir, OsStr::new(&self.name)).or_else(unless_missing);
        if let Err(error) = removed.and_then(|()| std::fs::remove_file(&self.record)) {
            tracing::warn!(%error, name = self.name, "a temporary file stays until the next start");
        }
    }
}

/// A directory that lasts as long as this value.
pub(crate) struct TemporaryDirectory {
    pub(crate) root: Root,
    _temporary: Temporary,
}

impl Root {
    /// Makes a directory on the file system of `near`: in it, or in the next directory above that exists.
    pub(crate) fn temporary_directory(
        &self,
        near: &Path,
        temporaries: &Temporaries,
    ) -> Result<TemporaryDirectory, OpenError> {
        let made = self.existing_above(near).and_then(|dir| self.temporary_in(dir, temporaries));
        made.map_err(|refused| refused.at(near, Some(self)))
    }

    fn existing_above(&self, near: &Path) -> Result<OwnedFd, Refused> {
        for path in near.ancestors() {
            match self.open_directory(path) {
                Err(Refused::Errno(Errno::NOENT)) => {}
                found => return found,
            }
        }
        self.open_directory(Path::new(""))
    }

    fn temporary_in(&self, dir: OwnedFd, temporaries: &Temporaries) -> Result<TemporaryDirectory, Refused> {
        let temporary = temporaries.reserve(dir)?;
        mkdirat(temporary.dir.as_fd(), &temporary.name, NEW_DIRECTORY)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | SAFE;
        let dir = openat(temporary.dir.as_fd(), &temporary.name, flags, Mode::empty())?;
        let root = Self { path: real_path(&dir)?, dir, private: self.private.clone(), how: self.how };
        Ok(TemporaryDirectory { root, _temporary: temporary })
    }
}
