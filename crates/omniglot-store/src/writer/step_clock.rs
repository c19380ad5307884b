//! Tells for how long the writer has been at one step: a disk that does not answer shows here and nowhere else.
//!
//! A writer that fails and tries again gets on; its reason is in `fault`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The value of a writer that waits for work.
const RESTING: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct StepClock {
    start: Instant,
    /// When the present step began, in milliseconds after `start`.
    step: AtomicU64,
}

impl Default for StepClock {
    fn default() -> Self {
        Self { start: Instant::now(), step: AtomicU64::new(RESTING) }
    }
}

impl StepClock {
    /// Stamps the beginning of a step.
    pub(super) fn step(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(RESTING - 1);
        self.step.store(now, Ordering::Relaxed);
    }

    pub(super) fn rest(&self) {
        self.step.store(RESTING, Ordering::Relaxed);
    }

    /// Returns the age of the present step; zero while the writer waits for work.
    pub(crate) fn age(&self) -> Duration {
        match self.step.load(Ordering::Relaxed) {
            RESTING => Duration::ZERO,
            began => self.start.elapsed().saturating_sub(Duration::from_millis(began)),
        }
    }
}
