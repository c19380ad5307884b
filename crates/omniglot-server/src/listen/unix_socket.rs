//! A socket in the file system: made for its user alone, in the place of one whose daemon is dead, and removed at
//! the end.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, fchmod, flock};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use tokio::net::{UnixListener, UnixStream};

use super::BACKLOG;

/// How often, and how long between, another start in the same directory is waited for.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A listening socket. Dropped, it removes its file.
#[derive(Debug)]
pub(super) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: another file of the same name is not ours to remove.
    file: (u64, u64),
}

impl UnixSocket {
    pub(super) async fn bind(path: &Path) -> Result<Self, SocketError> {
        let dir = path.parent().unwrap_or(path);
        warn_if_open(dir)?;
        let _starting = alone_in(dir).await?;
        let socket = match bound(path) {
            Err(Errno::ADDRINUSE) => {
                remove_stale(path)?;
                bound(path)
            }
            other => other,
        };
        let listener = std::os::unix::net::UnixListener::from(socket.map_err(io::Error::from)?);
        let found = fs::symlink_metadata(path)?;
        let listener = UnixListener::from_std(listener)?;
        Ok(Self { listener, path: path.to_owned(), file: (found.dev(), found.ino()) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let ours = |found: fs::Metadata| (found.dev(), found.ino()) == self.file;
        if fs::symlink_metadata(&self.path).is_ok_and(ours)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "the socket stays behind");
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("the file is no socket")]
    NotASocket,
    #[error("a program listens there")]
    InUse,
    #[error("there is no directory {}", .0.display())]
    NoDirectory(PathBuf),
    #[error("another daemon has been starting in {} for too long", .0.display())]
    Starting(PathBuf),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl SocketError {
    /// Returns the advice for the user.
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotASocket => Some("it is left as it is; choose another path, or remove it yourself"),
            Self::InUse => Some("stop that program, or choose another path"),
            Self::NoDirectory(_) => Some("make it for yourself alone: `mkdir -m 700`"),
            Self::Starting(_) | Self::Io(_) => None,
        }
    }
}

/// Keeps other daemons from starting in the directory, so that none removes the socket that another has just made and
/// does not listen on yet. The directory itself is locked; there is no file to leave behind.
async fn alone_in(dir: &Path) -> Result<File, SocketError> {
    let dir_file = File::open(dir)?;
    for _ in 0..TRIES {
        match flock(&dir_file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(dir_file),
            Err(Errno::WOULDBLOCK) => tokio::time::sleep(PAUSE).await,
            Err(errno) => return Err(SocketError::Io(errno.into())),
        }
    }
    Err(SocketError::Starting(dir.to_owned()))
}

fn warn_if_open(dir: &Path) -> Result<(), SocketError> {
    let found = match fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SocketError::NoDirectory(dir.to_owned()));
        }
        found => found?,
    };
    let others_write = 0o022;
    if found.mode() & others_write != 0 {
        let (dir, mode) = (dir.display(), found.mode() & 0o7777);
        tracing::warn!(
            "others may make a socket in {dir} (mode {mode:o}), at the latest while this daemon is down; use a directory \
             of mode 700"
        );
    }
    Ok(())
}

/// The mode is that of the socket from its first moment: the kernel gives it to the file that it makes.
fn bound(path: &Path) -> rustix::io::Result<OwnedFd> {
    let socket = new_socket()?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG.cast_signed())?;
    Ok(socket)
}

/// Removes a socket that nobody listens on any more.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(SocketError::NotASocket);
    }
    // It does not wait: one that listens and has no room for us is alive as well.
    let answer = connect(
        &new_socket().map_err(io::Error::from)?,
        &SocketAddrUnix::new(path).map_err(io::Error::from)?,
    );
    match answer {
        Err(Errno::CONNREFUSED) => Ok(fs::remove_file(path)?),
        Err(Errno::NOENT) => Ok(()),
        Ok(()) | Err(Errno::AGAIN) => Err(SocketError::InUse),
        Err(errno) => Err(SocketError::Io(errno.into())),
    }
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o.sock");
        (dir, path)
    }

    #[tokio::test]
    async fn a_socket_is_its_users_alone_and_removed_at_the_end() {
        let (_dir, path) = place();
        let socket = UnixSocket::bind(&path).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        UnixStream::connect(&path).await.unwrap();
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn the_socket_of_a_dead_daemon_makes_room_and_that_of_a_live_one_does_not() {
        let (_dir, path) = place();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "nobody has removed it");
        let socket = UnixSocket::bind(&path).await.unwrap();
        assert!(matches!(UnixSocket::bind(&path).await, Err(SocketError::InUse)));
        UnixStream::connect(&path).await.unwrap();
        socket.accept().await.unwrap();
    }

    #[tokio::test]
    async fn a_live_daemon_that_has_no_room_is_not_taken_for_dead() {
        let (_dir, path) = place();
        let full = bound(&path).unwrap();
        listen(&full, 0).unwrap();
        let one = new_socket().unwrap();
        connect(&one, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        assert!(matches!(UnixSocket::bind(&path).await, Err(SocketError::InUse)));
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_as_it_is() {
        let (dir, path) = place();
        fs::write(&path, "precious").unwrap();
        assert!(matches!(UnixSocket::bind(&path).await, Err(SocketError::NotASocket)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(matches!(UnixSocket::bind(&link).await, Err(SocketError::NotASocket)));
        assert!(link.is_symlink());
    }

    #[tokio::test]
    async fn a_file_that_has_taken_the_place_of_ours_is_not_removed() {
        let (_dir, path) = place();
        let socket = UnixSocket::bind(&path).await.unwrap();
        fs::remove_file(&path).unwrap();
        let other = UnixSocket::bind(&path).await.unwrap();
        drop(socket);
        assert!(path.exists());
        drop(other);
    }

    #[tokio::test]
    async fn of_daemons_that_start_at_once_in_the_place_of_a_dead_one_one_gets_the_socket() {
        let (_dir, path) = place();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let starts = (0..8).map(|_| UnixSocket::bind(&path));
        let sockets: Vec<_> =
            futures_util::future::join_all(starts).await.into_iter().filter_map(Result::ok).collect();
        assert_eq!(sockets.len(), 1);
        UnixStream::connect(&path).await.unwrap();
    }

    #[tokio::test]
    async fn a_directory_that_is_missing_is_named() {
        let refused = UnixSocket::bind(Path::new("/no/such/o.sock")).await.unwrap_err();
        assert_eq!(refused.to_string(), "there is no directory /no/such");
        assert!(refused.hint().unwrap().contains("mkdir"));
    }
}
