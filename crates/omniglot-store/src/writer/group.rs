//! Changes that are committed together, each with the answer to its caller.

use tokio::sync::oneshot;

use super::Op;
use crate::engine::{Change, Done};
use crate::types::{SessionRecord, StoreError};

/// Bounds of one transaction: large enough for a flood, small enough to answer soon.
const MAX_BYTES: usize = 4 << 20;
const MAX_CHANGES: usize = 4096;

/// The answer to the caller of an operation; dropped unsent, it reports that the log is closed.
pub(crate) struct Answer(Option<Waiting>);

enum Waiting {
    Unit(oneshot::Sender<Result<(), StoreError>>),
    Record(oneshot::Sender<Result<SessionRecord, StoreError>>),
}

impl Answer {
    pub(crate) fn unit() -> (Self, oneshot::Receiver<Result<(), StoreError>>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Some(Waiting::Unit(sender))), receiver)
    }

    pub(crate) fn record() -> (Self, oneshot::Receiver<Result<SessionRecord, StoreError>>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Some(Waiting::Record(sender))), receiver)
    }

    pub(crate) fn send(mut self, outcome: Result<Done, StoreError>) {
        if let Some(waiting) = self.0.take() {
            waiting.send(outcome);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(waiting) = self.0.take() {
            waiting.send(Err(StoreError::Closed));
        }
    }
}

impl Waiting {
    fn send(self, outcome: Result<Done, StoreError>) {
        // A caller that stopped waiting is no error, so what `send` returns is dropped.
        match (self, outcome) {
            (Self::Unit(answer), outcome) => drop(answer.send(outcome.map(drop))),
            (Self::Record(answer), Ok(Done::Created(record))) => drop(answer.send(Ok(*record))),
            (Self::Record(answer), Err(error)) => drop(answer.send(Err(error))),
            // Only a creation asks for a record; dropping the sender reports to its caller that none follows.
            (Self::Record(_), Ok(_)) => {}
        }
    }
}

/// Each of `answers` belongs to the change at the same index of `changes`.
#[derive(Default)]
pub(super) struct Group {
    pub(super) changes: Vec<Change>,
    answers: Vec<Answer>,
    weight: usize,
}

impl Group {
    pub(super) fn push(&mut self, change: Change, answer: Answer) {
        self.weight += change.weight();
        self.changes.push(change);
        self.answers.push(answer);
    }

    pub(super) fn is_full(&self) -> bool {
        self.weight >= MAX_BYTES || self.changes.len() >= MAX_CHANGES
    }

    pub(super) fn append(&mut self, other: Self) {
        for (change, answer) in other.into_iter() {
            self.push(change, answer);
        }
    }

    /// Moves the deletions of this group into a group of their own.
    pub(super) fn take_deletions(&mut self) -> Self {
        let mut deletions = Self::default();
        let mut rest = Self::default();
        for (change, answer) in std::mem::take(self).into_iter() {
            let side = if change.makes_room() { &mut deletions } else { &mut rest };
            side.push(change, answer);
        }
        *self = rest;
        deletions
    }

    /// Takes `op` if it is a deletion, else returns it.
    pub(super) fn take_deletion(&mut self, op: Op) -> Option<Op> {
        match op {
            Op::Change(change, answer) if change.makes_room() => {
                self.push(change, answer);
                None
            }
            other => Some(other),
        }
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = (Change, Answer)> {
        self.changes.into_iter().zip(self.answers)
    }
}
