//! The handle of a live session on its agent: a process of its own, or a lease on a server
//! that others use too.
//!
//! A signal that is meant for one session never reaches a server: there it only empties the lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use omniglot_agents::Orphans;
use omniglot_schema::StderrOutput;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::process::{Exit, Process};

#[derive(Debug)]
pub(crate) enum ProcessHandle {
    Dedicated(Process),
    Shared(ServerLease),
}

/// A session's place on a shared server. When this is dropped, the session has left it.
#[derive(Debug)]
pub(crate) struct ServerLease {
    server: Arc<Process>,
    left: CancellationToken,
    busy_flag: BusyFlag,
    _leaves_when_dropped: DropGuard,
}

/// The busy state that a session reports to its shared server.
#[derive(Debug, Clone)]
pub(crate) struct BusyFlag {
    busy: Arc<AtomicBool>,
    /// Of the whole server: a turn goes on in it that nobody hears any more.
    orphaned_turn: Arc<AtomicBool>,
    changed: Arc<Notify>,
}

impl BusyFlag {
    pub(crate) fn new(orphaned_turn: Arc<AtomicBool>, changed: Arc<Notify>) -> Self {
        // Until it says otherwise: a server is not taken away from one that is just coming.
        Self { busy: Arc::new(AtomicBool::new(true)), orphaned_turn, changed }
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

impl ServerLease {
    pub(crate) fn new(server: Arc<Process>, left: CancellationToken, busy_flag: BusyFlag) -> Self {
        Self { server, _leaves_when_dropped: left.clone().drop_guard(), left, busy_flag }
    }
}

impl ProcessHandle {
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process().pid()
    }

    pub(crate) fn interrupt(&self) {
        if let Self::Dedicated(process) = self {
            process.interrupt();
        }
    }

    pub(crate) fn terminate(&self) {
        match self {
            Self::Dedicated(process) => process.terminate(),
            Self::Shared(lease) => lease.left.cancel(),
        }
    }

    pub(crate) fn kill(&self) {
        match self {
            Self::Dedicated(process) => process.kill(),
            Self::Shared(lease) => lease.left.cancel(),
        }
    }

    /// Whether the session works: a server is not taken away from one that does.
    pub(crate) fn set_busy(&self, busy: bool) {
        if let Self::Shared(lease) = self {
            lease.busy_flag.set_busy(busy);
        }
    }

    /// As [`kill`](Self::kill), though a turn goes on: a server that nobody else needs just now is ended.
    pub(crate) fn abandon(&self) {
        if let Self::Shared(lease) = self {
            lease.busy_flag.orphaned_turn.store(true, Relaxed);
            lease.busy_flag.set_busy(false);
        }
        self.kill();
    }

    /// Ends processes below it that it has lost sight of.
    pub(crate) fn end(&self, orphans: Orphans) {
        self.process().end(orphans);
    }

    /// Waits for the end of the process, or until the lease is left.
    pub(crate) async fn wait(&self) -> Exit {
        match self {
            Self::Dedicated(process) => process.wait().await,
            Self::Shared(ServerLease { server, left, .. }) => tokio::select! {
                biased;
                exit = server.wait() => exit,
                () = left.cancelled() => LEFT,
            },
        }
    }

    /// Waits until nothing of it is left that can be ended, after [`kill`](Self::kill).
    pub(crate) async fn gone(&self) {
        match self {
            Self::Dedicated(process) => drop(process.gone_or_left().await),
            Self::Shared(lease) => lease.left.cancelled().await,
        }
    }

    pub(crate) fn stderr(&self) -> StderrOutput {
        self.process().stderr()
    }

    fn process(&self) -> &Process {
        match self {
            Self::Dedicated(process) => process,
            Self::Shared(lease) => &lease.server,
        }
    }
}
