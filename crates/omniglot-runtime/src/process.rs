//! One agent process under its guard: its lines, its stdin, its stderr, its end.
//!
//! Knows no protocol and no session. Talks to the guard that it starts, and through it to the agent.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use omniglot_agents::Orphans;
use omniglot_schema::StderrOutput;
use rustix::net::{SendFlags, send};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use self::pumps::SharedStderr;
use self::start::Started;
use self::supervise::Phase;
use crate::process::guard::wire::{AgentStdio, Order, Report};

pub mod guard;
pub(crate) mod handle;
pub(crate) mod launch;
pub mod lines;
pub(crate) mod orphans;
pub(crate) mod piped;
mod pumps;
#[cfg(feature = "simulation")]
pub mod simulated;
mod start;
mod stdin;
mod supervise;
pub mod sweep;
mod tree;
pub mod user;

pub use launch::Launch;
pub use omniglot_agents::Exit;
pub use pumps::LineReceiver;
pub(crate) use pumps::{LineSender, line_queue};
pub use stdin::FrameSender;
pub(crate) use stdin::{Gate, Stdin};

/// How processes are started: the same for all of a daemon.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// An absolute path; called as `<guard> guard -- <program> <args>`, see [`crate::process::guard::run`].
    pub guard: PathBuf,
    /// Where the record of each guard is kept, for [`crate::process::sweep::sweep`].
    pub run_dir: PathBuf,
    pub limits: Limits,
}

/// Bounds of one process.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest line that is kept.
    pub line_cap: usize,
    /// Lines that wait to be taken, in bytes and in batches; over it the agent waits.
    pub queued_bytes: usize,
    pub queued_batches: usize,
    /// How long a guard may take to start the agent.
    pub start: Duration,
    /// How long after its end the agent's pipes may stay open.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_cap: lines::DEFAULT_CAP,
            queued_bytes: 1024 * 1024,
            queued_batches: 64,
            start: Duration::from_secs(10),
            drain: Duration::from_secs(1),
        }
    }
}

/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("program not found: {program}")]
    NotFound { program: String },
    #[error("not a directory: {}", .0.display())]
    Directory(PathBuf),
    /// The system found the program and refused it.
    #[error("{program}: {message}")]
    Refused { program: String, errno: i32, message: String },
    #[error("the guard {}", guard.display())]
    Guard { guard: PathBuf, source: io::Error },
}

/// The conversation with a process.
#[derive(Debug)]
pub struct ProcessIo {
    /// Ends after the last line; only then ask [`Process::wait`], and the exit comes after all output.
    pub lines: LineReceiver,
    /// Each frame becomes one line on stdin. Dropping all senders closes stdin.
    pub frames: FrameSender,
}

/// How long the end of everything below an agent may take, once it was killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a guard may take to do what it was told.
const OBEY_TIMEOUT: Duration = Duration::from_secs(2);

/// A running process. When this is dropped, it and all its descendants are killed.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    /// `None` when it could not be recorded.
    guard: Option<sweep::Name>,
    orders: UnixStream,
    phase: watch::Receiver<Phase>,
    stderr: SharedStderr,
}

impl Process {
    /// Starts the program under a guard and waits until it runs. Dropping the future kills what was started.
    pub async fn spawn(supervisor: &Supervisor, launch: &Launch) -> Result<(Self, ProcessIo), SpawnError> {
        #[cfg(feature = "simulation")]
        if let Some(simulated) = simulated::spawn(supervisor) {
            return simulated;
        }
        let (started, pid) = start(supervisor, launch, start::agent_pipes).await?;
        Ok(started.run(pid, supervisor))
    }

    /// As [`spawn`](Self::spawn), for a command that is only listened to: what it writes, in order, on
    /// stdout and stderr alike. Read to the end first, and only then ask [`wait`](Self::wait).
    pub async fn spawn_command(
        supervisor: &Supervisor,
        launch: &Launch,
    ) -> Result<(Self, mpsc::Receiver<Bytes>), SpawnError> {
        let (started, pid) = start(supervisor, launch, start::command_pipe).await?;
        Ok(started.run(pid, supervisor))
    }

    /// The agent's number, not the guard's.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Ends processes that the agent has lost sight of. Those that have left their parents are below the guard,
    /// which adopts every orphan of the agent.
    pub fn end(&self, orphans: Orphans) {
        let guard = self.guard.filter(|_| orphans.detached).map(|guard| guard.number());
        orphans::end(guard.unwrap_or(self.pid), orphans);
    }

    /// As Ctrl-C in a terminal does: SIGINT to the agent and its group.
    pub fn interrupt(&self) {
        self.order(Order::Interrupt);
    }

    /// SIGTERM to the agent.
    pub fn terminate(&self) {
        self.order(Order::Terminate);
    }

    /// SIGKILL to the agent and all its descendants.
    pub fn kill(&self) {
        self.order(Order::Kill);
        self.watch_guard();
    }

    /// Waits for the agent's end; any number of callers may, also after this handle is dropped.
    ///
    /// Comes after its output is in the queue, but at the latest [`Limits::drain`] after the end: a caller
    /// that does not read the lines does not wait for ever.
    pub fn wait(&self) -> impl Future<Output = Exit> + Send + use<> {
        Phase::reached(self.phase.clone(), Phase::exit)
    }

    /// Waits until the agent and all its descendants are gone.
    pub fn gone(&self) -> impl Future<Output = Exit> + Send + use<> {
        Phase::reached(self.phase.clone(), Phase::gone)
    }

    /// As [`gone`](Self::gone), for whoever cannot wait for ever: what cannot be killed, be it another user's or
    /// held by the kernel, is left to the guard, which does not give up.
    pub async fn gone_or_left(&self) -> Exit {
        let Ok(exit) = timeout(KILL_TIMEOUT, self.gone()).await else {
            tracing::warn!(
                pid = self.pid,
                "something below an agent cannot be ended; its guard goes on trying"
            );
            return Phase::exit(&self.phase.borrow()).unwrap_or(supervise::KILLED);
        };
        exit
    }

    /// Returns the stderr so far; all of it after [`wait`](Self::wait).
    pub fn stderr(&self) -> StderrOutput {
        self.stderr.output()
    }

    /// Ends the guard too if it is stopped and therefore does not do what it was told.
    fn watch_guard(&self) {
        let (Some(guard), Ok(runtime)) = (self.guard, Handle::try_current()) else { return };
        let gone = self.gone();
        runtime.spawn(async move {
            if timeout(OBEY_TIMEOUT, gone).await.is_err() {
                drop(tokio::task::spawn_blocking(move || guard.end_if_stopped()).await);
            }
        });
    }

    fn order(&self, order: Order) {
        let sent = send(&self.orders, &[order.to_byte()], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        if let Err(error) = sent {
            // It is gone already: what was ordered is done.
            tracing::debug!(%error, ?order, pid = self.pid, "an order to a guard");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard sees the end of the socket and can still report; an error means that it is gone.
        drop(self.orders.shutdown(Shutdown::Write));
        if Phase::gone(&self.phase.borrow()).is_none() {
            self.watch_guard();
        }
    }
}

/// Starts the program under a guard that was given `pipes`, and waits until it runs.
async fn start<P>(
    supervisor: &Supervisor,
    launch: &Launch,
    pipes: fn() -> io::Result<(P, AgentStdio)>,
) -> Result<(Started<P>, u32), SpawnError> {
    let program = launch.check()?;
    let failed = |source| SpawnError::Guard { guard: supervisor.guard.clone(), source };
    let started = pipes().and_then(|pipes| Started::new(supervisor, launch, &program, pipes));
    let mut started = started.map_err(failed)?;
    let first = tokio::time::timeout(supervisor.limits.start, started.reports.next()).await;
    match first.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(failed)? {
        Some(Report::Pid(pid)) => Ok((started, pid)),
        Some(Report::Unspawned { errno, message }) => {
            started.end().await;
            Err(refused(launch, &program, errno, message))
        }
        _ => Err(failed(io::ErrorKind::UnexpectedEof.into())),
    }
}

fn refused(launch: &Launch, program: &Path, errno: i32, message: String) -> SpawnError {
    let not_found = errno == rustix::io::Errno::NOENT.raw_os_error();
    match not_found {
        true if !program.exists() => SpawnError::NotFound { program: launch.program.clone() },
        // "No such file" about a file that is there means the program in its first line.
        true => {
            let message = format!("its interpreter was not found ({message})");
            SpawnError::Refused { program: launch.program.clone(), errno, message }
        }
        false => SpawnError::Refused { program: launch.program.clone(), errno, message },
    }
}
