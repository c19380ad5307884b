//! The calls of one hook that wait, in the order of the log. Pure: the time is told.
//!
//! A receiver that cannot be reached holds up all calls, one that refuses a body only those of the same session. A
//! later call never overtakes an earlier one of its session.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use omniglot_runtime::CommitPosition;
use omniglot_schema::{EventId, SessionId, UniversalEventType};
use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);

/// A call for one event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Delivery {
    /// The commit of the event; absent for a dead letter that is tried again.
    pub(super) commit: Option<u64>,
    pub(super) sequence: u64,
    pub(super) session: SessionId,
    pub(super) event: EventId,
    pub(super) kind: UniversalEventType,
    pub(super) attempts: u32,
    pub(super) since: Instant,
    not_before: Option<Instant>,
}

impl Delivery {
    pub(super) fn new(
        commit: Option<u64>,
        (session, sequence): (SessionId, u64),
        (event, kind): (EventId, UniversalEventType),
        since: Instant,
    ) -> Self {
        Self { commit, sequence, session, event, kind, attempts: 0, since, not_before: None }
    }
}

/// The next step of a hook.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Send(Box<Delivery>),
    Wait(Instant),
    Nothing,
}

/// The calls that a failure holds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    All,
    Session,
}

#[derive(Debug)]
pub(super) struct Queue {
    waiting: VecDeque<Delivery>,
    limit: usize,
    /// Nothing is sent before.
    not_before: Option<Instant>,
    failures: u32,
    /// Up to here the log was read.
    read: CommitPosition,
    sending: Option<EventId>,
}

impl Queue {
    pub(super) fn new(limit: usize, read: CommitPosition) -> Self {
        Self { waiting: VecDeque::new(), limit, not_before: None, failures: 0, read, sending: None }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Adds a call; returns the oldest one if there are too many.
    pub(super) fn push(&mut self, delivery: Delivery) -> Option<Delivery> {
        self.waiting.push_back(delivery);
        if self.waiting.len() <= self.limit {
            return None;
        }
        let oldest = self.waiting.iter().position(|waiting| self.sending.as_ref() != Some(&waiting.event))?;
        self.waiting.remove(oldest)
    }

    /// Adds calls that were given up, before all others and as many as there is room for; returns those. Nothing waits
    /// for its next attempt any more.
    pub(super) fn revive(&mut self, letters: Vec<Delivery>) -> Vec<EventId> {
        (self.failures, self.not_before) = (0, None);
        for waiting in &mut self.waiting {
            waiting.not_before = None;
        }
        let room = self.limit.saturating_sub(self.waiting.len());
        let known: HashSet<EventId> = self.waiting.iter().map(|waiting| waiting.event.clone()).collect();
        let letters = letters.into_iter().filter(|letter| !known.contains(&letter.event));
        let letters: Vec<Delivery> = letters.take(room).collect();
        let revived = letters.iter().map(|letter| letter.event.clone()).collect();
        for letter in letters.into_iter().rev() {
            self.waiting.push_front(letter);
        }
        revived
    }

    /// Notes how far the log was read.
    pub(super) fn advance(&mut self, read: CommitPosition) {
        self.read = read;
    }

    /// Returns the position after which everything must be read again after a restart.
    pub(super) fn cursor(&self) -> CommitPosition {
        let oldest = self.waiting.iter().find_map(|waiting| Some((waiting.commit?, waiting.sequence)));
        oldest.map_or(self.read, |(no, sequence)| CommitPosition { no, partly: Some(sequence - 1) })
    }

    /// Chooses the call to make now. Until it is settled there is no other.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        if let Some(at) = self.not_before.filter(|at| *at > now) {
            return if self.waiting.is_empty() { Next::Nothing } else { Next::Wait(at) };
        }
        let (mut held, mut earliest) = (HashSet::new(), None::<Instant>);
        for delivery in &mut self.waiting {
            match delivery.not_before.filter(|at| *at > now) {
                _ if held.contains(&delivery.session) => {}
                Some(at) => {
                    held.insert(delivery.session.clone());
                    earliest = Some(earliest.map_or(at, |earliest| earliest.min(at)));
                }
                None => {
                    delivery.attempts += 1;
                    self.sending = Some(delivery.event.clone());
                    return Next::Send(Box::new(delivery.clone()));
                }
            }
        }
        earliest.map_or(Next::Nothing, Next::Wait)
    }

    /// Forgets a call that was taken, or is not needed any more.
    pub(super) fn done(&mut self, event: &EventId) {
        self.sending = None;
        (self.failures, self.not_before) = (0, None);
        self.waiting.retain(|waiting| waiting.event != *event);
    }

    /// Puts a call off that was not taken; returns the calls that have waited for `most` and are given up.
    pub(super) fn failed(
        &mut self,
        event: &EventId,
        hold: Hold,
        pause: impl FnOnce(u32) -> Duration,
        now: Instant,
        most: Duration,
    ) -> Vec<Delivery> {
        self.sending = None;
        match hold {
            Hold::All => {
                self.failures += 1;
                self.not_before = Some(now + pause(self.failures));
            }
            Hold::Session => {
                (self.failures, self.not_before) = (0, None);
                if let Some(delivery) = self.waiting.iter_mut().find(|waiting| waiting.event == *event) {
                    delivery.not_before = Some(now + pause(delivery.attempts));
                }
            }
        }
        let is_over = |waiting: &Delivery| {
            now.duration_since(waiting.since) >= most && (hold == Hold::All || waiting.event == *event)
        };
        let (over, rest) = self.waiting.drain(..).partition(is_over);
        self.waiting = rest;
        Vec::from(over)
    }

    /// Gives everything up.
    pub(super) fn clear(&mut self) -> Vec<Delivery> {
        self.sending = None;
        self.waiting.drain(..).collect()
    }
}

/// Returns the time before the next attempt after this many failures; `random` spreads it over its second half.
pub(super) fn pause(failures: u32, random: u64) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let whole = doubled.min(LONGEST_PAUSE);
    whole / 2 + (whole / 2).mul_f64(random as f64 / u64::MAX as f64)
}

#[cfg(test)]
mod tests;
