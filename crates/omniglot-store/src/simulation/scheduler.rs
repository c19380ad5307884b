//! Two threads of which only one runs: that of the simulation, and the writer of the log.
//!
//! The writer gives its turn away where it would wait or where others may come between; the simulation gives it back.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Chance, Flaw};

pub(super) struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
    /// An operation was sent to the writer.
    work: Notify,
    pub(super) chance: Arc<dyn Chance>,
    flaw: Flaw,
}

struct State {
    turn: Turn,
    wants: Wants,
    /// The time for which the writer wanted to wait is over.
    is_over: bool,
    killed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Simulation,
    Writer,
}

/// The thing that the writer waits for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wants {
    /// Nothing but its turn.
    Turn,
    /// An operation, for this long at most.
    Operation(Option<Duration>),
    Ended,
}

/// How the writer comes back from a pause.
enum Resumed {
    Again,
    TimedOut,
    Killed,
}

impl Scheduler {
    pub(super) fn new(chance: Arc<dyn Chance>, flaw: Flaw) -> Self {
        let state = State { turn: Turn::Simulation, wants: Wants::Turn, is_over: false, killed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), work: Notify::new(), chance, flaw }
    }

    /// Makes the calling thread the one of the simulation, until the next call.
    pub(super) fn enter(self: &Arc<Self>) {
        CURRENT.set(Some((self.clone(), Turn::Simulation)));
    }

    pub(super) fn wants(&self) -> Wants {
        self.lock().wants
    }

    pub(super) fn is_killed(&self) -> bool {
        self.lock().killed
    }

    /// Waits until the writer has an operation, or returns true when the time is over.
    pub(super) async fn work_or_timeout(&self, timeout: Option<Duration>) -> bool {
        match timeout {
            None => {
                self.work.notified().await;
                false
            }
            Some(timeout) => tokio::time::timeout(timeout, self.work.notified()).await.is_err(),
        }
    }

    /// Lets the writer run until it gives its turn away.
    pub(super) fn resume(&self, is_over: bool) {
        let mut state = self.lock();
        if !matches!(state.wants, Wants::Ended) {
            (state.is_over, state.turn) = (is_over, Turn::Writer);
            self.changed.notify_all();
            drop(self.wait_while(state, |state| state.turn == Turn::Writer));
        }
    }

    /// Lets the writer find out that everything is over, and waits for its end.
    pub(super) fn kill(&self) {
        let mut state = self.lock();
        state.killed = true;
        state.turn = Turn::Writer;
        self.changed.notify_all();
        drop(self.wait_while(state, |state| !matches!(state.wants, Wants::Ended)));
    }

    /// Gives the writer's turn away; returns false when it was killed meanwhile.
    pub(super) fn step(&self) -> bool {
        !matches!(self.pause(Wants::Turn), Resumed::Killed)
    }

    fn pause(&self, wants: Wants) -> Resumed {
        let mut state = self.lock();
        if !state.killed {
            (state.wants, state.turn) = (wants, Turn::Simulation);
            self.changed.notify_all();
            state = self.wait_while(state, |state| state.turn == Turn::Simulation);
        }
        match (state.killed, std::mem::take(&mut state.is_over)) {
            (true, _) => Resumed::Killed,
            (false, true) => Resumed::TimedOut,
            (false, false) => Resumed::Again,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, State>,
        mut waits: impl FnMut(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        self.changed.wait_while(state, |state| waits(state)).unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    static CURRENT: RefCell<Option<(Arc<Scheduler>, Turn)>> = const { RefCell::new(None) };
}

fn current() -> Option<(Arc<Scheduler>, Turn)> {
    CURRENT.with_borrow(Option::clone)
}

/// The writer's side of the scheduler, held by its thread; `None` inside when nothing is simulated.
pub(crate) struct WriterThread(Option<Arc<Scheduler>>);

impl WriterThread {
    /// Returns the side of the writer that the calling thread is about to start.
    pub(crate) fn for_writer() -> Self {
        Self(current().map(|(scheduler, _)| scheduler))
    }

    /// Called by the writer's thread before anything else.
    pub(crate) fn take(&self) {
        if let Some(scheduler) = &self.0 {
            CURRENT.set(Some((scheduler.clone(), Turn::Writer)));
            drop(scheduler.wait_while(scheduler.lock(), |state| state.turn == Turn::Simulation));
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        if let Some(scheduler) = &self.0 {
            let mut state = scheduler.lock();
            (state.wants, state.turn) = (Wants::Ended, Turn::Simulation);
            scheduler.changed.notify_all();
        }
    }
}

/// Whether the calling thread is part of a simulation.
pub(crate) fn is_simulated() -> bool {
    current().is_some()
}

/// A place at which another thread might come between. Called with no lock held.
pub(crate) fn point() {
    match current() {
        Some((scheduler, Turn::Writer)) if scheduler.chance.below(2) == 0 => {
            // The next call of the engine tells a writer that was killed.
            let _resumed = scheduler.pause(Wants::Turn);
        }
        Some((scheduler, Turn::Simulation)) if scheduler.chance.below(4) == 0 => scheduler.resume(false),
        _ => {}
    }
}

/// Whether those who wait for events are not told of these.
pub(crate) fn loses_wake_ups() -> bool {
    current()
        .is_some_and(|(scheduler, _)| scheduler.flaw == Flaw::LosesWakeUps && scheduler.chance.below(4) == 0)
}

/// Tells the writer that there is an operation for it.
pub(crate) fn wake_writer() {
    if let Some((scheduler, _)) = current() {
        scheduler.work.notify_one();
    }
}

/// Receives as [`Receiver::recv_timeout`] does, in simulated time; `None` when nothing is simulated.
pub(crate) fn receive<T>(
    operations: &Receiver<T>,
    timeout: Option<Duration>,
) -> Option<Result<T, RecvTimeoutError>> {
    let (scheduler, _) = current()?;
    Some(loop {
        if scheduler.is_killed() {
            break Err(RecvTimeoutError::Disconnected);
        }
        match operations.try_recv() {
            Ok(operation) => break Ok(operation),
            Err(TryRecvError::Disconnected) => break Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => {}
        }
        match scheduler.pause(Wants::Operation(timeout)) {
            Resumed::Again => {}
            Resumed::TimedOut => break Err(RecvTimeoutError::Timeout),
            Resumed::Killed => break Err(RecvTimeoutError::Disconnected),
        }
    })
}
