//! Reading files, and looking at directories.

use std::ffi::OsString;
use std::fs::{DirEntry, File};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;

use super::{Entry, OpenError, Refused, Root, proc_path, real_path, regular};

/// The kind, size and age of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    pub is_dir: bool,
    pub size: u64,
    /// Absent when the file system tells no time that can be.
    pub modified: Option<Timestamp>,
}

impl Root {
    /// Opens a file to read it.
    pub fn read(&self, path: &Path) -> Result<File, OpenError> {
        let inner = self.inner(path)?;
        let file = self.open_inner(&inner, OFlags::RDONLY).and_then(regular);
        file.map_err(|refused| refused.at(path, Some(self)))
    }

    /// Lists a directory. Links are left out: they may lead anywhere.
    pub fn list(&self, path: &Path) -> Result<Vec<Entry>, OpenError> {
        let mut entries = vec![];
        for entry in self.names(path)? {
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

    fn names(&self, path: &Path) -> Result<Vec<DirEntry>, OpenError> {
        let inner = self.relative(path)?;
        let dir = self.open_directory(inner).map_err(|refused| refused.at(path, Some(self)))?;
        let entries = std::fs::read_dir(proc_path(&dir)).and_then(Iterator::collect);
        entries.map_err(|source| OpenError::Io { path: path.to_owned(), source })
    }

    /// Describes a file or directory; of a link, what it leads to.
    pub fn info(&self, path: &Path) -> Result<FileInfo, OpenError> {
        let found = self.locate(self.relative(path)?).and_then(|file| Ok(fstat(&file)?));
        let stat = found.map_err(|refused| refused.at(path, Some(self)))?;
        let is_dir = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => true,
            FileType::RegularFile => false,
            _ => return Err(OpenError::NotAFile(path.to_owned())),
        };
        let nanoseconds = i32::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let modified = Timestamp::new(stat.st_mtime, nanoseconds).ok();
        Ok(FileInfo { is_dir, size: u64::try_from(stat.st_size).unwrap_or_default(), modified })
    }

    /// Describes the files and directories of a directory, sorted by name. Pipes, devices, private files and links that
    /// lead out are left out.
    pub fn infos(&self, path: &Path) -> Result<Vec<(OsString, FileInfo)>, OpenError> {
        let names = self.names(path)?.into_iter().map(|entry| entry.file_name());
        let described = names.filter_map(|name| Some((self.info(&path.join(&name)).ok()?, name)));
        let mut infos: Vec<_> = described.map(|(info, name)| (name, info)).collect();
        infos.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(infos)
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
