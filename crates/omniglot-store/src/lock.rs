//! Ownership of a data directory: one process at a time, found through its lock file.
//!
//! The kernel's lock counts, not the file: content that a dead owner left in the file is ignored.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::data_dir;
use crate::types::StoreError;

pub(crate) const NAME: &str = "omniglot.lock";

/// The daemon that owns a data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    pub pid: u32,
    pub url: String,
    /// The path of the token that the daemon requires, if the token is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The SHA-256 of the certificate that the daemon shows, if it speaks TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Whether the daemon is a command that serves for as long as it works itself: nobody starts it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub temporary: bool,
}

/// Returns the daemon that owns `dir`; `None` when the directory is free or its owner not yet announced.
/// A daemon of an older version is found too.
pub fn lock_holder(dir: &Path) -> Option<LockHolder> {
    holder_at(&data_dir::private(dir).join(NAME)).or_else(|| holder_at(&dir.join(NAME)))
}

fn holder_at(path: &Path) -> Option<LockHolder> {
    let file = File::open(path).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => holder(&file),
        _ => None,
    }
}

/// The lock on a data directory; held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        Self::take_at(dir, data_dir::private(dir).join(NAME))
    }

    /// Takes the lock of a directory that an older version has made.
    pub(crate) fn take_older(dir: &Path) -> Result<Self, StoreError> {
        Self::take_at(dir, dir.join(NAME))
    }

    fn take_at(dir: &Path, path: PathBuf) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(StoreError::file(&path))?;
        if !lock_patiently(&file).map_err(StoreError::file(&path))? {
            return Err(StoreError::Locked { dir: dir.to_owned(), holder: holder(&file) });
        }
        file.set_len(0).map_err(StoreError::file(&path))?;
        Ok(Self { file, path })
    }

    pub(crate) fn announce(&self, holder: &LockHolder) -> Result<(), StoreError> {
        self.write(holder).map_err(StoreError::file(&self.path))
    }

    fn write(&self, holder: &LockHolder) -> io::Result<()> {
        let text = serde_json::to_vec(holder)?;
        // The file is empty since it was locked, so a reader finds nothing or all of it.
        self.file.write_all_at(&text, 0)?;
        self.file.set_len(text.len() as u64)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = self.file.set_len(0) {
            tracing::warn!(%error, "the lock file keeps its stale content");
        }
    }
}

/// Takes the lock; `false` when another process holds it. [`lock_holder`] takes the lock for a moment to see
/// whether it is free, so one refusal proves nothing.
fn lock_patiently(file: &File) -> io::Result<bool> {
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(10)),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(false)
}

/// Reads the owner from the file; `None` while the owner has not announced itself.
fn holder(file: &File) -> Option<LockHolder> {
    serde_json::from_str(&content(file)).ok()
}

fn content(mut file: &File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) => text,
        Err(error) => {
            tracing::warn!(%error, "the lock file is not readable");
            String::new()
        }
    }
}
