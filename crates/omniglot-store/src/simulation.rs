//! The log on a disk in memory, for simulations: its writer runs only when it is given its turn, and chance decides
//! when that is.
//!
//! Not part of the product: only tests build the feature `simulation`. Writer, feeds, rings and cursors are the real
//! ones; the disk is not. The writer is a thread, but it and the thread of the simulation never run at once: see
//! `scheduler`. The same chance gives the same order of everything.

mod disk;
mod engine;
mod scheduler;
mod tables;

use std::sync::Arc;
use std::time::Duration;

pub use disk::{Disk, Flaw};
use scheduler::{Scheduler, Wants};
pub(crate) use scheduler::{WriterThread, is_simulated, loses_wake_ups, point, receive, wake_writer};

/// Decides what nobody can foresee. Each call is a step at which a simulation may end.
pub trait Chance: Send + Sync + 'static {
    /// Returns a number below `bound`.
    fn below(&self, bound: u64) -> u64;

    /// Whether the disk refuses what it is asked to write or flush now.
    fn disk_fails(&self) -> bool;
}

/// The writer of a simulated log: it works while [`WriterTurns::run`] is polled.
pub struct WriterTurns {
    scheduler: Arc<Scheduler>,
}

impl WriterTurns {
    /// Gives the writer its turns until it has ended.
    pub async fn run(&self) {
        loop {
            match self.scheduler.wants() {
                Wants::Ended => return,
                Wants::Operation(timeout) => {
                    let is_over = self.scheduler.work_or_timeout(timeout).await;
                    self.scheduler.resume(is_over);
                }
                Wants::Turn => {
                    self.pause().await;
                    self.scheduler.resume(false);
                }
            }
        }
    }

    /// Ends the writer where it stands, as the death of its process does: nothing more is written or answered.
    pub fn kill(&self) {
        self.scheduler.kill();
    }

    /// Lets others go first for as long as chance wants: mostly not at all, seldom for seconds.
    async fn pause(&self) {
        let chance = &self.scheduler.chance;
        match chance.below(40) {
            0..20 => {}
            20..32 => {
                for _ in 0..=chance.below(4) {
                    tokio::task::yield_now().await;
                }
            }
            32..39 => tokio::time::sleep(Duration::from_millis(1 + chance.below(20))).await,
            _ => tokio::time::sleep(Duration::from_millis(chance.below(3_000))).await,
        }
    }
}
