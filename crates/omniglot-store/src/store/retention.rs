//! Retention as the rest of the program asks for it: drops frames that are too old or too many, and names the
//! ended sessions that are.
//!
//! Deleting those is left to whoever knows which sessions are live.

use super::Store;
use crate::engine::Change;
use crate::feed::Known;
use crate::retention::{Dropped, EndedLimits, EndedSession, PackFacts, RawLimits, Slicer, surplus_sessions};
use crate::types::{SessionNo, StoreError};
use crate::writer::{Answer, Op};

impl Store {
    /// Drops native frames, a little at a time, so that appends hardly wait. Events stay.
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
                // Deleted meanwhile, or damaged: a damaged session stays as it is found.
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
            // Each session is a read of its own: a long one would keep the WAL from being tidied.
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

    /// The ended sessions that are too old or too many, the longest unchanged first.
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
