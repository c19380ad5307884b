//! Making, writing, renaming and removing.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::{OpenError, Refused, Root, SAFE, regular};

const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);

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
        let made = self.make_directories(&inner).and_then(|()| self.open_directory(&inner));
        made.map(drop).map_err(|refused| refused.at(path, Some(self)))
    }

    /// Renames a file, a link or a directory, and replaces what is there under the new name as the kernel does.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), OpenError> {
        let (old, new) = (self.inner(from)?, self.inner(to)?);
        let (old_dir, old_name) = self.movable(&old).map_err(|refused| refused.at(from, Some(self)))?;
        let (new_dir, new_name) = self.movable(&new).map_err(|refused| refused.at(to, Some(self)))?;
        renameat(old_dir, old_name, new_dir, new_name).map_err(|errno| Refused::from(errno).at(from, None))
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
