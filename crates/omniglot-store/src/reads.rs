//! Blocking reads of the engine, made async: a few at a time, off the runtime's threads.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::engine::Engine;
use crate::types::StoreError;

/// The number of concurrent reads; more would only compete for the disk and hold memory.
const AT_ONCE: usize = 4;

#[derive(Clone)]
pub(crate) struct Reads {
    engine: Arc<dyn Engine>,
    permits: Arc<Semaphore>,
}

impl Reads {
    pub(crate) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Cancel-safe: a read whose caller is gone still ends, and only then releases its permit.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Engine) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let engine = Arc::clone(&self.engine);
        #[cfg(feature = "simulation")]
        if crate::simulation::is_simulated() {
            tokio::task::yield_now().await;
            crate::simulation::point();
            return read(&*engine);
        }
        let work = move || {
            let _permit = permit;
            read(&*engine)
        };
        tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
    }
}
