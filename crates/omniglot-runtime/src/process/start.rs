//! Starts a guard, gives it the agent's pipes, and sets the tasks of the process going.
//!
//! Leaves the meaning of the guard's first report to the caller.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use bytes::Bytes;
use omniglot_schema::ProcessLogsStream;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::pumps::{self, SharedStderr};
use super::stdin::Stdin;
use super::supervise::{Phase, Reports, Supervision};
use super::user::pipes::{Sink, UserInput, UserPipes};
use super::{Launch, Process, ProcessIo, Supervisor};
use crate::files;
use crate::process::guard::wire::{AgentStdio, send_stdio};
use crate::process::sweep::{Mark, Record};

/// A guard that was started. When this is dropped, it ends, and so does its agent.
pub(super) struct Started<P> {
    guard: Child,
    mark: Mark,
    record: Option<Record>,
    orders: UnixStream,
    pub(super) reports: Reports,
    pipes: P,
}

/// The daemon's ends of the agent's pipes.
pub(super) struct AgentPipes {
    pub(super) stdin: pipe::Sender,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

/// The daemon's end of what a command writes, to stdout or stderr alike; there is nothing for it to read.
pub(super) struct CommandPipe {
    output: pipe::Receiver,
}

impl<P> Started<P> {
    pub(super) fn new(
        supervisor: &Supervisor,
        launch: &Launch,
        program: &Path,
        (pipes, stdio): (P, AgentStdio),
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        send_stdio(&ours, &stdio)?;
        let mut command = Command::new(&supervisor.guard);
        command.arg("guard").args(files::argument()).arg("--").arg(program).args(&launch.args);
        let mark = Mark::new(&supervisor.run_dir);
        launch.apply(&mark, &mut command);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let guard = command.spawn()?;
        let record = guard.id().and_then(|pid| record(&supervisor.run_dir, pid));
        Ok(Self { guard, mark, record, orders: ours.try_clone()?, reports: Reports::new(ours)?, pipes })
    }

    /// Waits for a guard that has nothing to watch.
    pub(super) async fn end(mut self) {
        drop((self.orders, self.reports));
        if let Err(error) = self.guard.wait().await {
            tracing::debug!(%error, "a guard's end");
        }
        if let Some(record) = self.record {
            record.remove();
        }
    }
}

impl Started<CommandPipe> {
    /// The command runs: hands on what it writes and watches for its end.
    pub(super) fn run(self, pid: u32, supervisor: &Supervisor) -> (Process, mpsc::Receiver<Bytes>) {
        let Self { guard, mark, record, orders, reports, pipes } = self;
        let name = record.as_ref().map(Record::guard);
        let give_up = CancellationToken::new();
        let (queue, output) = mpsc::channel(QUEUED_CHUNKS);
        let (told, phase) = watch::channel(Phase::Running);
        let supervision = Supervision {
            stdout: tokio::spawn(pumps::pump_output(pipes.output, queue, give_up.clone())),
            stdin: None,
            stderr: tokio::spawn(std::future::ready(())),
            give_up,
            reports,
            guard,
            mark,
            record,
            told,
            drain: supervisor.limits.drain,
        };
        tokio::spawn(supervision.run());
        (Process { pid, guard: name, orders, phase, stderr: SharedStderr::default() }, output)
    }
}

impl Started<UserPipes> {
    /// The program runs: hands its output to `sink` and watches for its end.
    pub(super) fn run(self, pid: u32, supervisor: &Supervisor, sink: &Sink) -> (Process, UserInput) {
        let Self { guard, mark, record, orders, reports, pipes } = self;
        let name = record.as_ref().map(Record::guard);
        let give_up = CancellationToken::new();
        let pump = |(stream, output): (ProcessLogsStream, pipe::Receiver)| {
            let sink = sink.clone();
            tokio::spawn(pumps::pump_bytes(output, move |bytes| sink(stream, bytes), give_up.clone()))
        };
        let (told, phase) = watch::channel(Phase::Running);
        let supervision = Supervision {
            stdout: pump(pipes.output),
            stdin: None,
            stderr: pipes.errors.map(pump).unwrap_or_else(|| tokio::spawn(std::future::ready(()))),
            give_up,
            reports,
            guard,
            mark,
            record,
            told,
            drain: supervisor.limits.drain,
        };
        tokio::spawn(supervision.run());
        (Process { pid, guard: name, orders, phase, stderr: SharedStderr::default() }, pipes.input)
    }
}

impl Started<AgentPipes> {
    /// The agent runs: pumps its pipes and watches for its end.
    pub(super) fn run(self, pid: u32, supervisor: &Supervisor) -> (Process, ProcessIo) {
        let Self { guard, mark, record, orders, reports, pipes } = self;
        let name = record.as_ref().map(Record::guard);
        let limits = &supervisor.limits;
        let give_up = CancellationToken::new();
        let stderr = SharedStderr::default();
        let log = stderr.clone();
        let push = move |bytes: &[u8]| log.push(bytes);
        let (queue, lines) = pumps::line_queue(limits);
        let (stdin, frames) = Stdin::of_pipe(pipes.stdin);
        tokio::spawn(stdin.clone().pump());
        let (told, phase) = watch::channel(Phase::Running);
        let supervision = Supervision {
            stdout: tokio::spawn(pumps::pump_stdout(pipes.stdout, limits.line_cap, queue, give_up.clone())),
            stdin: Some(stdin),
            stderr: tokio::spawn(pumps::pump_bytes(pipes.stderr, push, give_up.clone())),
            give_up,
            reports,
            guard,
            mark,
            record,
            told,
            drain: limits.drain,
        };
        tokio::spawn(supervision.run());
        (Process { pid, guard: name, orders, phase, stderr }, ProcessIo { lines, frames })
    }
}

/// Both ends of the three pipes. Ours never block, the agent's do, as it expects.
pub(super) fn agent_pipes() -> io::Result<(AgentPipes, AgentStdio)> {
    let (agent_stdin, stdin) = io::pipe()?;
    let (stdout, agent_stdout) = io::pipe()?;
    let (stderr, agent_stderr) = io::pipe()?;
    let ours = AgentPipes {
        stdin: pipe::Sender::from_owned_fd(stdin.into())?,
        stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
    };
    let stdio =
        AgentStdio { stdin: agent_stdin.into(), stdout: agent_stdout.into(), stderr: agent_stderr.into() };
    Ok((ours, stdio))
}

/// One pipe for both outputs, so that their order is kept.
pub(super) fn command_pipe() -> io::Result<(CommandPipe, AgentStdio)> {
    let (output, stdout) = io::pipe()?;
    let stderr = stdout.try_clone()?;
    let ours = CommandPipe { output: pipe::Receiver::from_owned_fd(output.into())? };
    let nothing = std::fs::File::open("/dev/null")?;
    Ok((ours, AgentStdio { stdin: nothing.into(), stdout: stdout.into(), stderr: stderr.into() }))
}

/// Chunks of output that may wait; over it the command waits.
const QUEUED_CHUNKS: usize = 4;

/// A guard without a record works as well: the record is for the case that the guard fails too.
fn record(dir: &Path, pid: u32) -> Option<Record> {
    Record::create(dir, pid)
        .inspect_err(|error| tracing::warn!(%error, dir = %dir.display(), "a guard's record was not written"))
        .ok()
}
