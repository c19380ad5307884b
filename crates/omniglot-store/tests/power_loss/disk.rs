//! Records what this process asks of the disk: the functions of the C library are replaced in this test alone.
#![expect(unsafe_code, reason = "SQLite and the standard library call functions of C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::io::Errno;

/// One entry of the recording.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Write {
        file: String,
        offset: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        length: u64,
    },
    Sync {
        file: String,
    },
    Unlink {
        file: String,
    },
    SyncFolder,
    /// The log has answered that this is done.
    Answered(Fact),
}

/// A change that is never undone once it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    /// A session of this name and epoch.
    Created(String, String),
    /// The session has events up to this sequence.
    Appended(String, u64),
    /// The session is to be deleted, and may be so before that is answered.
    Deleting(String),
    Deleted(String),
    Configured(String),
}

static FOLDER: OnceLock<PathBuf> = OnceLock::new();
static RECORDING: Mutex<Vec<Op>> = Mutex::new(Vec::new());

/// Records what happens to the database in `folder` from now on; once per process.
pub(crate) fn record(folder: &Path) {
    FOLDER.set(folder.to_owned()).unwrap();
}

pub(crate) fn answered(fact: Fact) {
    with(|ops| ops.push(Op::Answered(fact)));
}

pub(crate) fn recording() -> Vec<Op> {
    with(|ops| ops.clone())
}

fn with<T>(work: impl FnOnce(&mut Vec<Op>) -> T) -> T {
    work(&mut RECORDING.lock().unwrap_or_else(PoisonError::into_inner))
}

enum Seen {
    Folder,
    File(String),
}

/// Returns what a path is to the recording. The index in shared memory is made again after a loss of power.
fn seen(path: &Path) -> Option<Seen> {
    let folder = FOLDER.get()?;
    if path == folder {
        return Some(Seen::Folder);
    }
    let name = path.strip_prefix(folder).ok()?.to_str()?;
    (name.starts_with("omniglot.db") && !name.ends_with("-shm")).then(|| Seen::File(name.to_owned()))
}

fn seen_fd(fd: BorrowedFd<'_>) -> Option<Seen> {
    use std::os::fd::AsRawFd as _;
    FOLDER.get()?;
    let link = rustix::fs::readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new()).ok()?;
    seen(Path::new(link.to_str().ok()?))
}

/// Carries out a call and records it when it succeeds, in one step.
fn recorded<T>(
    call: impl FnOnce() -> Result<T, Errno>,
    op: impl FnOnce(&T) -> Option<Op>,
) -> Result<T, Errno> {
    with(|ops| {
        let done = call()?;
        ops.extend(op(&done));
        Ok(done)
    })
}

fn answer(result: Result<usize, Errno>) -> isize {
    unsafe extern "C" {
        fn __errno_location() -> *mut c_int;
    }
    match result {
        Ok(value) => isize::try_from(value).unwrap_or(isize::MAX),
        Err(error) => {
            // SAFETY: the location is this thread's own.
            unsafe { *__errno_location() = error.raw_os_error() };
            -1
        }
    }
}

fn written(fd: BorrowedFd<'_>, bytes: &[u8], offset: u64, count: usize) -> Option<Op> {
    let Seen::File(file) = seen_fd(fd)? else { return None };
    Some(Op::Write { file, offset, bytes: bytes.get(..count)?.to_vec() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, bytes: *const c_void, count: usize, offset: i64) -> isize {
    // SAFETY: the caller keeps the contract of `pwrite`.
    let (fd, bytes) =
        unsafe { (BorrowedFd::borrow_raw(fd), std::slice::from_raw_parts(bytes.cast(), count)) };
    let offset = offset.cast_unsigned();
    answer(recorded(|| rustix::io::pwrite(fd, bytes, offset), |count| written(fd, bytes, offset, *count)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    // SAFETY: the caller keeps the contract of `write`.
    let (fd, bytes) =
        unsafe { (BorrowedFd::borrow_raw(fd), std::slice::from_raw_parts(bytes.cast(), count)) };
    if seen_fd(fd).is_none() {
        return answer(rustix::io::write(fd, bytes));
    }
    let offset = rustix::fs::tell(fd).unwrap_or_default();
    answer(recorded(|| rustix::io::write(fd, bytes), |count| written(fd, bytes, offset, *count)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, length: i64) -> c_int {
    // SAFETY: the caller keeps the contract of `ftruncate`.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let length = length.cast_unsigned();
    let truncated = |_: &()| match seen_fd(fd)? {
        Seen::File(file) => Some(Op::Truncate { file, length }),
        Seen::Folder => None,
    };
    answer(recorded(|| rustix::fs::ftruncate(fd, length), truncated).map(|()| 0)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(fd: c_int, length: i64) -> c_int {
    // SAFETY: it is the same function on this platform.
    unsafe { ftruncate64(fd, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: the caller keeps the contract of `fdatasync`.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let synced = |_: &()| match seen_fd(fd)? {
        Seen::File(file) => Some(Op::Sync { file }),
        Seen::Folder => Some(Op::SyncFolder),
    };
    // The machine stays up: a real flush would only take time.
    answer(recorded(|| Ok(()), synced).map(|()| 0)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the caller keeps the contract of `fsync`.
    unsafe { fdatasync(fd) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller keeps the contract of `unlink`.
    let path = unsafe { CStr::from_ptr(path) };
    let unlinked = |_: &()| match seen(Path::new(path.to_str().ok()?))? {
        Seen::File(file) => Some(Op::Unlink { file }),
        Seen::Folder => None,
    };
    answer(recorded(|| rustix::fs::unlink(path), unlinked).map(|()| 0)) as c_int
}
