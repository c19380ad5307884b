//! Work for idle times, in small pieces: packing the frames of ended turns, removing the rows of deleted
//! sessions.
//!
//! The writer decides when there is time for a piece, the engine does the work.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use omniglot_schema::UniversalEventType;

use crate::engine::{Engine, Progress};
use crate::types::{Batch, SessionNo, StoreError};

/// The additional time that closing the log may take. Frames not packed then are packed at the end of the
/// next turn, rows not removed then after the next start.
const AT_THE_END: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chore {
    Repack(SessionNo),
    Clear(SessionNo),
}

pub(super) struct Tidy(VecDeque<Chore>);

impl Tidy {
    /// Begins with the deletions that an earlier run has not finished.
    pub(super) fn new(pending_deletes: Vec<SessionNo>) -> Self {
        Self(pending_deletes.into_iter().map(Chore::Clear).collect())
    }

    pub(super) fn is_needed(&self) -> bool {
        !self.0.is_empty()
    }

    /// Queues a repacking if the committed batch ends a turn.
    pub(super) fn note(&mut self, batch: &Batch) {
        let ends = batch.events.iter().any(|event| event.kind == UniversalEventType::TurnEnded);
        // The first chore may be half done, without the turn that ended now.
        if ends && !self.0.iter().skip(1).any(|chore| *chore == Chore::Repack(batch.session)) {
            self.0.push_back(Chore::Repack(batch.session));
        }
    }

    pub(super) fn deleted(&mut self, session: SessionNo) {
        self.0.retain(|chore| *chore != Chore::Repack(session));
        self.0.push_back(Chore::Clear(session));
    }

    pub(super) fn step(&mut self, engine: &dyn Engine) {
        let Some(chore) = self.0.front().copied() else { return };
        match chore.step(engine) {
            Ok(Progress::More) => return,
            Ok(Progress::Finished) | Err(StoreError::NoSession) => {}
            Err(error) => chore.complain(&error),
        }
        self.0.pop_front();
    }

    /// Removes all rows of deleted sessions; returns whether a deletion was finished.
    pub(super) fn clear(&mut self, engine: &dyn Engine) -> bool {
        let before = self.0.len();
        self.0.retain(|chore| matches!(chore, Chore::Repack(_)) || !chore.is_finished_now(engine));
        self.0.len() < before
    }

    pub(super) fn finish(&mut self, engine: &dyn Engine) {
        let deadline = Instant::now() + AT_THE_END;
        while self.is_needed() && Instant::now() < deadline {
            self.step(engine);
        }
    }
}

impl Chore {
    fn step(self, engine: &dyn Engine) -> Result<Progress, StoreError> {
        match self {
            Self::Repack(session) => engine.repack(session),
            Self::Clear(session) => engine.clear(session),
        }
    }

    fn is_finished_now(self, engine: &dyn Engine) -> bool {
        loop {
            match self.step(engine) {
                Ok(Progress::More) => {}
                Ok(Progress::Finished) => return true,
                Err(_) => return false,
            }
        }
    }

    fn complain(self, error: &StoreError) {
        let what = match self {
            // No frame is lost: frames stay as they are until the next turn ends.
            Self::Repack(_) => "the frames of a turn stay unpacked",
            Self::Clear(_) => "what a deleted session has left stays until the next start",
        };
        tracing::warn!(error = error as &dyn std::error::Error, "{what}");
    }
}
