//! Watches one process to its end: the guard's reports in, the stages of the end out.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::stdin::Stdin;
use crate::process::guard::wire::Report;
use crate::process::sweep::{Mark, Record};

/// How far the end of a process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// The agent has ended and its output is read.
    Exited(Exit),
    /// So have all its descendants and the guard.
    Gone(Exit),
}

impl Phase {
    pub(super) fn exit(&self) -> Option<Exit> {
        match self {
            Self::Running => None,
            Self::Exited(exit) | Self::Gone(exit) => Some(*exit),
        }
    }

    pub(super) fn gone(&self) -> Option<Exit> {
        match self {
            Self::Running | Self::Exited(_) => None,
            Self::Gone(exit) => Some(*exit),
        }
    }

    pub(super) async fn reached(mut told: watch::Receiver<Self>, wanted: fn(&Self) -> Option<Exit>) -> Exit {
        let phase = told.wait_for(|phase| wanted(phase).is_some()).await.map(|phase| *phase);
        // An error means that the runtime shuts down, and the guard kills what is left.
        phase.ok().as_ref().and_then(wanted).unwrap_or(KILLED)
    }
}

/// The reports of a guard, line by line.
pub(super) struct Reports {
    lines: BufReader<UnixStream>,
}

impl Reports {
    pub(super) fn new(control: StdUnixStream) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        Ok(Self { lines: BufReader::with_capacity(256, UnixStream::from_std(control)?) })
    }

    /// `None` when the guard is gone. Not cancel-safe: after a cancelled call nothing more may be asked.
    pub(super) async fn next(&mut self) -> io::Result<Option<Report>> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).await? > 0 {
            if let Some(report) = Report::parse(&line) {
                return Ok(Some(report));
            }
            line.clear();
        }
        Ok(None)
    }
}

/// All that belongs to a running process but is not in its owner's hands.
pub(super) struct Supervision {
    pub(super) stdout: JoinHandle<()>,
    pub(super) stdin: Option<Arc<Stdin>>,
    pub(super) stderr: JoinHandle<()>,
    /// Tells the readers not to wait for output that does not come.
    pub(super) give_up: CancellationToken,
    pub(super) reports: Reports,
    pub(super) guard: Child,
    pub(super) mark: Mark,
    pub(super) record: Option<Record>,
    pub(super) told: watch::Sender<Phase>,
    pub(super) drain: Duration,
}

impl Supervision {
    pub(super) async fn run(mut self) {
        let exit = self.exit().await;
        if let Some(stdin) = self.stdin.take() {
            stdin.close();
        }
        self.drain().await;
        self.told.send_replace(Phase::Exited(exit));
        if self.leaves_nobody().await
            && let Some(record) = self.record
        {
            record.remove();
        }
        self.told.send_replace(Phase::Gone(exit));
    }

    async fn exit(&mut self) -> Exit {
        loop {
            match self.reports.next().await {
                Ok(Some(Report::Exit(code))) => return Exit { code: Some(code), signal: None },
                Ok(Some(Report::Signal(signal))) => return Exit { code: None, signal: Some(signal) },
                Ok(Some(Report::Pid(_) | Report::Unspawned { .. })) => {}
                // The guard itself was killed: the kernel kills the agent then.
                Ok(None) | Err(_) => return KILLED,
            }
        }
    }

    /// Waits for the guard's end. One that was killed leaves all but its agent behind.
    async fn leaves_nobody(&mut self) -> bool {
        match self.guard.wait().await {
            Ok(status) if status.success() => true,
            ended => {
                tracing::warn!(?ended, "a guard was killed; what it has left is ended");
                let mark = self.mark.clone();
                tokio::task::spawn_blocking(move || mark.end_all()).await.unwrap_or(false)
            }
        }
    }

    /// Lets the readers come to the end of the pipes. The guard kills whoever holds them open; should that
    /// not be possible, the readers stop where nothing more comes.
    async fn drain(&mut self) {
        let both = async { tokio::join!(&mut self.stdout, &mut self.stderr) };
        if tokio::time::timeout(self.drain, both).await.is_err() {
            self.give_up.cancel();
        }
    }
}

pub(super) const KILLED: Exit = Exit { code: None, signal: Some(9) };
