//! One stream's place in the backlog.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use omniglot_store::SessionNo;
use tokio::sync::watch;

use super::backlog::{Frame, Lost};
use super::relay::Relay;

/// Yields the frames after its place, in order.
pub(crate) struct Reader {
    place: Place,
    /// What it hears before anything else.
    greeting: VecDeque<Arc<Frame>>,
    /// How far the greeting has told of a session already.
    greeted: HashMap<SessionNo, u64>,
    bell: watch::Receiver<u64>,
    relay: Leaving,
}

struct Place {
    next: u64,
    /// Tells others that everything before it was taken.
    taken: watch::Sender<u64>,
}

/// Says goodbye after everything else of the reader is gone: fields are dropped in their order.
struct Leaving(Arc<Relay>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Reader {
    pub(super) fn new(relay: Arc<Relay>, next: u64) -> (Self, watch::Receiver<u64>) {
        let (taken, progress) = watch::channel(next);
        let reader = Self {
            place: Place { next, taken },
            greeting: VecDeque::new(),
            greeted: HashMap::new(),
            bell: relay.backlog.bell(),
            relay: Leaving(relay),
        };
        (reader, progress)
    }

    pub(super) fn greet(&mut self, session: SessionNo, sequence: u64, frames: Vec<Frame>) {
        self.greeting.extend(frames.into_iter().map(Arc::new));
        self.greeted.insert(session, sequence);
    }

    /// Waits for frames and returns those that fit in `max_bytes`, at least one. Asking again says that the
    /// last ones were taken.
    ///
    /// Cancel-safe: its place moves only when frames are returned.
    pub(super) async fn next(&mut self, max_bytes: usize) -> Result<Vec<Arc<Frame>>, Lost> {
        if !self.greeting.is_empty() {
            return Ok(self.greeting.drain(..).collect());
        }
        loop {
            let frames = self.ready(max_bytes)?;
            if !frames.is_empty() {
                return Ok(frames);
            }
            // The relay holds the other end, and we hold the relay.
            self.bell.changed().await.map_err(|_| Lost)?;
        }
    }

    /// What is there already; empty when nothing is.
    pub(super) fn ready(&mut self, max_bytes: usize) -> Result<Vec<Arc<Frame>>, Lost> {
        loop {
            self.place.taken.send_replace(self.place.next);
            self.bell.borrow_and_update();
            let mut frames = self.relay.0.backlog.from(self.place.next, max_bytes)?;
            if frames.is_empty() {
                return Ok(frames);
            }
            self.place.next += frames.len() as u64;
            frames.retain(|frame| self.is_new(frame));
            if !frames.is_empty() {
                return Ok(frames);
            }
        }
    }

    /// Whether the greeting has not told it already.
    fn is_new(&self, frame: &Frame) -> bool {
        let (Some(session), Some(sequence)) = (frame.session, frame.sequence) else { return true };
        self.greeted.get(&session).is_none_or(|told| sequence > *told)
    }

    /// Makes everything that is committed ready.
    pub(super) async fn settle(&self) {
        self.relay.0.settle().await;
    }
}
