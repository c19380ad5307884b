//! The files of a session. Nothing outside its directory is read or written, not even through a link.
//!
//! `scripts` choose the content.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("{0} leads out of the working directory")]
    Outside(PathBuf),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
}

/// Returns the text of a file below `cwd`, or `None` if there is no such file.
pub(super) fn read(cwd: &Path, name: &str) -> Result<Option<String>, FileError> {
    match resolve(cwd, name)? {
        Some(path) => match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(source) => Err(FileError::Io { path, source }),
        },
        None => Ok(None),
    }
}

/// Replaces or creates a file below `cwd`, and the directories that it needs.
pub(super) fn write(cwd: &Path, name: &str, text: &str) -> Result<(), FileError> {
    let existing = resolve(cwd, name)?;
    if existing.is_none() {
        make_room(cwd, name)?;
    }
    let path = existing.clone().unwrap_or_else(|| cwd.join(name));
    let mut options = std::fs::OpenOptions::new();
    // `create_new` does not follow a link that points to nothing yet.
    if existing.is_some() {
        options.write(true).truncate(true)
    } else {
        options.write(true).create_new(true)
    };
    let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| FileError::Io { path, source })
}

/// Makes the missing directories above a new file, below the deepest one that exists.
fn make_room(cwd: &Path, name: &str) -> Result<(), FileError> {
    let Some(parent) = Path::new(name).parent() else { return Ok(()) };
    for above in parent.ancestors() {
        if resolve(cwd, &above.to_string_lossy())?.is_some() {
            break;
        }
    }
    let path = cwd.join(parent);
    std::fs::create_dir_all(&path).map_err(|source| FileError::Io { path, source })
}

fn resolve(cwd: &Path, name: &str) -> Result<Option<PathBuf>, FileError> {
    let path = cwd.join(name);
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(FileError::Io { path, source }),
    };
    let root = cwd.canonicalize().map_err(|source| FileError::Io { path: cwd.into(), source })?;
    if real.starts_with(root) { Ok(Some(real)) } else { Err(FileError::Outside(path)) }
}
