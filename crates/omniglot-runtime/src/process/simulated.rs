//! Processes that are tasks of a simulation: the daemon talks to them as to any other, and no program is started.
//!
//! Not part of the product: only tests build the feature `simulation`.

use std::cell::RefCell;
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;

use bytes::Bytes;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};

use super::pumps::SharedStderr;
use super::supervise::{KILLED, Phase};
use super::{Exit, LineSender, Process, ProcessIo, SpawnError, Stdin, Supervisor, line_queue};
use crate::process::lines::Line;

type Program = Box<dyn Fn(Child)>;

thread_local! {
    static PROGRAM: RefCell<Option<Program>> = const { RefCell::new(None) };
}

/// Every process that this thread starts from now on is a call of `program`, which lets the child speak in a task.
pub fn run_instead(program: impl Fn(Child) + 'static) {
    PROGRAM.set(Some(Box::new(program)));
}

/// The inside of a simulated process. It has ended when this is dropped, as if it was killed.
pub struct Child {
    stdin: mpsc::UnboundedReceiver<Bytes>,
    stdout: LineSender,
    orders: UnixStream,
    phase: watch::Sender<Phase>,
    exit: Exit,
}

impl Child {
    /// Returns the next line of stdin; `None` when it is closed, or when a signal ends the process.
    pub async fn hear(&mut self) -> Option<Bytes> {
        let mut order = [0];
        tokio::select! {
            biased;
            // Every order ends it, and so does the end of the daemon's handle.
            _ = self.orders.read(&mut order) => None,
            line = self.stdin.recv() => line,
        }
    }

    /// Writes a line to stdout, as soon as there is room.
    pub async fn say(&self, line: String) {
        // A daemon that listens no more will end the process.
        let _room = self.stdout.send(vec![Line::Whole(Bytes::from(line))]).await;
    }

    /// Ends the process with this code.
    pub fn exit(mut self, code: i32) {
        self.exit = Exit { code: Some(code), signal: None };
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Gone(self.exit));
    }
}

/// Starts a simulated process, in a thread in which processes are simulated.
pub(super) fn spawn(supervisor: &Supervisor) -> Option<Result<(Process, ProcessIo), SpawnError>> {
    PROGRAM.with_borrow(|program| {
        let program = program.as_ref()?;
        let failed = |source| SpawnError::Guard { guard: supervisor.guard.clone(), source };
        Some(start(supervisor).map_err(failed).map(|(process, io, child)| {
            program(child);
            (process, io)
        }))
    })
}

fn start(supervisor: &Supervisor) -> io::Result<(Process, ProcessIo, Child)> {
    let (orders, ordered) = StdUnixStream::pair()?;
    ordered.set_nonblocking(true)?;
    let (frames, stdin) = Stdin::of_requests();
    let (stdout, lines) = line_queue(&supervisor.limits);
    let (phase, told) = watch::channel(Phase::Running);
    let process = Process { pid: 0, guard: None, orders, phase: told, stderr: SharedStderr::default() };
    let child = Child { stdin, stdout, orders: UnixStream::from_std(ordered)?, phase, exit: KILLED };
    Ok((process, ProcessIo { lines, frames }, child))
}
