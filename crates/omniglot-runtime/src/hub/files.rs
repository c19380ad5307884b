//! Files that a client names: those of a session's directory, or of a configured root.
//!
//! Where a path leads is the business of `confined`; its methods block, so they run on threads of their own.

mod unpack;

use std::path::{Component, Path, PathBuf};

use omniglot_schema::{Scope, SessionId};

use super::{Hub, present};
use crate::confined::{OpenError, Private, Root, Temporaries};
use crate::error::RuntimeError;
pub use unpack::{UnpackError, UnpackLimits, Unpacked};

/// The longest path and name of the kernel, without room for the temporary name of an upload.
const LONGEST_PATH: usize = 4095 - 64;
const LONGEST_NAME: usize = 255;

/// The directories whose files the caller may name; relative paths are in the first.
#[derive(Debug)]
pub struct FileSpace {
    directories: Vec<PathBuf>,
    private: Private,
    temporaries: Temporaries,
}

/// A path below an open directory. It is empty for the directory itself.
#[derive(Debug)]
pub struct FilePlace {
    pub root: Root,
    pub path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("the path is empty")]
    Empty,
    #[error("the path has a NUL")]
    Nul,
    #[error("the path is too long, or has a name that is")]
    TooLong,
    #[error("the path has `..`: {0}")]
    Parent(String),
    #[error("{path} is not in {}", directories.join(", "))]
    Outside { path: String, directories: Vec<String> },
    #[error("{} is the root itself", .0.display())]
    IsRoot(PathBuf),
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Hub {
    /// Returns the directories of a call: the session's, and the configured ones for an `admin`.
    pub async fn file_space(&self, session: Option<&SessionId>) -> Result<FileSpace, RuntimeError> {
        let is_admin = self.caller.may(Scope::Admin);
        let (mut directories, mut worktree) = (vec![], None);
        match session {
            Some(id) => {
                let request = present::request(&self.record(id).await?)?;
                worktree = super::worktree::shown(&request).map(|worktree| PathBuf::from(worktree.path));
                directories.push(PathBuf::from(request.directory.unwrap_or_default()));
            }
            None if !is_admin => {
                return Err(RuntimeError::Forbidden(
                    "files that belong to no session need the scope `admin`; name a session with `session_id`".into(),
                ));
            }
            None if self.inner.file_roots.is_empty() => {
                return Err(RuntimeError::InvalidRequest(
                    "no session is named and no directory is configured; give `session_id`, or set `roots` under [files] in omniglot.toml".into(),
                ));
            }
            None => {}
        }
        if is_admin {
            directories.extend(self.inner.file_roots.iter().cloned());
        }
        let temporaries = self.inner.temporaries.clone();
        Ok(FileSpace { directories, private: self.private_files(worktree), temporaries })
    }

    /// The files that the caller does not reach in any directory. Uploads of other sessions and installed programs
    /// are in the data directory; `except` is the caller's own place there.
    pub(super) fn private_files(&self, except: Option<PathBuf>) -> Private {
        if self.caller.may(Scope::Admin) {
            self.private()
        } else {
            Private::all_of(&self.inner.data_dir, except)
        }
    }
}

impl FileSpace {
    /// Opens the directory of the path. An empty path is the first directory.
    pub fn find(&self, path: &str) -> Result<FilePlace, PlaceError> {
        if path.contains('\0') {
            return Err(PlaceError::Nul);
        }
        let given = Path::new(path);
        if given.components().any(|part| part == Component::ParentDir) {
            return Err(PlaceError::Parent(path.to_owned()));
        }
        let (directory, inner) = self.split(given).ok_or_else(|| self.outside(path))?;
        if is_too_long(directory.as_os_str().len(), inner) {
            return Err(PlaceError::TooLong);
        }
        let root = Root::open(&directory, self.private.clone())?;
        Ok(FilePlace { root, path: inner.components().filter(|part| *part != Component::CurDir).collect() })
    }

    /// Opens the directory of a path that must not be empty.
    pub fn find_any(&self, path: &str) -> Result<FilePlace, PlaceError> {
        if path.is_empty() { Err(PlaceError::Empty) } else { self.find(path) }
    }

    /// Opens the directory of a file or directory below it.
    pub fn find_entry(&self, path: &str) -> Result<FilePlace, PlaceError> {
        let place = self.find_any(path)?;
        if place.path == Path::new("") { Err(PlaceError::IsRoot(place.absolute())) } else { Ok(place) }
    }

    pub fn temporaries(&self) -> &Temporaries {
        &self.temporaries
    }

    fn split<'a>(&self, path: &'a Path) -> Option<(PathBuf, &'a Path)> {
        if path.is_relative() {
            return Some((self.directories.first()?.clone(), path));
        }
        let names = self.directories.iter().flat_map(|directory| {
            // A configured one may be a link, and be told by its real path.
            [Some(directory.clone()), directory.canonicalize().ok()].into_iter().flatten()
        });
        let mut found = names.filter_map(|name| Some((path.strip_prefix(&name).ok()?, name)));
        found.next().map(|(inner, name)| (name, inner))
    }

    fn outside(&self, path: &str) -> PlaceError {
        let directories = self.directories.iter().map(|path| path.display().to_string()).collect();
        PlaceError::Outside { path: path.to_owned(), directories }
    }
}

/// Whether no file can have the path below a directory whose own path has so many bytes. It is told before anything is
/// made of the path.
fn is_too_long(directory: usize, inner: &Path) -> bool {
    directory + inner.as_os_str().len() > LONGEST_PATH
        || inner.components().any(|part| part.as_os_str().len() > LONGEST_NAME)
}

impl FilePlace {
    pub fn absolute(&self) -> PathBuf {
        self.below(&self.path)
    }

    /// Returns the absolute path of another path below the same directory.
    pub fn below(&self, path: &Path) -> PathBuf {
        // Joining an empty path would add a slash.
        if path == Path::new("") { self.root.path().to_owned() } else { self.root.path().join(path) }
    }
}
