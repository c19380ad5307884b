//! Counts what the log does, without locks: a reader of the counters never holds up the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The upper bounds of the classes of a [`Histogram`], in microseconds: from a memory disk to one that hangs.
const BOUNDS: [u64; 10] = [250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 5_000_000];

/// Durations, counted by class.
#[derive(Debug, Default)]
pub struct Histogram {
    /// How many were at most as long as the bound of the same place, and longer than the one before.
    classes: [Counter; BOUNDS.len()],
    /// All of them, those beyond the last bound too.
    count: Counter,
    microseconds: Counter,
}

impl Histogram {
    pub fn observe(&self, duration: Duration) {
        let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        if let Some((_, class)) = BOUNDS.iter().zip(&self.classes).find(|(bound, _)| microseconds <= **bound)
        {
            class.add(1);
        }
        self.count.add(1);
        self.microseconds.add(microseconds);
    }

    /// Returns the upper bounds, in seconds, and how many durations were at most as long as each.
    pub fn cumulative(&self) -> Vec<(f64, u64)> {
        let mut sum = 0;
        let bounds = BOUNDS.iter().zip(&self.classes).map(|(bound, class)| {
            sum += class.get();
            (Duration::from_micros(*bound).as_secs_f64(), sum)
        });
        bounds.collect()
    }

    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Returns the sum of all durations.
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.microseconds.get())
    }
}

#[derive(Debug, Default)]
pub struct StoreMetrics {
    /// Events that were committed.
    pub events: Counter,
    /// How long the commits took, without their flush.
    pub commits: Histogram,
    /// How long it took until the disk had everything.
    pub flushes: Histogram,
    /// Every subscription holds it.
    pub(crate) subscribed: Arc<()>,
}

impl StoreMetrics {
    /// Returns how many follow a session's events at the moment.
    pub fn subscribers(&self) -> usize {
        Arc::strong_count(&self.subscribed) - 1
    }
}

/// The sessions and queued messages of the log, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    pub sessions: Vec<SessionCount>,
    /// Messages that wait for their turn.
    pub queued: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCount {
    pub agent: String,
    pub status: SessionStatus,
    pub count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// It has a turn that runs, or a process that rests.
    Connected,
    /// Its next message starts its agent.
    Idle,
    Ended,
}

impl SessionStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Idle => "idle",
            Self::Ended => "ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_each_duration_in_its_class_and_all_above() {
        let histogram = Histogram::default();
        for microseconds in [100, 250, 251, 9_000_000] {
            histogram.observe(Duration::from_micros(microseconds));
        }
        let cumulative = histogram.cumulative();
        assert_eq!(cumulative[..2], [(0.000_25, 2), (0.000_5, 3)]);
        assert_eq!(cumulative.last(), Some(&(5.0, 3)), "the longest is beyond the last bound");
        assert_eq!((histogram.count(), histogram.sum()), (4, Duration::from_micros(9_000_601)));
    }
}
