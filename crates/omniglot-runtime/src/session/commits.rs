//! The appends that wait for their commit, in order, and those who wait for them.

use std::collections::VecDeque;

use omniglot_store::StoreError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Answer, Commit, Flow, Posted, Request, Session, SessionCommand, answer, idle};

/// An append that waits for its commit, and who waits for it.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) commit: Commit,
    pub(super) waiting: Option<Waiting>,
}

#[derive(Debug)]
pub(super) struct Waiting {
    /// `None` once it has waited for too long.
    pub(super) reply: Option<oneshot::Sender<Answer>>,
    pub(super) since: Instant,
    pub(super) posted: Option<Posted>,
    /// The idempotency key that the commit makes durable.
    pub(super) key: Option<String>,
}

impl Session {
    /// The oldest append is through. A refused one means that what we think was said was not: the session
    /// must begin again from what the log has.
    pub(super) fn committed(&mut self, result: Result<(), StoreError>) -> Flow {
        let waiting = self.in_flight.pop_front().and_then(|done| done.waiting);
        match result {
            Ok(()) => {
                self.appended = true;
                if let Some(Waiting { reply, posted, key, .. }) = waiting {
                    key.and_then(|key| self.keys.remove(&key));
                    if let Some(reply) = reply {
                        answer(reply, Answer::Done(posted));
                    }
                }
                Flow::On
            }
            Err(error) => {
                tracing::error!(session = %self.spec.id, error = &error as &dyn std::error::Error, "an append");
                if !matches!(error, StoreError::Closed | StoreError::NoSession) {
                    self.refused.get_or_insert_with(|| reason(&error));
                }
                if let Some(reply) = waiting.and_then(|waiting| waiting.reply) {
                    answer(reply, Answer::Refused(error.into()));
                }
                self.broken = true;
                Flow::Done
            }
        }
    }

    /// Waits until everything said is committed. A full log may never take it: a session that is to be deleted
    /// makes room, and does not wait. Others who ask meanwhile have come too late.
    pub(super) async fn settle(&mut self) -> Vec<Request> {
        let mut too_late = vec![];
        if !self.broken {
            self.follow_turns();
            let barrier = self.commit_last();
            self.in_flight.push_back(InFlight { commit: barrier, waiting: None });
        }
        while !self.in_flight.is_empty() {
            let commit_due = self.commit_deadline();
            tokio::select! {
                () = idle::reached(commit_due) => self.answer_overdue(),
                result = committed(&mut self.in_flight) => drop(self.committed(result)),
                Some(Request { ask, reply }) = self.requests.recv() => match ask {
                    SessionCommand::Discard => {
                        self.discard().await;
                        answer(reply, Answer::Done(None));
                    }
                    ask => too_late.push(Request { ask, reply }),
                }
            }
        }
        too_late
    }

    /// Those who asked after the loop had ended ask again.
    pub(super) async fn take_the_rest(&mut self, too_late: Vec<Request>) {
        for Request { ask, reply } in too_late {
            answer(reply, Answer::Retired(ask));
        }
        while let Some(Request { ask, reply }) = self.requests.recv().await {
            answer(reply, Answer::Retired(ask));
        }
    }
}

/// The error with its cause.
fn reason(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

pub(super) async fn committed(in_flight: &mut VecDeque<InFlight>) -> Result<(), StoreError> {
    match in_flight.front_mut() {
        Some(first) => (&mut first.commit).await.unwrap_or(Err(StoreError::Closed)),
        None => std::future::pending().await,
    }
}
