//! Replacing a file at once: all of its new content, or nothing.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, statat};
use rustix::io::Errno;

use super::change::NEW_FILE;
use super::temporary::{Temporaries, Temporary};
use super::{OpenError, Refused, Root, SAFE, real_path};

/// Permissions without the bits that would let others run a file as its owner.
const PERMISSIONS: u32 = 0o777;

#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the content broke off")]
    Content(#[source] io::Error),
}

/// A failure of one of the two sides of a copy.
pub(crate) enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

/// Copies all of the content and returns its length.
pub(crate) fn copy(content: &mut dyn Read, file: &mut File) -> Result<u64, CopyError> {
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    loop {
        let read = match content.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(CopyError::Read)?,
        };
        file.write_all(buffer.get(..read).unwrap_or_default()).map_err(CopyError::Write)?;
        total += read as u64;
    }
}

impl Root {
    /// Replaces the content of a file, which keeps its permissions, or makes the file. Returns the length. The directory
    /// must exist; a link that leads to a file within stays, and the file changes.
    pub fn replace(
        &self,
        path: &Path,
        temporaries: &Temporaries,
        content: &mut dyn Read,
    ) -> Result<u64, ReplaceError> {
        let refused = |refused: Refused| refused.of_parent(path, Some(self));
        let failed = |source| OpenError::Io { path: path.to_owned(), source };
        let (inner, mode) =
            self.replaced(&self.inner(path)?).map_err(|refused| refused.at(path, Some(self)))?;
        let (dir, name) = self.entry(&inner).map_err(refused)?;
        let temporary = temporaries.reserve(dir).map_err(refused)?;
        let mut file = create(&temporary, mode.unwrap_or(NEW_FILE)).map_err(refused)?;
        let length = copy(content, &mut file).map_err(|error| match error {
            CopyError::Read(error) => ReplaceError::Content(error),
            CopyError::Write(error) => failed(error).into(),
        })?;
        if let Some(mode) = mode {
            // Those that the process does not give to new files are missing.
            fchmod(&file, mode).map_err(|errno| failed(errno.into()))?;
        }
        file.sync_all().map_err(failed)?;
        // The directory may have been moved in the meantime.
        if self.private.has(&real_path(&temporary.dir).map_err(refused)?.join(name)) {
            return Err(OpenError::Private(path.to_owned()).into());
        }
        let renamed = renameat(&temporary.dir, &temporary.name, &temporary.dir, name);
        renamed.map_err(|errno| Refused::from(errno).at(path, None))?;
        Ok(length)
    }

    /// Returns the path of the file behind all links, and its permissions; those are absent where there is no file.
    fn replaced(&self, inner: &Path) -> Result<(PathBuf, Option<Mode>), Refused> {
        let file = match self.locate(inner) {
            Err(Refused::Errno(Errno::NOENT)) if !self.is_link(inner) => return Ok((inner.to_owned(), None)),
            // A link that leads nowhere could lead anywhere.
            Err(Refused::Errno(Errno::NOENT)) => return Err(Errno::XDEV.into()),
            file => file?,
        };
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::ISDIR.into());
        }
        let path = if self.is_link(inner) { self.below(&file)? } else { inner.to_owned() };
        Ok((path, Some(Mode::from_raw_mode(stat.st_mode & PERMISSIONS))))
    }

    fn is_link(&self, inner: &Path) -> bool {
        let found =
            self.entry(inner).ok().and_then(|(dir, name)| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        found.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    /// Returns the path of an open file below the root.
    fn below(&self, file: &OwnedFd) -> Result<PathBuf, Refused> {
        let (path, root) = (real_path(file)?, real_path(&self.dir)?);
        path.strip_prefix(root).map(Path::to_owned).map_err(|_| Errno::XDEV.into())
    }
}

fn create(temporary: &Temporary, mode: Mode) -> Result<File, Refused> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | SAFE;
    Ok(openat(temporary.dir.as_fd(), &temporary.name, flags, mode)?.into())
}
