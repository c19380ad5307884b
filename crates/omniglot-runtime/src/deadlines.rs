//! How long the runtime waits, for an agent or for the disk, in each of the situations in which it waits.

use std::time::Duration;

use crate::config::Limits;

#[derive(Debug, Clone)]
pub struct Deadlines {
    /// After an interrupt, how long an agent may go on producing.
    pub interrupt_producing: Duration,
    /// After an interrupt, how long an agent may stay silent.
    pub interrupt_silent: Duration,
    /// Between two signals.
    pub rung: Duration,
    /// How long an agent may take to leave by itself when its stdin is closed.
    pub stop: Duration,
    /// How long a process may rest.
    pub idle: Duration,
    /// How long an agent may be silent within a turn.
    pub silence: Option<Duration>,
    /// How long the log may be at one write before the daemon counts as not ready.
    pub writer_stall: Duration,
    /// How long a command may wait until its effect is in the log.
    pub commit: Duration,
}

impl Deadlines {
    /// As the configuration says; an agent that goes on talking never gets more timeout than a silent one.
    pub fn of(limits: &Limits) -> Self {
        let silent = Duration::from_secs(limits.cancel_seconds);
        let default = Self::default();
        Self {
            interrupt_silent: silent,
            interrupt_producing: default.interrupt_producing.min(silent),
            idle: Duration::from_secs(limits.idle_seconds),
            silence: limits.silence_seconds.map(Duration::from_secs),
            writer_stall: Duration::from_secs(limits.writer_stall_seconds),
            commit: Duration::from_secs(limits.commit_seconds),
            ..default
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            interrupt_producing: Duration::from_secs(2),
            interrupt_silent: Duration::from_secs(10),
            rung: Duration::from_secs(2),
            stop: Duration::from_secs(1),
            idle: Duration::from_secs(600),
            silence: None,
            writer_stall: Duration::from_secs(5),
            commit: Duration::from_secs(20),
        }
    }
}
