//! The interface of every server under measurement; each server's file implements its protocol.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::subscriber::Subscriber;

/// The programs of the benchmark.
#[derive(Clone)]
pub(crate) struct Programs {
    pub(crate) omniglot: PathBuf,
    pub(crate) peer: Option<PathBuf>,
    /// This program, which is also the agent with a clock, and Pi.
    pub(crate) bench: PathBuf,
}

/// The agent behind the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The mock agent of omniglot, which floods.
    Mock,
    /// The agent of this program, whose chunks are the times of their writing.
    Clock,
}

pub(crate) trait Subject: Sized {
    const NAME: &'static str;

    /// Returns the command that starts an empty server on this port.
    fn command(programs: &Programs, home: &Path, port: u16) -> anyhow::Result<Command>;

    /// Starts a server with one session of this agent.
    async fn start(programs: &Programs, agent: Agent) -> anyhow::Result<Self>;

    fn pid(&self) -> u32;

    /// Opens an event stream and reads all existing events.
    async fn subscribe(&self) -> anyhow::Result<Subscriber>;

    /// Runs one turn to its end; returns the number of the last event.
    async fn turn(&self, prompt: &str) -> anyhow::Result<u64>;
}
