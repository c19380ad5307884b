//! Making, writing, renaming and removing.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, mkdirat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::{OpenError, Refused, Root, SAFE, proc_path, regular};

pub(super) const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
pub(super) const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);

impl Root {
    /// Opens a file to write it, and makes it and its directories where they are missing.
    pub(crate) fn write(&self, path: &Path) -> Result<File, OpenError> {
        let inner = self.inner(path)?;
        let file = match self.open_inner(&inner, OFlags::WRONLY) {
            Err(Refused::Errno(Errno::NOENT)) => self.create(&inner),
            opened => opened,
        };
        file.and_then(regular).map_err(|refused| refused.at(path, Some(self)))
    }

    /// Makes a directory and those above it that are missing. One that is there is left as it is.
    pub fn make_directory(&self, path: &Path) -> Result<(), OpenError> {
        let inner = self.inner(path)?;
        match self.make_directories(&inner).and_then(|()| self.open_directory(&inner)) {
            Err(Refused::Errno(Errno::NOTDIR)) => Err(OpenError::Exists(path.to_owned())),
            made => made.map(drop).map_err(|refused| refused.at(path, Some(self))),
        }
    }

    /// Renames a file, a link or a directory, also into another root. With `overwrite` it replaces what is there as the
    /// kernel does: a file by a file, an empty directory by a directory.
    pub fn rename(&self, from: &Path, target: &Self, to: &Path, overwrite: bool) -> Result<(), OpenError> {
        let (old, new) = (self.inner(from)?, target.inner(to)?);
        let (old_dir, old_name) = self.movable(&old).map_err(|refused| refused.at(from, Some(self)))?;
        let (new_dir, new_name) =
            target.movable(&new).map_err(|refused| refused.of_parent(to, Some(target)))?;
        // A missing name is told first, whatever is at the other one.
        statat(&old_dir, old_name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| Refused::from(errno).at(from, None))?;
        let renamed = match overwrite {
            true => renameat(&old_dir, old_name, &new_dir, new_name),
            false => rename_new(&old_dir, old_name, &new_dir, new_name),
        };
        renamed.map_err(|errno| match errno {
            Errno::EXIST | Errno::ISDIR | Errno::NOTDIR => OpenError::Exists(to.to_owned()),
            Errno::NOTEMPTY => OpenError::NotEmpty(to.to_owned()),
            errno => Refused::from(errno).at(from, None),
        })
    }

    /// Removes a file, a link or an empty directory.
    pub fn remove(&self, path: &Path) -> Result<(), OpenError> {
        let inner = self.inner(path)?;
        let (dir, name) = self.movable(&inner).map_err(|refused| refused.at(path, Some(self)))?;
        let removed = match unlinkat(&dir, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => unlinkat(&dir, name, AtFlags::REMOVEDIR),
            removed => removed,
        };
        removed.map_err(|errno| Refused::from(errno).at(path, None))
    }

    /// Removes a file, a link, or a directory with everything in it. Links are removed, never followed.
    pub fn remove_all(&self, path: &Path) -> Result<(), OpenError> {
        let inner = self.inner(path)?;
        let (dir, name) = self.movable(&inner).map_err(|refused| refused.at(path, Some(self)))?;
        remove_tree(&dir, name).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => OpenError::NotFound(path.to_owned()),
            _ => OpenError::Io { path: path.to_owned(), source },
        })
    }

    fn create(&self, inner: &Path) -> Result<OwnedFd, Refused> {
        let (dir, name) = match self.entry(inner) {
            Err(Refused::Errno(Errno::NOENT)) => {
                self.make_directories(inner.parent().unwrap_or(Path::new("")))?;
                self.entry(inner)?
            }
            entry => entry?,
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE;
        match openat(dir, name, flags, NEW_FILE) {
            // Somebody has made it since, or it is a link that leads nowhere.
            Err(Errno::EXIST) => match self.open_inner(inner, OFlags::WRONLY) {
                Err(Refused::Errno(Errno::NOENT)) => Err(Errno::XDEV.into()),
                opened => opened,
            },
            created => Ok(created?),
        }
    }

    fn make_directories(&self, inner: &Path) -> Result<(), Refused> {
        let parts: Vec<&Path> = inner.ancestors().filter(|path| *path != Path::new("")).collect();
        for path in parts.into_iter().rev() {
            let (dir, name) = self.entry(path)?;
            match mkdirat(dir, name, NEW_DIRECTORY) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

/// Renames unless something has the new name. Some network file systems cannot do that in one step.
fn rename_new(old_dir: &OwnedFd, old: &OsStr, new_dir: &OwnedFd, new: &OsStr) -> Result<(), Errno> {
    match renameat_with(old_dir, old, new_dir, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => match statat(new_dir, new, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => renameat(old_dir, old, new_dir, new),
            Ok(_) => Err(Errno::EXIST),
            Err(errno) => Err(errno),
        },
        renamed => renamed,
    }
}

pub(super) fn remove_tree(dir: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match unlinkat(dir, name, AtFlags::empty()) {
        // It opens each directory below by its parent, and follows no link.
        Err(Errno::ISDIR) => std::fs::remove_dir_all(proc_path(dir).join(name)),
        removed => Ok(removed?),
    }
}
