//! Reading files, and looking at directories.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{Entry, OpenError, Refused, Root, proc_path, real_path, regular};

impl Root {
    /// Opens a file to read it.
    pub(crate) fn read(&self, path: &Path) -> Result<File, OpenError> {
        let inner = self.inner(path)?;
        let file = self.open_inner(&inner, OFlags::RDONLY).and_then(regular);
        file.map_err(|refused| refused.at(path, Some(self)))
    }

    /// Lists a directory. Links are left out: they may lead anywhere.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>, OpenError> {
        let dir = self.open_directory(path).map_err(|refused| refused.at(path, Some(self)))?;
        let failed = |source| OpenError::Io { path: path.to_owned(), source };
        let mut entries = vec![];
        for entry in std::fs::read_dir(proc_path(&dir)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => {
                    entries.push(Entry { name: entry.file_name(), is_dir: kind.is_dir() });
                }
                // A link, or removed since.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(entries)
    }

    /// Returns the real path of a directory, for a program that shall run there.
    pub(crate) fn directory(&self, path: &Path) -> Result<PathBuf, OpenError> {
        let opened = self.open_directory(self.relative(path)?).and_then(|dir| real_path(&dir));
        opened.map_err(|refused| refused.at(path, Some(self)))
    }

    /// Returns the absolute path of a file that another program shall open or make.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, OpenError> {
        let inner = self.relative(path)?;
        if inner.components().any(|part| part == Component::ParentDir) {
            return Err(self.outside(path));
        }
        for part in inner.ancestors().filter(|part| *part != Path::new("")) {
            match self.open_inner(part, OFlags::RDONLY) {
                Ok(_) => break,
                Err(refused @ (Refused::Private | Refused::Errno(Errno::XDEV | Errno::LOOP))) => {
                    return Err(refused.at(path, Some(self)));
                }
                Err(Refused::Errno(_)) => {}
            }
        }
        Ok(self.path.join(inner))
    }
}
