//! Files that came inside a request: kept in the shared directory until their session is deleted, since a message that
//! waits must find them after a restart.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use omniglot_schema::{MessageAttachment, SessionId};
use omniglot_store::{SessionNo, StoreError, shared};

use super::Hub;
use super::upload::{Upload, check_room};
use crate::data_url::DataUrl;
use crate::digest::sha256;
use crate::error::RuntimeError;

/// The most bytes that stand inside a message; a larger file is uploaded.
const MAX_INLINE: usize = 4 << 20;

impl Hub {
    /// Writes a file for a message of this session and returns its path. The same content has the same path.
    pub async fn keep_attachment(
        &self,
        id: &SessionId,
        name: &str,
        bytes: Bytes,
    ) -> Result<String, RuntimeError> {
        let no = self.record(id).await?.no;
        let folder = self.attachments_of(no);
        check_room(&folder, bytes.len())?;
        let hash: String = sha256(&bytes).chars().take(16).collect();
        let path = folder.join(format!("{hash}-{}", plain(name)));
        let shown = path.to_string_lossy().into_owned();
        let written = tokio::task::spawn_blocking(move || write(&folder, &path, &bytes)).await;
        written.map_err(io::Error::other).flatten().map_err(StoreError::Io)?;
        self.drop_attachments_unless_there(id, no).await?;
        Ok(shown)
    }

    /// Replaces the `data:` URLs among the attachments by files.
    pub(super) async fn keep_inline(
        &self,
        id: &SessionId,
        attachments: &mut [MessageAttachment],
    ) -> Result<(), RuntimeError> {
        for attachment in attachments.iter_mut().filter(|attachment| attachment.path.starts_with("data:")) {
            let DataUrl { mime, bytes } = DataUrl::parse(&attachment.path)
                .ok_or_else(|| RuntimeError::InvalidRequest("a data: URL cannot be decoded".into()))?;
            if bytes.len() > MAX_INLINE {
                return Err(RuntimeError::TooLarge(format!(
                    "a data: URL holds more than {} MiB; upload the file and attach what the upload answers",
                    MAX_INLINE >> 20
                )));
            }
            let name = attachment.filename.as_deref().unwrap_or("attachment");
            attachment.path = self.keep_attachment(id, name, bytes).await?;
            attachment.mime = attachment.mime.take().or(mime);
        }
        Ok(())
    }

    /// Begins a file that a client uploads for messages of this session.
    pub async fn begin_upload(&self, id: &SessionId) -> Result<Upload, RuntimeError> {
        let no = self.record(id).await?.no;
        let upload = Upload::begin(self.attachments_of(no)).await.map_err(StoreError::Io)?;
        self.drop_attachments_unless_there(id, no).await?;
        Ok(upload)
    }

    /// A session may have been deleted before its folder was there. Its number is never used again.
    async fn drop_attachments_unless_there(&self, id: &SessionId, no: SessionNo) -> Result<(), RuntimeError> {
        if self.inner.store.session_numbered(no).await?.is_some() {
            return Ok(());
        }
        self.drop_attachments(no);
        Err(RuntimeError::SessionNotFound(id.to_string()))
    }

    /// Removes what was kept for a session that is no more.
    pub(super) fn drop_attachments(&self, session: SessionNo) {
        let folder = self.attachments_of(session);
        if folder.exists()
            && let Err(error) = std::fs::remove_dir_all(&folder)
        {
            tracing::warn!(folder = %folder.display(), %error, "attachments are left");
        }
    }

    pub(super) fn attachments_of(&self, session: SessionNo) -> PathBuf {
        attachments(&self.inner.data_dir).join(session.0.to_string())
    }
}

/// The directory of all sessions' files.
pub(super) fn attachments(data_dir: &Path) -> PathBuf {
    shared(data_dir).join("attachments")
}

/// Written beside its place first, so that nobody reads half of it; and to the disk, since the message that
/// names it survives a loss of power.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let is_first = !folder.exists();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let half = folder.join(format!(".{}", uuid::Uuid::now_v7().simple()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&half)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(half, path)?;
    File::open(folder)?.sync_all()?;
    // A folder that is new is an entry of those above it, which may be new themselves.
    for above in folder.ancestors().skip(1).take(if is_first { 2 } else { 0 }) {
        File::open(above)?.sync_all()?;
    }
    Ok(())
}

/// A name that is harmless in a path; its end, which tells the type, stays.
pub(super) fn plain(name: &str) -> String {
    const MAX: usize = 80;
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
    let safe: String = name.chars().map(safe).collect();
    safe.get(safe.len().saturating_sub(MAX)..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else_and_keeps_its_end() {
        assert_eq!(plain("../../etc/pass wd.png"), ".._.._etc_pass_wd.png");
        let long = plain(&format!("{}.png", "ä".repeat(200)));
        assert!(long.len() == 80 && long.ends_with(".png"), "{long}");
    }
}
