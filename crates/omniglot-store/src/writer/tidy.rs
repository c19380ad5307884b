//! Work for idle times, in small pieces: packing the frames of ended turns, and of turns that say much; removing the
//! rows of deleted sessions; making older sessions searchable.
//!
//! The writer decides when there is time for a piece, the engine does the work.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use omniglot_schema::UniversalEventType;

use crate::engine::{Engine, Progress};
use crate::types::{Batch, SessionNo, StoreError};

/// The additional time that closing the log may take. Frames not packed then are packed at the end of the
/// next turn, rows not removed then after the next start.
const AT_THE_END: Duration = Duration::from_secs(1);

/// A turn that has stored this many bytes is packed before it ends: an agent may repeat all that it has said with every
/// word, and what a long answer has stored by its end, the file keeps as free pages.
const LONG_TURN: usize = 2 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chore {
    Repack(SessionNo),
    Clear(SessionNo),
    Index(SessionNo),
}

pub(super) struct Tidy {
    chores: VecDeque<Chore>,
    /// The bytes of frames that were stored since a repacking was queued, by session.
    unpacked: HashMap<SessionNo, usize>,
}

impl Tidy {
    /// Begins with what an earlier run has not finished.
    pub(super) fn new(pending_deletes: Vec<SessionNo>, unindexed: Vec<SessionNo>) -> Self {
        let clear = pending_deletes.into_iter().map(Chore::Clear);
        let chores = clear.chain(unindexed.into_iter().map(Chore::Index)).collect();
        Self { chores, unpacked: HashMap::new() }
    }

    pub(super) fn is_needed(&self) -> bool {
        !self.chores.is_empty()
    }

    /// Queues a repacking if the committed batch, whose frames took `stored` bytes, ends a turn or a piece of a long one.
    pub(super) fn note(&mut self, batch: &Batch, stored: usize) {
        let ends = batch.events.iter().any(|event| event.kind == UniversalEventType::TurnEnded);
        let unpacked = self.unpacked.remove(&batch.session).unwrap_or_default() + stored;
        if !ends && unpacked < LONG_TURN {
            self.unpacked.insert(batch.session, unpacked);
            return;
        }
        // The first chore may be half done, without what was said now.
        if !self.chores.iter().skip(1).any(|chore| *chore == Chore::Repack(batch.session)) {
            self.chores.push_back(Chore::Repack(batch.session));
        }
    }

    pub(super) fn deleted(&mut self, session: SessionNo) {
        self.unpacked.remove(&session);
        self.chores.retain(|chore| ![Chore::Repack(session), Chore::Index(session)].contains(chore));
        self.chores.push_back(Chore::Clear(session));
    }

    pub(super) fn step(&mut self, engine: &dyn Engine) {
        let Some(chore) = self.chores.front().copied() else { return };
        match chore.step(engine) {
            Ok(Progress::More) => return,
            Ok(Progress::Finished) | Err(StoreError::NoSession) => {}
            Err(error) => chore.complain(&error),
        }
        self.chores.pop_front();
    }

    /// Removes all rows of deleted sessions; returns whether a deletion was finished.
    pub(super) fn clear(&mut self, engine: &dyn Engine) -> bool {
        let before = self.chores.len();
        self.chores.retain(|chore| !matches!(chore, Chore::Clear(_)) || !chore.is_finished_now(engine));
        self.chores.len() < before
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
            Self::Index(session) => engine.index(session),
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
            Self::Index(_) => "an older session cannot be searched until the next start",
            Self::Clear(_) => "what a deleted session has left stays until the next start",
        };
        tracing::warn!(error = error as &dyn std::error::Error, "{what}");
    }
}
