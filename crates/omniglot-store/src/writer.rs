//! The only thread that writes: takes the waiting operations, commits them as one group, publishes, answers.
//!
//! No timed wait delays an append: groups form while a commit runs. A failure (a full disk) holds the group
//! back until it can be written; nothing is dropped. The engine decides how rows are stored.

mod fault;
mod group;
mod inbox;
mod step_clock;
mod tidy;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::changes::SessionChange;
use crate::engine::{Change, Done, Engine, Outcomes};
use crate::feed::{Feeds, RING_IDLE};
use crate::metrics::StoreMetrics;
use crate::types::StoreError;
use fault::Backoff;
pub(crate) use fault::Fault;
pub(crate) use group::Answer;
use group::Group;
use inbox::Inbox;
pub(crate) use step_clock::StepClock;
use tidy::Tidy;

/// The longest time that a commit may stay unflushed.
const FLUSH_AFTER: Duration = Duration::from_millis(200);

pub(crate) enum Op {
    Change(Change, Answer),
    Limit(Option<u64>, Answer),
    /// Answered when everything before it is committed, or cannot be at the moment.
    Barrier(Answer),
    /// Waits until the sender is dropped, as for a disk that does not answer; for tests.
    Hold(Receiver<()>),
    Close(Answer),
}

/// The handle of the thread. Dropping it waits until everything sent is written, unless that is impossible.
pub(crate) struct Writer {
    ops: Option<Sender<Op>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        engine: Arc<dyn Engine>,
        feeds: Arc<Feeds>,
        fault: Arc<Fault>,
        clock: Arc<StepClock>,
        metrics: Arc<StoreMetrics>,
    ) -> Result<Self, StoreError> {
        let (sender, ops) = mpsc::channel();
        let tidy = Tidy::new(engine.pending_deletes()?, engine.unindexed()?);
        let state = Thread {
            ops: Inbox::new(ops),
            waiting: VecDeque::new(),
            engine,
            feeds,
            fault,
            clock,
            metrics,
            unflushed: None,
            next_sweep: None,
            tidy,
        };
        let thread = std::thread::Builder::new().name("log-writer".into()).spawn(|| state.run())?;
        Ok(Self { ops: Some(sender), thread: Some(thread) })
    }

    /// Never blocks; operations are carried out in the order in which they are sent.
    pub(crate) fn send(&self, op: Op) {
        if let Some(ops) = &self.ops {
            // An operation that cannot be sent is dropped; its answer reports that the log is closed.
            ops.send(op).unwrap_or_default();
            #[cfg(feature = "simulation")]
            crate::simulation::wake_writer();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.ops = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the log's writer panicked");
        }
    }
}

struct Thread {
    ops: Inbox,
    /// Operations that were received while the group before them could not be written.
    waiting: VecDeque<Op>,
    engine: Arc<dyn Engine>,
    feeds: Arc<Feeds>,
    fault: Arc<Fault>,
    clock: Arc<StepClock>,
    metrics: Arc<StoreMetrics>,
    /// The time of the oldest commit that is not flushed.
    unflushed: Option<Instant>,
    /// The time of the next sweep of idle rings.
    next_sweep: Option<Instant>,
    /// Work that is done only while nothing else waits.
    tidy: Tidy,
}

/// The thread must end although something may be unwritten; carries the answer to the request to close.
struct Stop(Option<Answer>);

/// Whether a deletion freed space.
enum Room {
    Same,
    More,
}

impl Thread {
    fn run(mut self) {
        self.ops.begin();
        let Stop(asked_by) = loop {
            if let Err(stop) = self.step() {
                break stop;
            }
        };
        let result = self.end(asked_by.is_some());
        if let Some(answer) = asked_by {
            answer.send(result.map(|()| Done::Closed));
        }
    }

    fn step(&mut self) -> Result<(), Stop> {
        let next = self.next()?;
        self.clock.step();
        match next {
            None => {}
            Some(Op::Change(change, answer)) => {
                let group = self.gather(change, answer);
                self.write(group)?;
            }
            Some(Op::Limit(limit, answer)) => self.set_limit(limit, answer),
            Some(Op::Barrier(answer)) => answer.send(Ok(Done::Written)),
            Some(Op::Hold(released)) => drop(released.recv()),
            Some(Op::Close(answer)) => return Err(Stop(Some(answer))),
        }
        self.keep_house()
    }

    /// `None` when there is housekeeping to do first.
    fn next(&mut self) -> Result<Option<Op>, Stop> {
        if let Some(op) = self.waiting.pop_front() {
            return Ok(Some(op));
        }
        if self.tidy.is_needed() {
            return self.tidy_unless_needed();
        }
        self.clock.rest();
        let due = self.unflushed.map(|since| since + FLUSH_AFTER).into_iter().chain(self.next_sweep).min();
        match self.ops.recv(due.map(|due| due.saturating_duration_since(Instant::now()))) {
            Ok(op) => Ok(Some(op)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Stop(None)),
        }
    }

    fn tidy_unless_needed(&mut self) -> Result<Option<Op>, Stop> {
        match self.ops.try_recv() {
            Ok(op) => Ok(Some(op)),
            Err(TryRecvError::Empty) => {
                self.clock.step();
                self.tidy.step(&*self.engine);
                Ok(None)
            }
            Err(TryRecvError::Disconnected) => Err(Stop(None)),
        }
    }

    fn gather(&mut self, change: Change, answer: Answer) -> Group {
        let mut group = Group::default();
        group.push(change, answer);
        while !group.is_full() {
            match self.waiting.pop_front().or_else(|| self.ops.try_recv().ok()) {
                Some(Op::Change(change, answer)) => group.push(change, answer),
                Some(other) => {
                    self.waiting.push_front(other);
                    break;
                }
                None => break,
            }
        }
        group
    }

    fn keep_house(&mut self) -> Result<(), Stop> {
        let now = Instant::now();
        if self.unflushed.is_some_and(|since| now >= since + FLUSH_AFTER) {
            self.flush()?;
        }
        if self.next_sweep.is_some_and(|due| now >= due) {
            self.next_sweep = self.feeds.sweep(now).then(|| now + RING_IDLE);
        }
        Ok(())
    }

    fn write(&mut self, mut group: Group) -> Result<(), Stop> {
        let mut backoff = Backoff::default();
        loop {
            self.clock.step();
            let began = Instant::now();
            let error = match self.engine.commit(&group.changes, now_ms()) {
                Ok(outcomes) => {
                    self.metrics.commits.observe(began.elapsed());
                    return self.conclude(group, outcomes);
                }
                Err(error) => error,
            };
            // Removing the rows of deleted sessions frees the space that their deletion promised.
            if self.tidy.clear(&*self.engine) {
                continue;
            }
            self.fault.set(self.engine.explain(&error));
            // Deletions free space, so they must not wait behind changes that lack it.
            match self.delete_first(&mut group)? {
                Room::Same => self.pause(backoff.next())?,
                Room::More => {}
            }
        }
    }

    /// Publishes and answers a committed group: what must survive a loss of power when it does, and what follows it in
    /// its session after it; everything else at once.
    fn conclude(&mut self, group: Group, outcomes: Outcomes) -> Result<(), Stop> {
        self.fault.clear();
        self.unflushed.get_or_insert_with(Instant::now);
        let (mut after_flush, mut held) = (Vec::new(), HashSet::new());
        for ((change, answer), outcome) in group.into_iter().zip(outcomes) {
            let session = change.appends_to();
            let follows = session.is_some_and(|session| held.contains(&session));
            if outcome.is_ok() && (change.needs_sync() || follows) {
                held.extend(session);
                after_flush.push((change, answer, outcome));
            } else {
                self.tell(change, answer, outcome);
            }
        }
        self.feeds.committed_group();
        if after_flush.is_empty() {
            return Ok(());
        }
        self.flush()?;
        for (change, answer, outcome) in after_flush {
            self.tell(change, answer, outcome);
        }
        self.feeds.committed_group();
        Ok(())
    }

    fn tell(&mut self, change: Change, answer: Answer, outcome: Result<Done, StoreError>) {
        if let Ok(done) = &outcome {
            self.metrics.events.add(change.events() as u64);
            self.publish(change, done);
        }
        answer.send(outcome);
    }

    fn publish(&mut self, change: Change, done: &Done) {
        match (change, done) {
            (Change::Append { batch, pack, .. }, _) => {
                self.tidy.note(&batch, pack.map_or(0, |pack| pack.data.len()));
                if self.feeds.publish(batch.session, batch.events) {
                    self.next_sweep.get_or_insert_with(|| Instant::now() + RING_IDLE);
                }
            }
            (Change::Create(creation), Done::Created(record)) => {
                if let Some(old) = creation.replaces {
                    self.tidy.deleted(old);
                    self.feeds.removed(old, SessionChange::Replaced);
                }
                self.feeds.created(record.no, record.last_seq);
            }
            (Change::Delete(session), Done::Deleted(record)) => {
                self.tidy.deleted(session);
                self.feeds.removed(session, SessionChange::Deleted(record.clone().map(Arc::from)));
            }
            (
                Change::Create(_)
                | Change::Delete(_)
                | Change::Trim { .. }
                | Change::Label { .. }
                | Change::Token(_)
                | Change::Config { .. }
                | Change::Audit(_)
                | Change::Hooks(_),
                _,
            ) => {}
        }
    }

    fn flush(&mut self) -> Result<(), Stop> {
        let mut backoff = Backoff::default();
        let began = Instant::now();
        while let Err(error) = self.engine.sync() {
            self.fault.set(self.engine.explain(&error));
            self.pause(backoff.next())?;
            self.clock.step();
        }
        self.metrics.flushes.observe(began.elapsed());
        self.fault.clear();
        self.unflushed = None;
        Ok(())
    }

    /// Carries out the deletions among the waiting operations, if that works; else they stay queued.
    fn delete_first(&mut self, group: &mut Group) -> Result<Room, Stop> {
        let mut deletions = group.take_deletions();
        self.waiting = self.waiting.drain(..).filter_map(|op| deletions.take_deletion(op)).collect();
        if deletions.changes.is_empty() {
            return Ok(Room::Same);
        }
        match self.engine.commit(&deletions.changes, now_ms()) {
            Ok(outcomes) => self.conclude(deletions, outcomes).map(|()| Room::More),
            // Most likely the same reason as for the group, which was reported.
            Err(_) => {
                group.append(deletions);
                Ok(Room::Same)
            }
        }
    }

    /// Waits before the next try, at most `time`, and queues operations that arrive meanwhile.
    fn pause(&mut self, time: Duration) -> Result<(), Stop> {
        let until = Instant::now() + time;
        self.clock.rest();
        loop {
            let came = match self.take_order() {
                Some(op) => Ok(op),
                None => self.ops.recv(Some(until.saturating_duration_since(Instant::now()))),
            };
            match came {
                Ok(Op::Close(answer)) => return Err(Stop(Some(answer))),
                Ok(Op::Barrier(answer)) => answer.send(Ok(Done::Written)),
                Ok(Op::Hold(released)) => drop(released.recv()),
                Ok(Op::Limit(limit, answer)) => {
                    self.set_limit(limit, answer);
                    return Ok(());
                }
                Ok(Op::Change(change, answer)) if change.makes_room() => {
                    self.waiting.push_back(Op::Change(change, answer));
                    return Ok(());
                }
                Ok(op) => self.waiting.push_back(op),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(Stop(None)),
            }
        }
    }

    /// Takes a waiting operation that is no change: it may end the fault, so it is carried out out of order.
    fn take_order(&mut self) -> Option<Op> {
        let place = self.waiting.iter().position(|op| !matches!(op, Op::Change(..)))?;
        self.waiting.remove(place)
    }

    fn set_limit(&self, limit: Option<u64>, answer: Answer) {
        answer.send(self.engine.set_limit(limit).map(|()| Done::Limited));
    }

    fn end(&mut self, asked_for: bool) -> Result<(), StoreError> {
        if self.fault.get().is_none() {
            self.tidy.finish(&*self.engine);
        }
        let result = match (self.fault.get(), self.engine.sync()) {
            (Some(fault), _) => Err(std::io::Error::other(fault).into()),
            (None, Ok(())) if asked_for => self.engine.mark_clean(),
            (None, synced) => synced,
        };
        self.feeds.close();
        self.engine.close();
        result
    }
}

pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests;
