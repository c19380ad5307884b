//! One process of a client: what is known about it, the way into it, and its end.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use omniglot_schema::{ProcessCreateRequest, ProcessInfo, ProcessOwner, ProcessState, ProcessTerminalSize};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::launch;
use super::log::{Log, LogReader, Wanted};
use super::pipes::{self, Sink, Terminal};
use crate::error::ProcessError;
use crate::process::{Exit, Process, Supervisor};

/// Inputs that may wait for a process to read them.
const QUEUED_INPUTS: usize = 64;

/// How long a process may take to stop when the daemon does.
const STOP: Duration = Duration::from_secs(1);

/// The longest time that a client may wait for the end of a process.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// A process of a client, running or exited.
pub struct UserProcess {
    id: String,
    request: ProcessCreateRequest,
    cwd: PathBuf,
    pid: u32,
    created_at_ms: i64,
    log: Arc<Log>,
    running: Mutex<Option<Running>>,
    ended: watch::Sender<Option<Ended>>,
}

/// The parts of a process that runs.
struct Running {
    process: Arc<Process>,
    input: mpsc::Sender<Bytes>,
    terminal: Option<Terminal>,
    _writer: AbortOnDropHandle<()>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    exit: Exit,
    pub(super) at_ms: i64,
}

impl UserProcess {
    pub(super) async fn start(
        id: String,
        supervisor: &Supervisor,
        request: ProcessCreateRequest,
        log_bytes: usize,
    ) -> Result<Self, ProcessError> {
        let launch = launch::of_create(&request)?;
        let log = Arc::new(Log::new(log_bytes));
        let to_log = log.clone();
        let sink: Sink = Arc::new(move |stream, bytes: &[u8]| to_log.push(stream, bytes));
        let (process, input) = pipes::spawn(supervisor, &launch, request.tty, &sink).await?;
        let (queue, inputs) = mpsc::channel(QUEUED_INPUTS);
        let pid = process.pid();
        let running = Running {
            process: Arc::new(process),
            input: queue,
            terminal: input.terminal,
            _writer: AbortOnDropHandle::new(tokio::spawn(write(input.stdin, inputs))),
        };
        Ok(Self {
            id,
            request,
            cwd: launch.cwd,
            pid,
            created_at_ms: Timestamp::now().as_millisecond(),
            log,
            running: Mutex::new(Some(running)),
            ended: watch::Sender::new(None),
        })
    }

    /// Waits until it and all its descendants are gone; ends them when the daemon stops.
    pub(super) async fn run(&self, stopping: &CancellationToken) -> Option<Exit> {
        let process = self.lock().as_ref().map(|running| running.process.clone())?;
        tokio::select! {
            _ = process.wait() => {}
            () = stopping.cancelled() => {
                process.terminate();
                if tokio::time::timeout(STOP, process.wait()).await.is_err() {
                    process.kill();
                }
            }
        }
        Some(process.gone_or_left().await)
    }

    /// From here on it counts as exited.
    pub(super) fn set_ended(&self, exit: Exit) {
        self.lock().take();
        self.ended.send_replace(Some(Ended { exit, at_ms: Timestamp::now().as_millisecond() }));
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        *self.ended.borrow()
    }

    /// Forgets its output; those who read it get what is there.
    pub(super) fn close(&self) {
        self.log.close();
    }

    pub(super) fn log_bytes(&self) -> usize {
        self.log.bytes()
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn has_terminal(&self) -> bool {
        self.request.tty
    }

    pub fn info(&self) -> ProcessInfo {
        let ended = self.ended();
        ProcessInfo {
            id: self.id.clone(),
            command: self.request.command.clone(),
            args: self.request.args.clone(),
            cwd: self.cwd.to_string_lossy().into_owned(),
            tty: self.request.tty,
            interactive: self.request.interactive,
            owner: ProcessOwner::User,
            status: if ended.is_some() { ProcessState::Exited } else { ProcessState::Running },
            pid: self.pid,
            exit_code: ended.and_then(|ended| ended.exit.code),
            created_at_ms: self.created_at_ms,
            exited_at_ms: ended.map(|ended| ended.at_ms),
        }
    }

    /// Reads its output.
    pub fn read_log(&self, wanted: Wanted) -> LogReader {
        LogReader::new(self.log.clone(), wanted)
    }

    /// SIGTERM to the process; its descendants end with it.
    pub fn terminate(&self) {
        if let Some(running) = &*self.lock() {
            running.process.terminate();
        }
    }

    /// SIGKILL to the process and all its descendants.
    pub fn kill(&self) {
        if let Some(running) = &*self.lock() {
            running.process.kill();
        }
    }

    /// Waits until it has exited, but not longer than `limit`.
    pub async fn wait(&self, limit: Duration) {
        drop(tokio::time::timeout(limit.min(LONGEST_WAIT), self.exited()).await);
    }

    /// Waits until it has exited; returns its exit code unless a signal ended it.
    pub async fn exited(&self) -> Option<i32> {
        let mut ended = self.ended.subscribe();
        let ended = ended.wait_for(Option::is_some).await.map(|ended| *ended).ok()??;
        ended.exit.code
    }

    /// Gives it input, which waits until it is read.
    pub fn write(&self, input: Bytes) -> Result<(), ProcessError> {
        let running = self.lock();
        let running = running.as_ref().ok_or_else(|| ProcessError::Exited(self.id.clone()))?;
        running.input.try_send(input).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => ProcessError::InputFull(self.id.clone()),
            mpsc::error::TrySendError::Closed(_) => ProcessError::InputClosed(self.id.clone()),
        })
    }

    pub fn resize(&self, size: ProcessTerminalSize) -> Result<(), ProcessError> {
        if size.cols == 0 || size.rows == 0 {
            return Err(ProcessError::Invalid("`cols` and `rows` must be at least 1".into()));
        }
        if !self.has_terminal() {
            return Err(ProcessError::NoTerminal(self.id.clone()));
        }
        let running = self.lock();
        let terminal = running.as_ref().and_then(|running| running.terminal.as_ref());
        let terminal = terminal.ok_or_else(|| ProcessError::Exited(self.id.clone()))?;
        terminal.resize(size).map_err(|error| ProcessError::Failed(error.to_string()))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes what waits until the process reads no more.
async fn write(mut stdin: pipe::Sender, mut inputs: mpsc::Receiver<Bytes>) {
    while let Some(input) = inputs.recv().await {
        if let Err(error) = stdin.write_all(&input).await {
            return tracing::debug!(%error, "the input of a process");
        }
    }
}
