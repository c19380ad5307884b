//! Opens, lists, makes, renames and removes files below one directory and nowhere else: no `..`, absolute path or
//! symbolic link leads out, and nothing leads to the private files of the daemon.
//!
//! The kernel resolves the whole path in one step (`openat2`), so that nothing can be exchanged between a
//! check and its use. Where it cannot (an old kernel, a sandbox that forbids the call), the path is walked
//! part by part and links are not followed at all. A file is private by the path of the opened file, which the
//! kernel tells; hard links and second mounts that a person has made are not recognised.
//!
//! The crate `cap-std` would replace the call and the walk alone: it opens pipes and devices, waits for their other
//! end, and knows no private files, so most of this module would stand on top of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2, renameat, unlinkat,
};
use rustix::io::Errno;

use crate::config;

/// The files of the daemon that nobody reaches through it: its private directory and its configuration.
#[derive(Debug, Clone)]
pub struct Private(Arc<[PathBuf]>);

impl Private {
    pub fn of(data_dir: &Path) -> Self {
        let paths = [omniglot_store::private(data_dir), data_dir.join(config::FILE_NAME)];
        Self(paths.into_iter().map(|path| path.canonicalize().unwrap_or(path)).collect())
    }

    /// Whether a path leads to a private file now. Parts that do not exist lead nowhere.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.ancestors().find_map(|part| part.canonicalize().ok()).is_some_and(|found| self.has(&found))
    }

    fn has(&self, resolved: &Path) -> bool {
        self.0.iter().any(|private| resolved.starts_with(private))
    }

    /// Whether private files would move with what is there.
    fn are_below(&self, resolved: &Path) -> bool {
        self.0.iter().any(|private| private.starts_with(resolved))
    }

    /// Returns the file unless it is private.
    fn admit(&self, file: OwnedFd) -> Result<OwnedFd, Refused> {
        let path = real_path(&file)?;
        if self.has(&path) { Err(Refused::Private) } else { Ok(file) }
    }
}

/// A directory that bounds everything opened by it.
#[derive(Debug)]
pub struct Root {
    dir: OwnedFd,
    path: PathBuf,
    private: Private,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// One `openat2`, or the walk where there is none.
    Kernel,
    #[cfg(test)]
    Walk,
}

/// A file or folder of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: OsString,
    pub is_dir: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is outside of the session's directory {}", path.display(), root.display())]
    Outside { path: PathBuf, root: PathBuf },
    #[error("{} is a private file of the daemon", .0.display())]
    Private(PathBuf),
    #[error("{} does not exist", .0.display())]
    NotFound(PathBuf),
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

enum Refused {
    Private,
    Errno(Errno),
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// Opens a file anywhere to read it, for a client that may name any path.
pub(crate) fn open_file(path: &Path, private: &Private) -> Result<File, OpenError> {
    let file = openat(CWD, path, OFlags::RDONLY | SAFE, Mode::empty()).map_err(Refused::from);
    let file = file.and_then(|file| private.admit(file)).map_err(|refused| refused.at(path, None))?;
    regular(file).map_err(|refused| refused.at(path, None))
}

impl Root {
    pub fn open(path: &Path, private: Private) -> Result<Self, OpenError> {
        let dir = openat(CWD, path, OFlags::DIRECTORY | OFlags::RDONLY | SAFE, Mode::empty());
        let dir = dir.map_err(Refused::from).and_then(|dir| private.admit(dir));
        let dir = dir.map_err(|refused| refused.at(path, None))?;
        Ok(Self { dir, path: path.to_owned(), private, how: How::Kernel })
    }

    #[cfg(test)]
    fn by_walking(mut self) -> Self {
        self.how = How::Walk;
        self
    }

    /// Opens a file to read it.
    pub(crate) fn read(&self, path: &Path) -> Result<File, OpenError> {
        let inner = self.inner(path)?;
        let file = self.open_inner(&inner, OFlags::RDONLY).and_then(regular);
        file.map_err(|refused| refused.at(path, Some(self)))
    }

    /// Opens a file to write it, and makes it and its directories where they are missing.
    pub(crate) fn write(&self, path: &Path) -> Result<File, OpenError> {
        let inner = self.inner(path)?;
        let file = match self.open_inner(&inner, OFlags::WRONLY) {
            Err(Refused::Errno(Errno::NOENT)) => self.create(&inner),
            opened => opened,
        };
        file.and_then(regular).map_err(|refused| refused.at(path, Some(self)))
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

    fn inner(&self, path: &Path) -> Result<PathBuf, OpenError> {
        match self.relative(path)? {
            inner if inner == Path::new("") => Err(OpenError::NotAFile(path.to_owned())),
            inner => Ok(inner.to_owned()),
        }
    }

    /// The path below the root; what is said to lie elsewhere is refused before anything is opened.
    fn relative<'a>(&self, path: &'a Path) -> Result<&'a Path, OpenError> {
        let inner = if path.is_absolute() { path.strip_prefix(&self.path).ok() } else { Some(path) };
        let inner = inner.ok_or_else(|| self.outside(path))?;
        Ok(inner.strip_prefix(".").unwrap_or(inner))
    }

    fn open_inner(&self, inner: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        if self.how == How::Kernel {
            match self.by_kernel(inner, flags | SAFE) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                result => return self.private.admit(result?),
            }
        }
        self.private.admit(self.walk(inner, flags | SAFE)?)
    }

    fn open_directory(&self, inner: &Path) -> Result<OwnedFd, Refused> {
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
        openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(link_leads_out)
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
    fn entry<'a>(&self, inner: &'a Path) -> Result<(OwnedFd, &'a OsStr), Refused> {
        let name = inner.file_name().ok_or(Errno::XDEV)?;
        let dir = self.open_directory(inner.parent().unwrap_or(Path::new("")))?;
        if self.private.has(&real_path(&dir)?.join(name)) { Err(Refused::Private) } else { Ok((dir, name)) }
    }

    fn movable<'a>(&self, inner: &'a Path) -> Result<(OwnedFd, &'a OsStr), Refused> {
        let (dir, name) = self.entry(inner)?;
        if self.private.are_below(&real_path(&dir)?.join(name)) {
            return Err(Refused::Private);
        }
        Ok((dir, name))
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

    fn outside(&self, path: &Path) -> OpenError {
        OpenError::Outside { path: path.to_owned(), root: self.path.clone() }
    }
}

impl Refused {
    fn at(self, path: &Path, root: Option<&Root>) -> OpenError {
        match (self, root) {
            (Self::Private, _) => OpenError::Private(path.to_owned()),
            (Self::Errno(Errno::XDEV | Errno::LOOP), Some(root)) => root.outside(path),
            (Self::Errno(Errno::NOENT), _) => OpenError::NotFound(path.to_owned()),
            (Self::Errno(Errno::ISDIR | Errno::NXIO), _) => OpenError::NotAFile(path.to_owned()),
            (Self::Errno(errno), _) => OpenError::Io { path: path.to_owned(), source: errno.into() },
        }
    }
}

/// Returns the file unless it is a directory, a pipe or a device.
fn regular(file: OwnedFd) -> Result<File, Refused> {
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(Errno::ISDIR.into()),
    }
}

/// The link of the kernel that tells where an open file is.
fn proc_path(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A file whose place cannot be told could be private.
fn real_path(file: &OwnedFd) -> Result<PathBuf, Refused> {
    proc_path(file).read_link().map_err(|_| Refused::Private)
}

/// A link that is not followed could lead anywhere. As a directory it is "not a directory".
fn link_leads_out(errno: Errno) -> Errno {
    if errno == Errno::NOTDIR { Errno::XDEV } else { errno }
}

/// A pipe in the place of a file must not make us wait for its other end.
const SAFE: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
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
            let open = || Root::open(&self.inside(), Private::of(&self.dir.path().join("data"))).unwrap();
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

    /// A session's directory that holds the data directory, with links to it.
    struct Inner {
        dir: tempfile::TempDir,
        private: Private,
    }

    impl Inner {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = |name: &str| dir.path().join(name);
            std::fs::create_dir_all(path("data/private/run")).unwrap();
            std::fs::create_dir_all(path("data/shared")).unwrap();
            std::fs::write(path("data/private/token"), "secret").unwrap();
            std::fs::write(path("data/omniglot.toml"), "").unwrap();
            std::fs::write(path("data/shared/upload"), "text").unwrap();
            symlink("data/private", path("link")).unwrap();
            symlink("data/private/token", path("file")).unwrap();
            symlink("data/private/new", path("dangling")).unwrap();
            let private = Private::of(&path("data"));
            Self { dir, private }
        }

        fn roots(&self) -> [Root; 2] {
            let open = || Root::open(self.dir.path(), self.private.clone()).unwrap();
            [open(), open().by_walking()]
        }
    }

    #[test]
    fn private_files_are_neither_read_nor_written_nor_made_nor_listed() {
        let scene = Inner::new();
        let files = ["token", "new", "deep/new", "../private/token", "run/../token"];
        let mut ways: Vec<String> = files.iter().map(|file| format!("data/private/{file}")).collect();
        ways.extend(files.iter().map(|file| format!("link/{file}")));
        ways.extend(
            ["file", "dangling", "data/shared/../private/token", "data/omniglot.toml"].map(str::to_owned),
        );
        for root in scene.roots() {
            for way in &ways {
                for path in [PathBuf::from(way), scene.dir.path().join(way)] {
                    assert!(root.read(&path).is_err(), "read {path:?} {root:?}");
                    // The walk follows no link and no `..` at all, and a link that leads nowhere leads out.
                    let refused = root.write(&path).unwrap_err();
                    let right = matches!(refused, OpenError::Private(_) | OpenError::Outside { .. });
                    assert!(right, "write {path:?} {root:?}: {refused}");
                }
            }
            for path in ["data/private", "link", "data/private/run", "data/shared/../private"] {
                assert!(root.list(Path::new(path)).is_err(), "list {path}");
            }
        }
        let made = std::fs::read_dir(scene.dir.path().join("data/private")).unwrap().count();
        assert_eq!(made, 2, "nothing was made");
        assert_eq!(std::fs::read_to_string(scene.dir.path().join("data/private/token")).unwrap(), "secret");
    }

    #[test]
    fn directories_are_made_and_files_renamed_and_removed_within() {
        let scene = Scene::new();
        for root in scene.roots() {
            let [old, new] = ["./made/deep", "made/new"].map(Path::new);
            root.make_directory(old).unwrap();
            root.make_directory(old).unwrap();
            root.rename(old, new).unwrap();
            assert!(scene.inside().join("made/new").is_dir());
            // A link itself is moved and removed, never the file that it leads to.
            root.rename(Path::new("out"), Path::new("made/link")).unwrap();
            root.remove(Path::new("made/link")).unwrap();
            symlink(scene.dir.path().join("secret"), scene.inside().join("out")).unwrap();
            assert!(matches!(root.remove(Path::new("made")), Err(OpenError::Io { .. })), "it is not empty");
            root.remove(new).unwrap();
            root.remove(Path::new("made")).unwrap();
            assert!(matches!(root.remove(new), Err(OpenError::NotFound(_))));
            assert!(matches!(root.rename(old, new), Err(OpenError::NotFound(_))));
        }
        assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
    }

    #[test]
    fn nothing_is_made_renamed_or_removed_outside() {
        let scene = Scene::new();
        let file = Path::new("a.txt");
        let ways = ["../secret", "sub/../../secret", "up/secret", "up/in/a.txt", "sub/..", "/etc/hostname"];
        for root in scene.roots() {
            for way in ways.map(PathBuf::from).into_iter().chain([scene.dir.path().join("secret")]) {
                for done in [
                    root.make_directory(&way),
                    root.remove(&way),
                    root.rename(&way, Path::new("stolen")),
                    root.rename(file, &way),
                ] {
                    assert!(matches!(done, Err(OpenError::Outside { .. })), "{way:?} {root:?} {done:?}");
                }
            }
        }
        assert_eq!(std::fs::read_to_string(scene.dir.path().join("secret")).unwrap(), "outside");
        assert_eq!(std::fs::read_to_string(scene.inside().join(file)).unwrap(), "inside");
    }

    #[test]
    fn nothing_private_is_made_renamed_or_removed_nor_moved_with_its_directory() {
        let scene = Inner::new();
        std::fs::remove_file(scene.dir.path().join("data/omniglot.toml")).unwrap();
        let upload = Path::new("data/shared/upload");
        for root in scene.roots() {
            for way in
                ["data/private/token", "link/token", "data/private/new", "data/private", "data/omniglot.toml"]
            {
                let way = Path::new(way);
                // The walk follows no link at all.
                let refused = |done: Result<(), OpenError>| {
                    let right = matches!(done, Err(OpenError::Private(_) | OpenError::Outside { .. }));
                    assert!(right, "{way:?} {root:?} {done:?}");
                };
                refused(root.make_directory(way));
                refused(root.remove(way));
                refused(root.rename(way, Path::new("stolen")));
                refused(root.rename(upload, way));
                let written = root.write(way).map(drop);
                // A directory is refused as such.
                refused(written.map_err(|error| match error {
                    OpenError::NotAFile(path) => OpenError::Private(path),
                    error => error,
                }));
            }
            for (from, to) in [("data", "moved"), ("data/shared", "data")] {
                let moved = root.rename(Path::new(from), Path::new(to));
                assert!(matches!(moved, Err(OpenError::Private(_))), "{from} {moved:?}");
            }
            root.make_directory(Path::new("data/shared/new/deep")).unwrap();
        }
        assert!(!scene.dir.path().join("data/omniglot.toml").exists());
        assert!(scene.dir.path().join("data/private/token").exists());
    }

    #[test]
    fn other_programs_are_sent_nowhere_else() {
        let scene = Inner::new();
        let dir = scene.dir.path();
        symlink("/etc", dir.join("etc")).unwrap();
        for root in scene.roots() {
            for way in ["b.rs", "new/b.rs", "data/shared"] {
                let path = dir.join(way);
                assert_eq!(root.absolute(Path::new(way)).unwrap(), path);
                assert_eq!(root.absolute(&path).unwrap(), path);
            }
            for way in ["/etc/passwd", "../b", "a/../../b", "etc", "etc/new.txt", "data/private/x", "link/x"]
            {
                assert!(root.absolute(Path::new(way)).is_err(), "{way} {root:?}");
                assert!(root.directory(Path::new(way)).is_err(), "{way} {root:?}");
            }
            let shared = dir.canonicalize().unwrap().join("data/shared");
            assert_eq!(root.directory(Path::new("data/shared")).unwrap(), shared);
            assert_eq!(root.directory(dir).unwrap(), dir.canonicalize().unwrap());
            assert!(root.directory(Path::new("data/shared/upload")).is_err());
        }
    }

    #[test]
    fn a_private_directory_is_no_root_and_no_private_file_is_opened_from_anywhere() {
        let scene = Inner::new();
        for way in ["data/private", "link", "data/private/run", "data/shared/../private"] {
            let opened = Root::open(&scene.dir.path().join(way), scene.private.clone());
            assert!(matches!(opened, Err(OpenError::Private(_))), "{way}: {opened:?}");
        }
        for way in ["data/private/token", "link/token", "file", "data/shared/../private/token"] {
            let path = scene.dir.path().join(way);
            assert!(matches!(open_file(&path, &scene.private), Err(OpenError::Private(_))), "{way}");
            assert!(scene.private.holds(&path), "{way}");
        }
        let upload = scene.dir.path().join("data/shared/upload");
        assert!(open_file(&upload, &scene.private).is_ok() && !scene.private.holds(&upload));
        let [root, _] = scene.roots();
        assert!(root.read(Path::new("data/shared/upload")).is_ok());
    }

    #[test]
    fn a_list_has_files_and_folders_and_no_links() {
        let scene = Scene::new();
        for root in scene.roots() {
            let mut found = root.list(Path::new("")).unwrap();
            found.sort();
            let entry = |name: &str, is_dir| Entry { name: name.into(), is_dir };
            assert_eq!(found, [entry("a.txt", false), entry("sub", true)]);
            assert!(matches!(root.list(Path::new("up")), Err(OpenError::Outside { .. })));
            assert!(matches!(root.list(Path::new("..")), Err(OpenError::Outside { .. })));
        }
    }

    #[test]
    fn a_pipe_named_by_a_client_is_not_waited_for() {
        let scene = Scene::new();
        let pipe = scene.inside().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let opened = open_file(&pipe, &Private::of(scene.dir.path()));
        assert!(matches!(opened, Err(OpenError::NotAFile(_))), "{opened:?}");
    }
}
