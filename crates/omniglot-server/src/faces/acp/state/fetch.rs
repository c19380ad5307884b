//! Fetches the blobs that a projection needs, since a projection does no IO itself.

use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::SessionId;

use crate::faces::acp::project::Blobs;

/// Fetches those of `paths` that exist; a missing one is sent as its address.
pub(crate) async fn blobs(hub: &Hub, session: &SessionId, paths: Vec<&str>) -> Result<Blobs, RuntimeError> {
    let mut blobs = Blobs::default();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        match hub.blob(session, name).await {
            Ok(blob) => blobs.insert(path, blob.bytes.to_vec()),
            Err(RuntimeError::BlobNotFound(_) | RuntimeError::SessionNotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(blobs)
}
