//! From a path to an open file below the root: in one step of the kernel, or part by part where it cannot.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use super::{How, OpenError, Refused, Root, SAFE, real_path};

impl Root {
    pub(super) fn inner(&self, path: &Path) -> Result<PathBuf, OpenError> {
        match self.relative(path)? {
            inner if inner == Path::new("") => Err(OpenError::NotAFile(path.to_owned())),
            inner => Ok(inner.to_owned()),
        }
    }

    /// The path below the root; what is said to lie elsewhere is refused before anything is opened.
    pub(super) fn relative<'a>(&self, path: &'a Path) -> Result<&'a Path, OpenError> {
        let inner = if path.is_absolute() { path.strip_prefix(&self.path).ok() } else { Some(path) };
        let inner = inner.ok_or_else(|| self.outside(path))?;
        Ok(inner.strip_prefix(".").unwrap_or(inner))
    }

    pub(super) fn open_inner(&self, inner: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        // The kernel refuses other flags beside `PATH`, which opens nothing and so waits for nothing.
        let flags = flags | if flags.contains(OFlags::PATH) { OFlags::CLOEXEC } else { SAFE };
        if self.how == How::Kernel {
            match self.by_kernel(inner, flags) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                result => return self.private.admit(result?),
            }
        }
        self.private.admit(self.walk(inner, flags)?)
    }

    /// Finds what the path names, after all links, without opening it.
    pub(super) fn locate(&self, inner: &Path) -> Result<OwnedFd, Refused> {
        if inner == Path::new("") { self.open_directory(inner) } else { self.open_inner(inner, OFlags::PATH) }
    }

    pub(super) fn open_directory(&self, inner: &Path) -> Result<OwnedFd, Refused> {
        let inner = if inner == Path::new("") { Path::new(".") } else { inner };
        self.open_inner(inner, OFlags::DIRECTORY | OFlags::RDONLY)
    }

    fn by_kernel(&self, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut result = Err(Errno::AGAIN);
        // It gives up when something is renamed at that moment.
        for _ in 0..16 {
            result = openat2(&self.dir, inner, flags, Mode::empty(), resolve);
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        result
    }

    fn walk(&self, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        if flags.contains(OFlags::DIRECTORY) {
            return self.walk_to(inner);
        }
        let name = inner.file_name().ok_or(Errno::XDEV)?;
        let dir = self.walk_to(inner.parent().unwrap_or(Path::new("")))?;
        let file = openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(link_leads_out)?;
        // With `PATH` a link itself can be opened.
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::Symlink => Err(Errno::LOOP),
            _ => Ok(file),
        }
    }

    fn walk_to(&self, inner: &Path) -> Result<OwnedFd, Errno> {
        let mut dir = self.dir.try_clone().map_err(|_| Errno::MFILE)?;
        for part in inner.components() {
            let name = match part {
                Component::Normal(name) => name,
                Component::CurDir => continue,
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
            };
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
            dir = openat(&dir, name, flags, Mode::empty()).map_err(link_leads_out)?;
        }
        Ok(dir)
    }

    /// Opens the directory of a name that is not private, so that the name can be made, moved or removed there.
    pub(super) fn entry<'a>(&self, inner: &'a Path) -> Result<(OwnedFd, &'a OsStr), Refused> {
        let name = inner.file_name().ok_or(Errno::XDEV)?;
        let dir = self.open_directory(inner.parent().unwrap_or(Path::new("")))?;
        if self.private.has(&real_path(&dir)?.join(name)) { Err(Refused::Private) } else { Ok((dir, name)) }
    }

    pub(super) fn movable<'a>(&self, inner: &'a Path) -> Result<(OwnedFd, &'a OsStr), Refused> {
        let (dir, name) = self.entry(inner)?;
        if self.private.are_below(&real_path(&dir)?.join(name)) {
            return Err(Refused::Private);
        }
        Ok((dir, name))
    }

    pub(super) fn outside(&self, path: &Path) -> OpenError {
        OpenError::Outside { path: path.to_owned(), root: self.path.clone() }
    }
}

/// A link that is not followed could lead anywhere. As a directory it is "not a directory".
fn link_leads_out(errno: Errno) -> Errno {
    if errno == Errno::NOTDIR { Errno::XDEV } else { errno }
}
