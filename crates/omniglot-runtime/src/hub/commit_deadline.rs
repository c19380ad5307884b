//! Bounds how long a command waits for the log: a full disk must not keep its caller for ever.

use omniglot_store::StoreError;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Hub;
use crate::error::RuntimeError;

impl Hub {
    /// Waits until a change is in the log. One that is late still takes effect when the log can be written again.
    pub(super) async fn committed<T>(
        &self,
        change: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, RuntimeError> {
        let within = self.inner.deadlines.commit;
        let outcome = timeout(within, change).await.map_err(|_| RuntimeError::CommitOverdue {
            seconds: within.as_secs(),
            fault: self.inner.store.fault(),
        })?;
        Ok(outcome.map_err(|_| StoreError::Closed)??)
    }
}
