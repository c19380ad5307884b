//! One hook while the daemon runs: its queue, its dead letters, and how its last call went.
//!
//! Every change returns the rows that keep it; the caller writes them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use omniglot_runtime::CommitPosition;
use omniglot_schema::{DeadLetter, EventId, HookInfo, HookState};
use omniglot_store::HookRow;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::hook::Hook;
use super::queue::{Delivery, Hold, Next, Queue, pause};
use super::records::{Progress, dead_row, no_dead_row};
use super::sender::Outcome;

pub(super) struct Line {
    pub(super) hook: Hook,
    /// Told when there may be a call to make.
    pub(super) wake: Notify,
    limits: LineLimits,
    state: Mutex<LineState>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LineLimits {
    /// The most calls that wait, and the most dead letters.
    pub(super) queue: usize,
    /// For how long a call is tried again.
    pub(super) retry: Duration,
}

struct LineState {
    queue: Queue,
    /// Those that died first are first.
    dead: VecDeque<DeadLetter>,
    /// Events up to here were dealt with by an earlier daemon.
    begin: CommitPosition,
    state: HookState,
    delivered: u64,
    last: Option<(i64, String)>,
}

impl Line {
    /// `progress` is how far an earlier daemon has come; a new hook begins at `head`.
    pub(super) fn new(
        hook: Hook,
        progress: Option<Progress>,
        dead: Vec<DeadLetter>,
        head: u64,
        limits: LineLimits,
    ) -> Self {
        let whole = CommitPosition { no: head, partly: None };
        let begin =
            progress.as_ref().map(Progress::position).filter(|begin| begin.no <= head).unwrap_or(whole);
        let disabled = progress.is_some_and(|progress| progress.is_disabled_at(&hook.address_digest()));
        let state = if disabled { HookState::Disabled } else { HookState::Active };
        let queue = Queue::new(limits.queue, begin);
        let state = LineState { queue, dead: dead.into(), begin, state, delivered: 0, last: None };
        Self { hook, wake: Notify::new(), limits, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The position after which the log is to be read for it.
    pub(super) fn begin(&self) -> CommitPosition {
        self.state().begin
    }

    /// Queues a call, unless an earlier daemon has dealt with its event.
    pub(super) fn offer(&self, delivery: Delivery) -> Vec<HookRow> {
        let mut state = self.state();
        let is_known = delivery.commit.is_some_and(|no| !is_after(state.begin, no, delivery.sequence));
        if is_known || state.state == HookState::Disabled {
            return vec![];
        }
        let dropped = state.queue.push(delivery);
        self.wake.notify_one();
        let Some(dropped) = dropped else { return vec![] };
        let reason = format!("the queue was full; `hook_queue` of [limits] is {}", self.limits.queue);
        self.bury(&mut state, vec![dropped], &reason)
    }

    /// Notes how far the log was read.
    pub(super) fn advance(&self, read: CommitPosition) {
        let mut state = self.state();
        if order(read) >= order(state.begin) {
            state.queue.advance(read);
        }
    }

    pub(super) fn next(&self, now: Instant) -> Next {
        let mut state = self.state();
        if state.state == HookState::Disabled { Next::Nothing } else { state.queue.next(now) }
    }

    /// Notes the outcome of a call.
    pub(super) fn settle(&self, delivery: &Delivery, outcome: &Outcome, now: Instant) -> Vec<HookRow> {
        let mut state = self.state();
        state.last = Some((Timestamp::now().as_millisecond(), outcome.to_string()));
        let mut rows = match outcome {
            Outcome::Taken(_) | Outcome::Moot(_) => {
                state.state = HookState::Active;
                state.delivered += u64::from(outcome.is_taken());
                state.queue.done(&delivery.event);
                self.revived(&mut state, delivery)
            }
            Outcome::Gone => {
                state.state = HookState::Disabled;
                tracing::warn!(
                    hook = self.hook.name,
                    "the receiver answered 410: the hook is disabled; `omniglot hooks retry` enables it"
                );
                let all = state.queue.clear();
                self.bury(&mut state, all, &outcome.to_string())
            }
            Outcome::Refused(_) => self.put_off(&mut state, delivery, outcome, Hold::Session, now),
            Outcome::Failed { .. } => self.put_off(&mut state, delivery, outcome, Hold::All, now),
        };
        rows.push(self.cursor(&state));
        rows
    }

    fn put_off(
        &self,
        state: &mut LineState,
        delivery: &Delivery,
        outcome: &Outcome,
        hold: Hold,
        now: Instant,
    ) -> Vec<HookRow> {
        if state.state == HookState::Active {
            tracing::warn!(hook = self.hook.name, %outcome, "a call was not taken; it is tried again");
        }
        state.state = HookState::Failing;
        let least = if let Outcome::Failed { after, .. } = outcome {
            after.unwrap_or_default()
        } else {
            Duration::ZERO
        };
        let wait = |failures| pause(failures, getrandom::u64().unwrap_or(u64::MAX)).max(least);
        let over = state.queue.failed(&delivery.event, hold, wait, now, self.limits.retry);
        self.bury(state, over, &outcome.to_string())
    }

    /// Makes dead letters of calls.
    fn bury(&self, state: &mut LineState, calls: Vec<Delivery>, reason: &str) -> Vec<HookRow> {
        let mut rows = vec![];
        for call in calls {
            let letter = DeadLetter {
                id: call.event,
                session_id: call.session,
                sequence: call.sequence,
                r#type: call.kind,
                attempts: call.attempts,
                reason: reason.to_owned(),
                died_at: Timestamp::now().as_millisecond(),
            };
            tracing::warn!(hook = self.hook.name, id = %letter.id, reason, "a call is a dead letter");
            rows.push(dead_row(&self.hook.name, &letter));
            state.dead.retain(|known| known.id != letter.id);
            state.dead.push_back(letter);
        }
        while state.dead.len() > self.limits.queue {
            rows.extend(state.dead.pop_front().map(|oldest| no_dead_row(&self.hook.name, &oldest.id)));
        }
        rows
    }

    /// Removes the dead letter that a call has come from.
    fn revived(&self, state: &mut LineState, delivery: &Delivery) -> Vec<HookRow> {
        if delivery.commit.is_some() {
            return vec![];
        }
        state.dead.retain(|letter| letter.id != delivery.event);
        vec![no_dead_row(&self.hook.name, &delivery.event)]
    }

    /// Sends dead letters again, all or the one of this id, and enables the hook. Returns their number.
    pub(super) fn retry(&self, id: Option<&EventId>, now: Instant) -> (u64, HookRow) {
        let mut state = self.state();
        if state.state == HookState::Disabled {
            state.state = HookState::Active;
        }
        let letters = state.dead.iter().filter(|letter| id.is_none_or(|id| letter.id == *id));
        let calls = letters.map(|letter| {
            let event = (letter.session_id.clone(), letter.sequence);
            Delivery::new(None, event, (letter.id.clone(), letter.r#type), now)
        });
        let calls = calls.collect();
        let revived = state.queue.revive(calls).len() as u64;
        self.wake.notify_one();
        (revived, self.cursor(&state))
    }

    pub(super) fn cursor_row(&self) -> HookRow {
        self.cursor(&self.state())
    }

    fn cursor(&self, state: &LineState) -> HookRow {
        let disabled = state.state == HookState::Disabled;
        Progress::new(state.queue.cursor(), self.hook.address_digest(), disabled).row(&self.hook.name)
    }

    pub(super) fn info(&self) -> HookInfo {
        let state = self.state();
        HookInfo {
            name: self.hook.name.clone(),
            target: self.hook.target(),
            state: state.state,
            queued: state.queue.len() as u64,
            dead: state.dead.len() as u64,
            delivered: state.delivered,
            last_outcome: state.last.as_ref().map(|(_, words)| words.clone()),
            last_call_at: state.last.as_ref().map(|(at, _)| *at),
        }
    }

    /// Returns the dead letters that died first, and whether there are more.
    pub(super) fn dead(&self, limit: usize) -> (Vec<DeadLetter>, bool) {
        let state = self.state();
        (state.dead.iter().take(limit).cloned().collect(), state.dead.len() > limit)
    }
}

/// A position within a commit is before its end.
pub(super) fn order(position: CommitPosition) -> (u64, u64) {
    (position.no, position.partly.unwrap_or(u64::MAX))
}

fn is_after(position: CommitPosition, no: u64, sequence: u64) -> bool {
    (no, sequence) > order(position)
}
