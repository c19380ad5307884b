//! What a live session holds of the process that speaks to it: a process of its own, or a seat on a server
//! that others use too.
//!
//! A signal that is meant for one session never reaches a server: there it only empties the seat.

use std::sync::Arc;

use omniglot_schema::StderrOutput;
use tokio_util::sync::{CancellationToken, DropGuard};

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
    _leaves_when_dropped: DropGuard,
}

/// How a session's end looks that has left a server which lives on.
const LEFT: Exit = Exit { code: Some(0), signal: None };

impl Seat {
    pub(crate) fn new(server: Arc<Process>, left: CancellationToken) -> Self {
        Self { server, _leaves_when_dropped: left.clone().drop_guard(), left }
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

    /// Waits until nothing of it is left, after [`kill`](Self::kill).
    pub(crate) async fn gone(&self) {
        match self {
            Self::Own(process) => drop(process.gone().await),
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
