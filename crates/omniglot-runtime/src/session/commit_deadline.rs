//! Bounds how long the client of a command waits until its effect is in the log.

use tokio::time::Instant;

use super::{Answer, Session, answer};
use crate::error::RuntimeError;

impl Session {
    /// Returns when the client that has waited longest is answered without its commit.
    pub(super) fn commit_deadline(&self) -> Option<Instant> {
        let waiting = self.in_flight.iter().filter_map(|append| append.waiting.as_ref());
        let first = waiting.filter(|waiting| waiting.reply.is_some()).map(|waiting| waiting.since).min();
        first.map(|since| since + self.spec.deadlines.commit)
    }

    /// Tells those who have waited for too long why; their commands take effect all the same.
    pub(super) fn answer_overdue(&mut self) {
        let within = self.spec.deadlines.commit;
        let fault = self.store.fault();
        for waiting in self.in_flight.iter_mut().filter_map(|append| append.waiting.as_mut()) {
            if waiting.since.elapsed() < within {
                continue;
            }
            if let Some(reply) = waiting.reply.take() {
                let (seconds, fault) = (within.as_secs(), fault.clone());
                answer(reply, Answer::Refused(RuntimeError::CommitOverdue { seconds, fault }));
            }
        }
    }
}
