//! The chance of one simulation: everything that could happen otherwise is decided here, from the seed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use omniglot_store::simulation::Chance;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::c_library::{advance_to, next_random};

/// More steps than any simulation takes: one that takes them does not end.
const ENDLESS: u64 = 3_000_000;

pub(crate) struct Dice {
    state: AtomicU64,
    beginning: std::time::Instant,
    steps: AtomicU64,
    /// The step at which the daemon dies.
    last_step: AtomicU64,
    dead: watch::Sender<bool>,
    /// How often the disk will still refuse.
    refusals: AtomicU64,
    trace: Mutex<(u64, u64)>,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(seed),
            beginning: std::time::Instant::now(),
            steps: AtomicU64::new(0),
            last_step: AtomicU64::new(u64::MAX),
            dead: watch::Sender::new(false),
            refusals: AtomicU64::new(0),
            trace: Mutex::new((0, 0)),
        }
    }

    /// The daemon dies after so many steps, or not at all.
    pub(crate) fn die_after(&self, steps: Option<u64>) {
        let last = steps.map_or(u64::MAX, |steps| self.steps.load(SeqCst) + steps);
        self.last_step.store(last, SeqCst);
        self.dead.send_replace(false);
    }

    pub(crate) fn die(&self) {
        self.last_step.store(u64::MAX, SeqCst);
        self.dead.send_replace(true);
    }

    /// Waits until the daemon dies.
    pub(crate) async fn death(&self) {
        drop(self.dead.subscribe().wait_for(|dead| *dead).await);
    }

    pub(crate) fn one_in(&self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    /// Lets others go first: for nothing, some steps, or some time.
    pub(crate) async fn pause(&self) {
        match self.below(20) {
            0..6 => {}
            6..13 => {
                for _ in 0..=self.below(5) {
                    tokio::task::yield_now().await;
                }
            }
            13..19 => tokio::time::sleep(Duration::from_millis(1 + self.below(60))).await,
            _ => tokio::time::sleep(Duration::from_millis(self.below(4_000))).await,
        }
        self.tick();
    }

    /// Notes something that has happened: two runs are the same when all of it is.
    pub(crate) fn note(&self, what: impl std::hash::Hash) {
        use std::hash::{Hash as _, Hasher as _};
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        let mut trace = self.trace.lock().unwrap();
        (trace.1, what).hash(&mut hasher);
        *trace = (trace.0 + 1, hasher.finish());
    }

    pub(crate) fn trace(&self) -> String {
        let (notes, hash) = *self.trace.lock().unwrap();
        format!("{notes} notes, {} steps, {hash:016x}", self.steps.load(SeqCst))
    }

    /// Lets the time of the system follow the time of the simulation.
    fn tick(&self) {
        if Handle::try_current().is_ok() {
            advance_to(Instant::now().into_std().saturating_duration_since(self.beginning));
        }
    }
}

impl Chance for Dice {
    fn below(&self, bound: u64) -> u64 {
        self.tick();
        let steps = self.steps.fetch_add(1, SeqCst);
        assert!(steps < ENDLESS, "the simulation does not end");
        if steps >= self.last_step.load(SeqCst) {
            self.die();
        }
        let (state, random) = next_random(self.state.load(SeqCst));
        self.state.store(state, SeqCst);
        random % bound
    }

    fn disk_fails(&self) -> bool {
        let left = self.refusals.load(SeqCst);
        if left > 0 {
            self.refusals.store(left - 1, SeqCst);
        } else if self.one_in(60) {
            self.refusals.store(self.below(6), SeqCst);
            return true;
        }
        left > 0
    }
}
