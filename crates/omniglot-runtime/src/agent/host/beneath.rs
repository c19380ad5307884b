//! Opens files below one directory and nowhere else: no `..`, absolute path or symbolic link leads out.
//!
//! The kernel resolves the whole path in one step (`openat2`), so that nothing can be exchanged between a
//! check and its use. Where it cannot (an old kernel, a sandbox that forbids the call), the path is walked
//! part by part and links are not followed at all.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

/// A directory that bounds everything opened by it.
#[derive(Debug)]
pub(super) struct Root {
    dir: OwnedFd,
    path: PathBuf,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// One `openat2`, or the walk where there is none.
    Kernel,
    #[cfg(test)]
    Walk,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("{} is outside of the session's directory {}", path.display(), root.display())]
    Outside { path: PathBuf, root: PathBuf },
    #[error("{} does not exist", .0.display())]
    NotFound(PathBuf),
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl Root {
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let dir = openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())
            .map_err(|errno| OpenError::Io { path: path.to_owned(), source: errno.into() })?;
        Ok(Self { dir, path: path.to_owned(), how: How::Kernel })
    }

    #[cfg(test)]
    fn by_walking(mut self) -> Self {
        self.how = How::Walk;
        self
    }

    /// Opens a file to read it.
    pub(super) fn read(&self, path: &Path) -> Result<File, OpenError> {
        let inner = self.inner(path)?;
        let file = self.open_inner(&inner, OFlags::RDONLY, Mode::empty());
        self.regular(path, file)
    }

    /// Opens a file to write it, and makes it and its directories where they are missing.
    pub(super) fn write(&self, path: &Path) -> Result<File, OpenError> {
        let inner = self.inner(path)?;
        let open = || self.open_inner(&inner, OFlags::WRONLY | OFlags::CREATE, NEW_FILE);
        let mut file = open();
        if file.as_ref().is_err_and(|errno| *errno == Errno::NOENT) {
            self.make_directories(&inner).map_err(|errno| self.error(path, errno))?;
            file = open();
        }
        self.regular(path, file)
    }

    /// The path below the root; what is said to lie elsewhere is refused before anything is opened.
    fn inner(&self, path: &Path) -> Result<PathBuf, OpenError> {
        let inner = if path.is_absolute() { path.strip_prefix(&self.path).ok() } else { Some(path) };
        match inner {
            Some(inner) if inner.as_os_str().is_empty() => Err(OpenError::NotAFile(path.to_owned())),
            Some(inner) => Ok(inner.to_owned()),
            None => Err(self.outside(path)),
        }
    }

    fn open_inner(&self, inner: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        // A pipe in the place of a file must not make us wait for its other end.
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        if self.how == How::Kernel {
            match self.by_kernel(inner, flags, mode) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                result => return result,
            }
        }
        self.walk(inner, flags, mode)
    }

    fn by_kernel(&self, inner: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut result = Err(Errno::AGAIN);
        // It gives up when something is renamed at that moment.
        for _ in 0..16 {
            result = openat2(&self.dir, inner, flags, mode, resolve);
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        result
    }

    fn walk(&self, inner: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        if flags.contains(OFlags::DIRECTORY) {
            return self.walk_to(inner);
        }
        let name = inner.file_name().ok_or(Errno::XDEV)?;
        let dir = self.walk_to(inner.parent().unwrap_or(Path::new("")))?;
        openat(dir, name, flags | OFlags::NOFOLLOW, mode).map_err(link_leads_out)
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

    fn make_directories(&self, inner: &Path) -> Result<(), Errno> {
        let parents: Vec<&Path> = inner.ancestors().skip(1).filter(|path| *path != Path::new("")).collect();
        for path in parents.into_iter().rev() {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(Errno::XDEV);
            };
            let within = if parent == Path::new("") { Path::new(".") } else { parent };
            let dir = self.open_inner(within, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty());
            match mkdirat(dir?, name, NEW_DIRECTORY) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn regular(&self, path: &Path, file: Result<OwnedFd, Errno>) -> Result<File, OpenError> {
        let file = file.map_err(|errno| self.error(path, errno))?;
        let stat = fstat(&file).map_err(|errno| self.error(path, errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(OpenError::NotAFile(path.to_owned())),
        }
    }

    fn error(&self, path: &Path, errno: Errno) -> OpenError {
        match errno {
            Errno::XDEV | Errno::LOOP => self.outside(path),
            Errno::NOENT => OpenError::NotFound(path.to_owned()),
            Errno::ISDIR | Errno::NXIO => OpenError::NotAFile(path.to_owned()),
            errno => OpenError::Io { path: path.to_owned(), source: errno.into() },
        }
    }

    fn outside(&self, path: &Path) -> OpenError {
        OpenError::Outside { path: path.to_owned(), root: self.path.clone() }
    }
}

/// A link that is not followed could lead anywhere. As a directory it is "not a directory".
fn link_leads_out(errno: Errno) -> Errno {
    if errno == Errno::NOTDIR { Errno::XDEV } else { errno }
}

const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory `in` with files and links, a secret beside it, and both ways to look at it.
    struct Scene {
        dir: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = |name: &str| dir.path().join(name);
            std::fs::create_dir_all(path("in/sub")).unwrap();
            std::fs::write(path("in/a.txt"), "inside").unwrap();
            std::fs::write(path("secret"), "outside").unwrap();
            symlink(path("secret"), path("in/out")).unwrap();
            symlink("../secret", path("in/out-relative")).unwrap();
            symlink(dir.path(), path("in/up")).unwrap();
            symlink("../a.txt", path("in/sub/within")).unwrap();
            Self { dir }
        }

        fn inside(&self) -> PathBuf {
            self.dir.path().join("in")
        }

        fn roots(&self) -> [Root; 2] {
            let open = || Root::open(&self.inside()).unwrap();
            [open(), open().by_walking()]
        }
    }

    #[test]
    fn what_lies_within_is_opened_by_absolute_and_relative_paths() {
        let scene = Scene::new();
        for root in scene.roots() {
            for path in [scene.inside().join("a.txt"), PathBuf::from("a.txt"), PathBuf::from("./a.txt")] {
                let mut text = String::new();
                root.read(&path).unwrap().read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
            }
        }
    }

    #[test]
    fn nothing_leads_out() {
        let scene = Scene::new();
        let inside = scene.inside();
        let ways = [
            scene.dir.path().join("secret"),
            inside.join("../secret"),
            PathBuf::from("../secret"),
            PathBuf::from("sub/../../secret"),
            inside.join("out"),
            inside.join("out-relative"),
            inside.join("up/secret"),
            PathBuf::from("/proc/self/root/etc/hostname"),
        ];
        for root in scene.roots() {
            for way in &ways {
                assert!(matches!(root.read(way), Err(OpenError::Outside { .. })), "{root:?} {way:?}");
                assert!(matches!(root.write(way), Err(OpenError::Outside { .. })), "{root:?} {way:?}");
            }
        }
        assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
    }

    #[test]
    fn a_link_that_stays_within_is_followed_where_the_kernel_can_tell() {
        let scene = Scene::new();
        let [kernel, walk] = scene.roots();
        assert!(kernel.read(Path::new("sub/within")).is_ok());
        assert!(matches!(walk.read(Path::new("sub/within")), Err(OpenError::Outside { .. })));
    }

    #[test]
    fn a_new_file_gets_its_directories() {
        let scene = Scene::new();
        for (number, root) in scene.roots().into_iter().enumerate() {
            let path = scene.inside().join(format!("new{number}/deeper/file.txt"));
            root.write(&path).unwrap().write_all(b"x").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
            let way = PathBuf::from("up/made/file.txt");
            assert!(matches!(root.write(&way), Err(OpenError::Outside { .. })), "{root:?}");
            assert!(!scene.dir.path().join("made").exists());
        }
    }

    #[test]
    fn what_is_no_file_is_told_and_never_waited_for() {
        let scene = Scene::new();
        let pipe = scene.inside().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        for root in scene.roots() {
            for path in [&pipe, &scene.inside().join("sub"), &scene.inside()] {
                assert!(matches!(root.read(path), Err(OpenError::NotAFile(_))), "{root:?} {path:?}");
                assert!(matches!(root.write(path), Err(OpenError::NotAFile(_))), "{root:?} {path:?}");
            }
            assert!(matches!(root.read(Path::new("nothing")), Err(OpenError::NotFound(_))));
        }
    }
}
