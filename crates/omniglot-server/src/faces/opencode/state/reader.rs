//! One stream's position in the ring.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use omniglot_store::SessionNo;
use tokio::sync::watch;

use super::relay::Relay;
use super::ring::{Frame, Lost};

/// Yields the frames after its position, in order.
pub(crate) struct Reader {
    position: Position,
    /// The frames that are sent before all others.
    initial_state: VecDeque<Arc<Frame>>,
    /// The sequence up to which the initial state covers each session.
    started_with: HashMap<SessionNo, u64>,
    changes: watch::Receiver<u64>,
    relay: Leaving,
}

struct Position {
    next: u64,
    taken: watch::Sender<Progress>,
}

/// The place up to which a stream has taken everything; `None` until the stream is open.
pub(crate) type Progress = Option<u64>;

/// Says goodbye after everything else of the reader is gone: fields are dropped in their order.
struct Leaving(Arc<Relay>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Reader {
    pub(crate) fn new(relay: Arc<Relay>, next: u64) -> (Self, watch::Receiver<Progress>) {
        let (taken, progress) = watch::channel(None);
        let reader = Self {
            position: Position { next, taken },
            initial_state: VecDeque::new(),
            started_with: HashMap::new(),
            changes: relay.ring.changes(),
            relay: Leaving(relay),
        };
        (reader, progress)
    }

    pub(crate) fn start_with(&mut self, session: SessionNo, sequence: u64, frames: Vec<Frame>) {
        self.initial_state.extend(frames.into_iter().map(Arc::new));
        self.started_with.insert(session, sequence);
    }

    /// Says that the initial state is complete: whatever happens from now on is heard.
    pub(crate) fn open(&self) {
        self.position.taken.send_replace(Some(self.position.next));
    }

    /// Waits for frames and returns those that fit in `max_bytes`, at least one. Asking again says that the
    /// last ones were taken.
    ///
    /// Cancel-safe: its position moves only when frames are returned.
    pub(crate) async fn next(&mut self, max_bytes: usize) -> Result<Vec<Arc<Frame>>, Lost> {
        if !self.initial_state.is_empty() {
            return Ok(self.initial_state.drain(..).collect());
        }
        loop {
            let frames = self.ready(max_bytes)?;
            if !frames.is_empty() {
                return Ok(frames);
            }
            // The relay holds the sender, and this reader holds the relay.
            self.changes.changed().await.map_err(|_| Lost)?;
        }
    }

    /// Returns the available frames; empty when there are none.
    pub(crate) fn ready(&mut self, max_bytes: usize) -> Result<Vec<Arc<Frame>>, Lost> {
        loop {
            self.position.taken.send_replace(Some(self.position.next));
            self.changes.borrow_and_update();
            let mut frames = self.relay.0.ring.from(self.position.next, max_bytes)?;
            if frames.is_empty() {
                return Ok(frames);
            }
            self.position.next += frames.len() as u64;
            frames.retain(|frame| self.is_new(frame));
            if !frames.is_empty() {
                return Ok(frames);
            }
        }
    }

    /// Whether the initial state does not cover the frame already.
    fn is_new(&self, frame: &Frame) -> bool {
        let (Some(session), Some(sequence)) = (frame.session, frame.sequence) else { return true };
        self.started_with.get(&session).is_none_or(|told| sequence > *told)
    }

    /// Makes frames of everything that is committed.
    pub(crate) async fn settle(&self) {
        self.relay.0.settle().await;
    }
}
