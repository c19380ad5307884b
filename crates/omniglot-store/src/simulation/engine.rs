//! The engine on a simulated disk: a commit and a flush are steps, between which anything else may happen.

use std::collections::HashMap;
use std::sync::Arc;

use omniglot_schema::{AuditEntry, SessionId};

use super::disk::{Disk, Flaw};
use super::scheduler::Scheduler;
use super::tables::Session;
use crate::commits::{Commit, CommitHead};
use crate::engine::{Change, Engine, Outcomes, Progress};
use crate::feed::Known;
use crate::metrics::Census;
use crate::retention::{EndedSession, PackFacts};
use crate::types::{
    AuditQuery, Blob, Found, ListFilter, Page, QueuedRow, ReadQuery, Receipt, SearchQuery, SessionNo,
    SessionRecord, StoreError, StoredFrame, StoredHookRow, TokenRecord,
};

pub(super) struct SimulatedEngine {
    pub(super) disk: Disk,
    pub(super) scheduler: Arc<Scheduler>,
}

impl SimulatedEngine {
    /// Lets others come between; an error once the process is dead.
    fn step(&self) -> Result<(), StoreError> {
        if self.scheduler.step() { Ok(()) } else { Err(StoreError::Closed) }
    }

    fn fails(&self) -> Result<(), StoreError> {
        match self.scheduler.chance.disk_fails() {
            true => Err(std::io::Error::other("the simulated disk refuses").into()),
            false => Ok(()),
        }
    }

    fn records(&self, which: impl Fn(&Session) -> bool) -> Vec<SessionRecord> {
        let tables = self.disk.served();
        tables.sessions.values().filter(|session| which(session)).map(|s| s.record.clone()).collect()
    }
}

impl Engine for SimulatedEngine {
    fn commit(&self, changes: &[Change], _: i64) -> Result<Outcomes, StoreError> {
        self.step()?;
        self.fails()?;
        let outcomes = self.disk.write(changes);
        self.step()?;
        Ok(outcomes)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.step()?;
        self.fails()?;
        self.disk.flush();
        self.step()
    }

    fn read(&self, session: SessionNo, query: &ReadQuery) -> Result<Page, StoreError> {
        let mut page = self.disk.served().read(session, query)?;
        if self.disk.flaw == Flaw::SkipsEvents && page.events.len() > 2 {
            page.events.remove(1);
        }
        Ok(page)
    }

    fn explain(&self, error: &StoreError) -> String {
        error.to_string()
    }

    fn heads(&self) -> Result<Vec<Known>, StoreError> {
        let known = |record: SessionRecord| Known { no: record.no, committed: record.last_seq };
        Ok(self.records(|_| true).into_iter().map(known).collect())
    }

    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        Ok(self.records(|session| session.record.id == *id).pop())
    }

    fn session_numbered(&self, no: SessionNo) -> Result<Option<SessionRecord>, StoreError> {
        Ok(self.records(|session| session.record.no == no).pop())
    }

    fn list(&self, _: &ListFilter) -> Result<Vec<SessionRecord>, StoreError> {
        Ok(self.records(|_| true))
    }

    fn unfinished(&self) -> Result<Vec<SessionRecord>, StoreError> {
        Ok(self.records(|session| session.record.open_from.is_some() || !session.queue.is_empty()))
    }

    fn queue(&self, session: SessionNo) -> Result<Vec<QueuedRow>, StoreError> {
        let tables = self.disk.served();
        Ok(tables.sessions.get(&session).map(|session| session.queue.clone()).unwrap_or_default())
    }

    fn receipt(&self, session: SessionNo, key: &str, _: i64) -> Result<Option<Receipt>, StoreError> {
        let tables = self.disk.served();
        Ok(tables.sessions.get(&session).and_then(|session| session.receipts.get(key).cloned()))
    }

    fn commit_head(&self) -> Result<CommitHead, StoreError> {
        let tables = self.disk.served();
        let last = tables.commits.last().map_or(0, |commit| commit.no);
        Ok(CommitHead { epoch: format!("{:016x}", tables.losses), floor: 0, last })
    }

    fn commits(&self, after: u64, limit: usize) -> Result<Vec<Commit>, StoreError> {
        let tables = self.disk.served();
        Ok(tables.commits.iter().filter(|commit| commit.no > after).take(limit).cloned().collect())
    }

    // Simulations use nothing of what follows.

    fn set_limit(&self, _: Option<u64>) -> Result<(), StoreError> {
        Ok(())
    }

    fn repack(&self, _: SessionNo) -> Result<Progress, StoreError> {
        Ok(Progress::Finished)
    }

    fn pending_deletes(&self) -> Result<Vec<SessionNo>, StoreError> {
        Ok(vec![])
    }

    fn clear(&self, _: SessionNo) -> Result<Progress, StoreError> {
        Ok(Progress::Finished)
    }

    fn unindexed(&self) -> Result<Vec<SessionNo>, StoreError> {
        Ok(vec![])
    }

    fn index(&self, _: SessionNo) -> Result<Progress, StoreError> {
        Ok(Progress::Finished)
    }

    fn mark_clean(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn close(&self) {}

    fn search(&self, _: &SearchQuery) -> Result<Vec<Found>, StoreError> {
        Ok(vec![])
    }

    fn census(&self) -> Result<Census, StoreError> {
        Ok(Census { sessions: vec![], queued: 0 })
    }

    fn frames(&self, _: SessionNo, numbers: &[u64]) -> Result<HashMap<u64, StoredFrame>, StoreError> {
        Ok(numbers.iter().map(|number| (*number, StoredFrame::Dropped)).collect())
    }

    fn blob(&self, _: SessionNo, _: &str) -> Result<Option<Blob>, StoreError> {
        Ok(None)
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        Ok(vec![])
    }

    fn hook_rows(&self, _: &str) -> Result<Vec<StoredHookRow>, StoreError> {
        Ok(vec![])
    }

    fn directory_config(&self, _: &str, _: &str) -> Result<Vec<(String, String)>, StoreError> {
        Ok(vec![])
    }

    fn audit(&self, _: &AuditQuery) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(vec![])
    }

    fn packs(&self, _: SessionNo, _: &mut dyn FnMut(PackFacts)) -> Result<(), StoreError> {
        Ok(())
    }

    fn ended(&self) -> Result<Vec<EndedSession>, StoreError> {
        Ok(vec![])
    }

    fn measure(&self, _: SessionNo, _: u64) -> Result<u64, StoreError> {
        Ok(0)
    }
}
