//! The blobs of a session, as its events name them.

use omniglot_schema::SessionId;
use omniglot_store::Blob;

use super::Hub;
use crate::error::RuntimeError;

impl Hub {
    pub async fn blob(&self, id: &SessionId, name: &str) -> Result<Blob, RuntimeError> {
        let record = self.record(id).await?;
        let blob = self.inner.store.blob(record.no, name).await?;
        blob.ok_or_else(|| RuntimeError::BlobNotFound(name.to_owned()))
    }
}
