//! What a live session holds of the process that speaks to it: a process of its own, or a seat on a server
//! that others use too.
//!
//! A signal that is meant for one session never reaches a server: there it only empties the seat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use omniglot_agents::Leftovers;
use omniglot_schema::StderrOutput;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::leftovers;
use crate::process::{Exit, Process};

#[derive(Debug)]
pub(crate) enum Vessel {
    Own(Process),
    Shared(Seat),
}

/// A session's place on a shared server. When this is dropped, the session has left it.
#[derive(Debug)]
pub(crate) struct Seat {
    server: Arc<Process>,
    left: CancellationToken,
    sign: Sign,
    _leaves_when_dropped: DropGuard,
}

/// What a session tells of itself to whoever keeps its server.
#[derive(Debug, Clone)]
pub(crate) struct Sign {
    busy: Arc<AtomicBool>,
    /// Of the whole server: a turn goes on in it that nobody hears any more.
    runaway: Arc<AtomicBool>,
    changed: Arc<Notify>,
}

impl Sign {
    pub(crate) fn new(runaway: Arc<AtomicBool>, changed: Arc<Notify>) -> Self {
        // Until it says otherwise: a server is not taken away from one that is just coming.
        Self { busy: Arc::new(AtomicBool::new(true)), runaway, changed }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    fn set_busy(&self, busy: bool) {
        if self.busy.swap(busy, Relaxed) != busy {
            self.changed.notify_one();
        }
    }
}

/// How a session's end looks that has left a server which lives on.
const LEFT: Exit = Exit { code: Some(0), signal: None };

impl Seat {
    pub(crate) fn new(server: Arc<Process>, left: CancellationToken, sign: Sign) -> Self {
        Self { server, _leaves_when_dropped: left.clone().drop_guard(), left, sign }
    }
}

impl Vessel {
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process().pid()
    }

    pub(crate) fn interrupt(&self) {
        if let Self::Own(process) = self {
            process.interrupt();
        }
    }

    pub(crate) fn terminate(&self) {
        match self {
            Self::Own(process) => process.terminate(),
            Self::Shared(seat) => seat.left.cancel(),
        }
    }

    pub(crate) fn kill(&self) {
        match self {
            Self::Own(process) => process.kill(),
            Self::Shared(seat) => seat.left.cancel(),
        }
    }

    /// Whether the session works: a server is not taken away from one that does.
    pub(crate) fn occupy(&self, busy: bool) {
        if let Self::Shared(seat) = self {
            seat.sign.set_busy(busy);
        }
    }

    /// As [`kill`](Self::kill), though a turn goes on: a server that nobody else needs just now is ended.
    pub(crate) fn forsake(&self) {
        if let Self::Shared(seat) = self {
            seat.sign.runaway.store(true, Relaxed);
            seat.sign.set_busy(false);
        }
        self.kill();
    }

    /// Ends processes below it that it has lost sight of.
    pub(crate) fn end(&self, leftovers: Leftovers) {
        leftovers::end(self.pid(), leftovers);
    }

    /// Waits for the end of the process, or until the seat is left.
    pub(crate) async fn wait(&self) -> Exit {
        match self {
            Self::Own(process) => process.wait().await,
            Self::Shared(Seat { server, left, .. }) => tokio::select! {
                biased;
                exit = server.wait() => exit,
                () = left.cancelled() => LEFT,
            },
        }
    }

    /// Waits until nothing of it is left that can be ended, after [`kill`](Self::kill).
    pub(crate) async fn gone(&self) {
        match self {
            Self::Own(process) => drop(process.gone_or_left().await),
            Self::Shared(seat) => seat.left.cancelled().await,
        }
    }

    pub(crate) fn stderr(&self) -> StderrOutput {
        self.process().stderr()
    }

    fn process(&self) -> &Process {
        match self {
            Self::Own(process) => process,
            Self::Shared(seat) => &seat.server,
        }
    }
}
