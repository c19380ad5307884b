//! What every server under measurement can do; how one talks to it is its own file's business.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::subscriber::Subscriber;

/// The programs that take part.
pub(crate) struct Programs {
    pub(crate) omniglot: PathBuf,
    pub(crate) peer: Option<PathBuf>,
    /// This program, which is also the agent with a clock.
    pub(crate) bench: PathBuf,
}

/// Who speaks behind the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The mock agent of omniglot, which floods.
    Mock,
    /// The agent of this program, whose chunks are the times of their writing.
    Clock,
}

pub(crate) trait Subject: Sized {
    const NAME: &'static str;

    /// The command that starts an empty server on this port.
    fn command(programs: &Programs, home: &Path, port: u16) -> anyhow::Result<Command>;

    /// A running server with one session of this agent.
    async fn start(programs: &Programs, agent: Agent) -> anyhow::Result<Self>;

    fn pid(&self) -> u32;

    /// An event stream that has shown all there was.
    async fn subscribe(&self) -> anyhow::Result<Subscriber>;

    /// Plays one turn to its end; gives the number of the last event.
    async fn turn(&self, prompt: &str) -> anyhow::Result<u64>;
}
