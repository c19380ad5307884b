//! What is to be done when nothing else is: packing the frames of ended turns, removing what deleted sessions
//! have left. In small pieces.
//!
//! When there is time for a piece is the writer's business, how to do it the engine's.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use omniglot_schema::UniversalEventType;

use crate::engine::{Engine, Progress};
use crate::types::{Batch, SessionNo, StoreError};

/// How much longer the log may take to close. What is not packed then is packed at the end of the next turn,
/// what is not removed after the next start.
const AT_THE_END: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chore {
    Repack(SessionNo),
    Clear(SessionNo),
}

pub(super) struct Tidy(VecDeque<Chore>);

impl Tidy {
    /// Begins with what an earlier start has left to do.
    pub(super) fn new(pending_deletes: Vec<SessionNo>) -> Self {
        Self(pending_deletes.into_iter().map(Chore::Clear).collect())
    }

    pub(super) fn is_needed(&self) -> bool {
        !self.0.is_empty()
    }

    /// Looks for the end of a turn in what was committed.
    pub(super) fn note(&mut self, batch: &Batch) {
        let ends = batch.events.iter().any(|event| event.kind == UniversalEventType::TurnEnded);
        // The first may be half done, without the turn that ended now.
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

    /// Removes all that deleted sessions have left; whether there was any, and it is gone.
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
            // Nothing is lost: the frames stay as they are until the next turn ends.
            Self::Repack(_) => "the frames of a turn stay unpacked",
            Self::Clear(_) => "what a deleted session has left stays until the next start",
        };
        tracing::warn!(error = error as &dyn std::error::Error, "{what}");
    }
}
