//! The faults: processes that are killed at random moments, and what must be left of them: nothing.

use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use omniglot_testkit::daemon::{Daemon, is_alive};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep, sleep_until};

use crate::chance::Chance;

/// No descendant outlives a killed daemon for longer (P8).
const GONE_WITHIN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two faults.
const LONGEST_PAUSE_MS: u64 = 8_000;

pub(crate) struct Faults {
    /// `None` only while it is started again.
    daemon: Option<Daemon>,
    chance: Chance,
    counts: Counts,
}

#[derive(Default)]
pub(crate) struct Counts {
    daemons: usize,
    guards: usize,
    agents: usize,
}

impl Faults {
    pub(crate) fn new(daemon: Daemon, chance: Chance) -> Self {
        Self { daemon: Some(daemon), chance, counts: Counts::default() }
    }

    pub(crate) fn daemon(&self) -> Option<&Daemon> {
        self.daemon.as_ref()
    }

    pub(crate) async fn pause(&mut self, end: Instant) {
        let pause = Duration::from_millis(200 + self.chance.below(LONGEST_PAUSE_MS));
        sleep_until(end.min(Instant::now() + pause)).await;
    }

    /// Kills something.
    pub(crate) async fn next(&mut self) -> anyhow::Result<()> {
        match self.chance.below(10) {
            0..2 => self.kill_daemon().await,
            2..5 => {
                self.counts.guards += self.kill_one(|command| command.contains("\0guard\0"));
                Ok(())
            }
            _ => {
                let is_agent =
                    |command: &str| command.contains("\0mock-agent\0") && !command.contains("\0guard\0");
                self.counts.agents += self.kill_one(is_agent);
                Ok(())
            }
        }
    }

    /// Kills one descendant whose command line fits; returns how many that were.
    fn kill_one(&mut self, fits: impl Fn(&str) -> bool) -> usize {
        let below = self.daemon.as_ref().map(Daemon::descendants).unwrap_or_default();
        let command = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let fitting: Vec<u32> = below.into_iter().filter(|pid| fits(&command(*pid))).collect();
        let chosen = self.chance.pick(&fitting).and_then(|pid| Pid::from_raw(pid.cast_signed()));
        chosen.map_or(0, |pid| usize::from(kill_process(pid, Signal::KILL).is_ok()))
    }

    async fn kill_daemon(&mut self) -> anyhow::Result<()> {
        let mut daemon = self.daemon.take().context("a daemon")?;
        let below = daemon.descendants();
        daemon.kill();
        let began = Instant::now();
        for pid in below {
            while is_alive(pid) {
                ensure!(began.elapsed() < GONE_WITHIN, "process {pid} has outlived its daemon");
                sleep(PAUSE).await;
            }
        }
        self.daemon = Some(daemon.restart());
        self.counts.daemons += 1;
        Ok(())
    }

    /// Stops the daemon as a person does; its sessions are checked before.
    pub(crate) async fn finish(mut self) -> anyhow::Result<Counts> {
        drop(self.daemon.take());
        Ok(self.counts)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { daemons, guards, agents } = self;
        writeln!(f, "| `kill -9` of the daemon, of guards, of agents | {daemons}, {guards}, {agents} |")
    }
}
