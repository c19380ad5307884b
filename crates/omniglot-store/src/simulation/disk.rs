//! A disk in memory. It outlives the logs that are opened on it, and knows what of them was flushed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use omniglot_schema::SessionId;

use super::engine::SimulatedEngine;
use super::scheduler::Scheduler;
use super::tables::{Session, Tables};
use super::{Chance, WriterTurns};
use crate::engine::{Change, Outcomes};
use crate::store::Store;
use crate::types::StoreError;

/// A deliberate fault of the log, by which a check of what it serves proves that it can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// Commits are answered, so that their events are served, and written with the next flush only.
    AnswersBeforeCommit,
    /// The death of the process loses what was not flushed.
    ForgetsUnflushed,
    /// A read of a page leaves out an event.
    SkipsEvents,
    /// Those who wait for events are not always told of them.
    LosesWakeUps,
    /// A flush returns before it has flushed.
    FlushesNothing,
}

/// Cheap to clone; all clones are the same disk.
#[derive(Clone)]
pub struct Disk {
    content: Arc<Mutex<Content>>,
    pub(super) flaw: Flaw,
}

struct Content {
    /// As it was after each commit since the last flush; the first one is flushed.
    versions: Vec<Tables>,
    /// Answered and not written, by [`Flaw::AnswersBeforeCommit`].
    unwritten: Option<Tables>,
}

impl Disk {
    pub fn new(flaw: Flaw) -> Self {
        let content = Content { versions: vec![Tables::default()], unwritten: None };
        Self { content: Arc::new(Mutex::new(content)), flaw }
    }

    /// Opens the log of this disk in the calling thread, which must have a current-thread runtime. One at a time.
    pub fn open(
        &self,
        chance: Arc<dyn Chance>,
        ring_bytes: usize,
    ) -> Result<(Store, WriterTurns), StoreError> {
        let scheduler = Arc::new(Scheduler::new(chance, self.flaw));
        scheduler.enter();
        let engine = SimulatedEngine { disk: self.clone(), scheduler: scheduler.clone() };
        let store = Store::over(Arc::new(engine), ring_bytes, None)?;
        Ok((store, WriterTurns { scheduler }))
    }

    /// The process died. What was committed is there.
    pub fn lose_process(&self) {
        let mut content = self.lock();
        content.unwritten = None;
        if self.flaw == Flaw::ForgetsUnflushed {
            content.versions.truncate(1);
        }
    }

    /// The machine died. What was flushed is there, and of the rest as much as chance wants; all epochs change.
    pub fn lose_power(&self, chance: &dyn Chance) {
        let mut content = self.lock();
        content.unwritten = None;
        let kept = chance.below(content.versions.len() as u64);
        let mut tables = content.versions.swap_remove(usize::try_from(kept).unwrap_or_default());
        tables.losses += 1;
        let losses = tables.losses;
        for session in tables.sessions.values_mut() {
            Arc::make_mut(session).record.epoch = format!("{losses:016x}");
        }
        content.versions = vec![tables];
    }

    /// Returns the committed events of a session.
    pub fn committed(&self, session: &SessionId) -> Vec<Bytes> {
        self.find(&self.present(), session, |session| {
            session.events.iter().map(|event| event.json.clone()).collect()
        })
    }

    /// Returns the committed event of this sequence.
    pub fn event(&self, session: &SessionId, seq: u64) -> Option<Bytes> {
        self.find(&self.present(), session, |session| {
            let place = usize::try_from(seq.checked_sub(1)?).ok()?;
            session.events.get(place).map(|event| event.json.clone())
        })
    }

    /// Whether a text is in the flushed events of a session or in its flushed queue.
    pub fn has_flushed(&self, session: &SessionId, text: &str) -> bool {
        let Some(flushed) = self.lock().versions.first().cloned() else { return false };
        let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        self.find(&flushed, session, |session| {
            session.events.iter().any(|event| has(&event.json))
                || session.queue.iter().any(|row| has(row.body.as_bytes()))
        })
    }

    fn find<T: Default>(&self, tables: &Tables, id: &SessionId, read: impl Fn(&Session) -> T) -> T {
        tables.sessions.values().find(|session| session.record.id == *id).map_or_else(T::default, |s| read(s))
    }

    /// Returns what is committed.
    fn present(&self) -> Tables {
        self.lock().versions.last().cloned().unwrap_or_default()
    }

    /// Returns what is served: the same unless the disk has a flaw.
    pub(super) fn served(&self) -> Tables {
        let unwritten = self.lock().unwritten.clone();
        unwritten.unwrap_or_else(|| self.present())
    }

    pub(super) fn write(&self, changes: &[Change]) -> Outcomes {
        let mut tables = self.served();
        let outcomes = changes.iter().map(|change| tables.apply(change)).collect();
        let mut content = self.lock();
        match self.flaw {
            Flaw::AnswersBeforeCommit => content.unwritten = Some(tables),
            _ => content.versions.push(tables),
        }
        outcomes
    }

    pub(super) fn flush(&self) {
        let mut content = self.lock();
        if let Some(unwritten) = content.unwritten.take() {
            content.versions.push(unwritten);
        }
        if self.flaw != Flaw::FlushesNothing {
            let newest = content.versions.len().saturating_sub(1);
            content.versions.drain(..newest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
