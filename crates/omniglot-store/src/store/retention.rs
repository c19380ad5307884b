//! Retention for the callers of the store: drops frames that are too old or too many, and lists the ended
//! sessions that are.
//!
//! The caller deletes those sessions, since it knows which ones are active.

use super::Store;
use crate::engine::Change;
use crate::feed::Known;
use crate::retention::{Dropped, EndedLimits, EndedSession, PackFacts, RawLimits, Slicer, surplus_sessions};
use crate::types::{SessionNo, StoreError};
use crate::writer::{Answer, Op};

impl Store {
    /// Drops native frames in small pieces, so that appends hardly wait. Events stay.
    pub async fn drop_frames(&self, limits: RawLimits) -> Result<Dropped, StoreError> {
        let mut dropped = Dropped::default();
        if limits == RawLimits::default() {
            return Ok(dropped);
        }
        for slice in self.slices(limits).await?.surplus() {
            match self.trim(slice.session, slice.to).await {
                Ok(()) => {
                    dropped.frames += slice.frames;
                    dropped.bytes += slice.bytes;
                }
                // The session was deleted meanwhile, or is damaged: a damaged session stays as it is.
                Err(StoreError::NoSession | StoreError::DamagedSession { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(dropped)
    }

    async fn slices(&self, limits: RawLimits) -> Result<Slicer, StoreError> {
        let mut slicer = Slicer::new(limits);
        let sessions = self.inner.reads.run(|engine| engine.heads()).await?;
        for Known { no, .. } in sessions {
            // Each session is a separate read: a long one would hold up WAL checkpoints.
            let work = move |engine: &dyn crate::engine::Engine| {
                engine.packs(no, &mut |pack: PackFacts| slicer.push(no, pack))?;
                Ok(slicer)
            };
            slicer = self.inner.reads.run(work).await?;
        }
        Ok(slicer)
    }

    async fn trim(&self, session: SessionNo, to: u64) -> Result<(), StoreError> {
        let (answer, trimmed) = Answer::unit();
        self.inner.writer.send(Op::Change(Change::Trim { session, to }, answer));
        trimmed.await.map_err(|_| StoreError::Closed)?
    }

    /// Returns the ended sessions that are too old or too many, the longest unchanged first.
    pub async fn surplus_sessions(&self, limits: EndedLimits) -> Result<Vec<EndedSession>, StoreError> {
        if limits == EndedLimits::default() {
            return Ok(vec![]);
        }
        let mut sessions = vec![];
        for session in self.inner.reads.run(|engine| engine.ended()).await? {
            let (no, last_seq) = (session.no, session.last_seq);
            let bytes = match limits.max_bytes {
                Some(_) => self.inner.reads.run(move |engine| engine.measure(no, last_seq)).await?,
                None => 0,
            };
            sessions.push((session, bytes));
        }
        Ok(surplus_sessions(sessions, limits))
    }
}
