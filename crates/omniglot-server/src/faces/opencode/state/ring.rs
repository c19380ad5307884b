//! The newest frames of this face, shared by all its streams: each reads at its own pace, and one that falls
//! too far behind has lost its position.
//!
//! The relay makes the frames, the streams send them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use omniglot_runtime::Caller;
use omniglot_store::SessionNo;
use tokio::sync::watch;

/// The bytes that are kept for slow readers, of all sessions together.
const MAX_BYTES: usize = 16 << 20;

/// One event of one session, encoded once for all streams.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// `None` for events of the server itself.
    pub(crate) session: Option<SessionNo>,
    /// The sequence of the event that the frame was made from; `None` for the deletion of the session.
    pub(crate) sequence: Option<u64>,
    pub(crate) directory: Arc<str>,
    /// `None` for every caller who sees the session.
    pub(crate) only_for: Option<TokenName>,
    /// `{"id", "type", "properties"}`.
    pub(crate) json: Bytes,
}

/// The token of a caller; the daemon's own has no id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenName(Option<String>);

impl TokenName {
    pub(crate) fn of(caller: &Caller) -> Self {
        Self(caller.token_id().map(str::to_owned))
    }
}

/// Positions count frames from the daemon's start.
#[derive(Debug)]
pub(crate) struct SharedRing {
    ring: Mutex<Ring>,
    end: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    frames: VecDeque<Arc<Frame>>,
    /// The position of the oldest frame.
    first: u64,
    bytes: usize,
    /// The newest sequence of each session that has a frame here.
    newest: HashMap<SessionNo, u64>,
}

/// The frames at a reader's position are no longer kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl Default for SharedRing {
    fn default() -> Self {
        Self { ring: Mutex::default(), end: watch::Sender::new(0) }
    }
}

impl SharedRing {
    /// Adds frames and notifies waiting readers.
    pub(crate) fn push(&self, frames: Vec<Frame>) {
        if frames.is_empty() {
            return;
        }
        let end = {
            let mut ring = self.ring();
            for frame in frames {
                ring.push(frame);
            }
            ring.end()
        };
        // Two concurrent pushes may arrive here in the other order; the end never goes back.
        self.end.send_if_modified(|told| std::mem::replace(told, end.max(*told)) < end);
    }

    /// Returns the position of the next frame.
    pub(crate) fn end(&self) -> u64 {
        self.ring().end()
    }

    /// Returns the sequence of the session's newest frame, as long as that is kept.
    pub(crate) fn newest(&self, session: SessionNo) -> Option<u64> {
        self.ring().newest.get(&session).copied()
    }

    /// Signals every new frame.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }

    /// Returns the frames from `position` on that fit in `max_bytes`, at least one if there is one.
    pub(crate) fn from(&self, position: u64, max_bytes: usize) -> Result<Vec<Arc<Frame>>, Lost> {
        let ring = self.ring();
        let start = position.checked_sub(ring.first).ok_or(Lost)?;
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(ring.frames.len());
        let mut bytes = 0;
        let fits = |frame: &&Arc<Frame>| {
            let empty = bytes == 0;
            bytes += frame.json.len();
            empty || bytes <= max_bytes
        };
        Ok(ring.frames.range(start..).take_while(fits).cloned().collect())
    }

    /// Drops all frames; positions continue.
    pub(crate) fn clear(&self) {
        let mut ring = self.ring();
        *ring = Ring { first: ring.end(), ..Ring::default() };
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn push(&mut self, frame: Frame) {
        self.bytes += frame.json.len();
        if let (Some(session), Some(sequence)) = (frame.session, frame.sequence) {
            self.newest.insert(session, sequence);
        }
        self.frames.push_back(Arc::new(frame));
        while self.bytes > MAX_BYTES && self.frames.len() > 1 {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.first += 1;
            self.bytes -= oldest.json.len();
            self.let_go(&oldest);
        }
    }

    fn let_go(&mut self, frame: &Frame) {
        if let Some(session) = frame.session
            && self.newest.get(&session).copied() == frame.sequence
        {
            self.newest.remove(&session);
        }
    }

    fn end(&self) -> u64 {
        self.first + self.frames.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(size: usize) -> Frame {
        Frame {
            session: Some(SessionNo(1)),
            sequence: Some(1),
            directory: "/".into(),
            only_for: None,
            json: vec![b'x'; size].into(),
        }
    }

    #[test]
    fn a_reader_gets_what_fits_and_one_frame_at_least() {
        let ring = SharedRing::default();
        ring.push(vec![frame(10), frame(10), frame(10)]);
        assert_eq!(ring.from(0, 25).unwrap().len(), 2);
        assert_eq!(ring.from(2, 1).unwrap().len(), 1);
        assert_eq!(ring.from(3, 1).unwrap().len(), 0);
        assert_eq!((ring.end(), *ring.changes().borrow()), (3, 3));
    }

    #[test]
    fn a_reader_that_fell_behind_has_lost_its_place() {
        let ring = SharedRing::default();
        ring.push(vec![frame(MAX_BYTES), frame(10)]);
        assert_eq!(ring.from(0, 100).unwrap_err(), Lost);
        assert_eq!(ring.from(1, 100).unwrap().len(), 1);
        ring.clear();
        assert_eq!(ring.from(1, 100).unwrap_err(), Lost);
        assert_eq!((ring.end(), ring.from(2, 100).unwrap().len()), (2, 0));
    }
}
