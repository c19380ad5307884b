//! The operations that wait for the writer.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::Op;

pub(super) struct Inbox {
    ops: Receiver<Op>,
    #[cfg(feature = "simulation")]
    thread: crate::simulation::WriterThread,
}

impl Inbox {
    pub(super) fn new(ops: Receiver<Op>) -> Self {
        Self {
            ops,
            #[cfg(feature = "simulation")]
            thread: crate::simulation::WriterThread::for_writer(),
        }
    }

    /// Called by the thread that receives, before anything else.
    pub(super) fn begin(&self) {
        #[cfg(feature = "simulation")]
        self.thread.take();
    }

    /// Waits for an operation, for `timeout` at most if there is one.
    pub(super) fn recv(&self, timeout: Option<Duration>) -> Result<Op, RecvTimeoutError> {
        #[cfg(feature = "simulation")]
        if let Some(received) = crate::simulation::receive(&self.ops, timeout) {
            return received;
        }
        match timeout {
            Some(timeout) => self.ops.recv_timeout(timeout),
            None => self.ops.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    pub(super) fn try_recv(&self) -> Result<Op, TryRecvError> {
        self.ops.try_recv()
    }
}
