//! Shows the daemon to those who watch over it: its counters, and the sessions and readers of the moment.

use omniglot_store::{Census, StoreMetrics};

use super::{Hub, Load};
use crate::error::RuntimeError;
use crate::metrics::Metrics;

/// The daemon at one moment.
#[derive(Debug)]
pub struct Observation<'a> {
    pub agents: &'a Metrics,
    pub log: &'a StoreMetrics,
    pub census: Census,
    pub load: Load,
    /// For how long the log's writer has been at one write.
    pub writer_step: std::time::Duration,
    pub ready: bool,
}

impl Hub {
    pub async fn observe(&self) -> Result<Observation<'_>, RuntimeError> {
        Ok(Observation {
            agents: &self.inner.launcher.metrics,
            log: self.inner.store.metrics(),
            census: self.inner.store.census().await?,
            load: self.load(),
            writer_step: self.inner.store.step_age(),
            ready: self.ready().is_ok(),
        })
    }
}
