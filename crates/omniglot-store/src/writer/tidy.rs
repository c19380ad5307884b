//! Which sessions' frames are to be packed by turn, and doing it in small pieces.
//!
//! When there is time for a piece is the writer's business, how to pack the engine's.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use omniglot_schema::UniversalEventType;

use crate::engine::{Engine, Progress};
use crate::types::{Batch, SessionNo, StoreError};

/// How much longer the log may take to close. What is not done is done at the end of the next turn.
const AT_THE_END: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Tidy(VecDeque<SessionNo>);

impl Tidy {
    pub(super) fn is_needed(&self) -> bool {
        !self.0.is_empty()
    }

    /// Looks for the end of a turn in what was committed.
    pub(super) fn note(&mut self, batch: &Batch) {
        let ends = batch.events.iter().any(|event| event.kind == UniversalEventType::TurnEnded);
        // The first may be half done, without the turn that ended now.
        if ends && !self.0.iter().skip(1).any(|session| *session == batch.session) {
            self.0.push_back(batch.session);
        }
    }

    pub(super) fn forget(&mut self, session: SessionNo) {
        self.0.retain(|other| *other != session);
    }

    pub(super) fn step(&mut self, engine: &dyn Engine) {
        let Some(session) = self.0.front().copied() else { return };
        match engine.repack(session) {
            Ok(Progress::More) => return,
            Ok(Progress::Finished) | Err(StoreError::NoSession) => {}
            // Nothing is lost: the frames stay as they are until the next turn ends.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the frames of a turn stay unpacked"
                );
            }
        }
        self.0.pop_front();
    }

    pub(super) fn finish(&mut self, engine: &dyn Engine) {
        let deadline = Instant::now() + AT_THE_END;
        while self.is_needed() && Instant::now() < deadline {
            self.step(engine);
        }
    }
}
