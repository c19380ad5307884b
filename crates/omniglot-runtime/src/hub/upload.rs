//! A file that a client uploads: written beside its place while it arrives, and named by its content at the end.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use omniglot_schema::MessageAttachment;
use omniglot_store::StoreError;
use sha2::{Digest as _, Sha256};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use super::attach::plain;
use crate::error::RuntimeError;

/// The most bytes of one file.
const MAX_FILE: u64 = 32 << 20;
/// The most bytes of all files of a session.
const MAX_SESSION: u64 = 512 << 20;

/// An upload under way. Dropping it removes what has arrived.
pub struct Upload {
    folder: PathBuf,
    half: HalfFile,
    file: File,
    hash: Sha256,
    bytes: u64,
    /// The bytes of the session's other files.
    others: u64,
}

/// The path of an unfinished file, which is removed with this value.
struct HalfFile(PathBuf);

impl Drop for HalfFile {
    fn drop(&mut self) {
        // It is missing when the upload is finished.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

impl Upload {
    pub(super) async fn begin(folder: PathBuf) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let others = size_of(&folder)?;
        let half = HalfFile(folder.join(format!(".{}", uuid::Uuid::now_v7().simple())));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&half.0).await?;
        Ok(Self { folder, half, file, hash: Sha256::new(), bytes: 0, others })
    }

    pub async fn write(&mut self, data: &[u8]) -> Result<(), RuntimeError> {
        self.bytes += data.len() as u64;
        if self.bytes > MAX_FILE {
            let limit = MAX_FILE >> 20;
            return Err(RuntimeError::TooLarge(format!("the file is longer than {limit} MiB")));
        }
        if self.others + self.bytes > MAX_SESSION {
            return Err(session_full());
        }
        self.hash.update(data);
        Ok(self.file.write_all(data).await.map_err(StoreError::Io)?)
    }

    /// Returns the file as an attachment. The same content with the same name is the same file.
    pub async fn finish(
        mut self,
        name: &str,
        mime: Option<String>,
    ) -> Result<MessageAttachment, RuntimeError> {
        if size_of(&self.folder).map_err(StoreError::Io)? > MAX_SESSION {
            return Err(session_full());
        }
        let hash: String = format!("{:x}", self.hash.clone().finalize()).chars().take(16).collect();
        let path = self.folder.join(format!("{hash}-{}", plain(name)));
        self.keep(&path).await.map_err(StoreError::Io)?;
        Ok(MessageAttachment {
            path: path.to_string_lossy().into_owned(),
            mime,
            filename: Some(name.to_owned()),
        })
    }

    async fn keep(&mut self, path: &Path) -> io::Result<()> {
        self.file.flush().await?;
        self.file.sync_all().await?;
        tokio::fs::rename(&self.half.0, path).await?;
        // The folder, and those above it, may be new.
        for folder in self.folder.ancestors().take(3) {
            File::open(folder).await?.sync_all().await?;
        }
        Ok(())
    }
}

/// Refuses a file that would be too much for its session.
pub(super) fn check_room(folder: &Path, bytes: usize) -> Result<(), RuntimeError> {
    let others = if folder.exists() { size_of(folder).map_err(StoreError::Io)? } else { 0 };
    if others + bytes as u64 > MAX_SESSION { Err(session_full()) } else { Ok(()) }
}

fn session_full() -> RuntimeError {
    RuntimeError::TooLarge(format!("the files of this session are more than {} MiB", MAX_SESSION >> 20))
}

/// Removes what a daemon that died has left of uploads.
pub(super) fn sweep(attachments: &Path) {
    let folders = std::fs::read_dir(attachments).into_iter().flatten().flatten();
    let files = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok()).flatten().flatten();
    for half in files.filter(|file| file.file_name().as_encoded_bytes().starts_with(b".")) {
        if let Err(error) = std::fs::remove_file(half.path()) {
            tracing::warn!(file = %half.path().display(), %error, "a part of an upload is left");
        }
    }
}

fn size_of(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        // An upload beside this one may just have got its name.
        bytes += entry?.metadata().map_or(0, |metadata| metadata.len());
    }
    Ok(bytes)
}
