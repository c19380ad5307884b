//! The log in one SQLite file: WAL mode, one connection that writes, a few that read.
//!
//! A commit with `synchronous=NORMAL` writes the WAL but does not flush it, so it survives the death of this
//! process; [`Engine::sync`] flushes it, so it survives the loss of power. The writer decides when to answer
//! its callers.

pub(crate) mod backup;
mod blobs;
pub(crate) mod check;
mod checksum;
mod commits;
mod directory_config;
mod events;
mod frames;
mod hooks;
mod open;
mod pending_deletes;
mod pool;
mod repack;
mod retention;
mod rows;
mod schema;
mod search;
mod session_row;
mod sessions;
mod tokens;
mod trouble;
mod wal;
mod write;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use omniglot_schema::{AuditEntry, SessionId};
use rusqlite::Connection;

use crate::commits::{Commit, CommitHead};
use crate::engine::{Change, Engine, Outcomes, Progress};
use crate::feed::Known;
use crate::metrics::Census;
use crate::retention::{EndedSession, PackFacts};
use crate::types::{
    AuditQuery, Blob, Found, ListFilter, Page, QueuedRow, ReadQuery, Receipt, SearchQuery, SessionNo,
    SessionRecord, StoreError, StoredFrame, StoredHookRow, TokenRecord,
};
use pool::Pool;
use repack::Repack;
use retention::Measured;
use sessions::Listed;
use wal::Wal;

#[cfg(test)]
mod tests;

/// The name of the file in a data directory.
pub const DATABASE: &str = "omniglot.db";

pub(crate) struct Sqlite {
    dir: PathBuf,
    /// `None` once closed.
    writing: Mutex<Option<Writing>>,
    readers: Pool,
    /// Sessions whose damaged rows were reported; each is logged once.
    reported: Mutex<BTreeSet<String>>,
    measured: Measured,
}

/// The only connection that writes.
struct Writing {
    connection: Connection,
    wal: Wal,
    limit: Option<u64>,
    /// The repacking in progress between two calls of [`Engine::repack`].
    repack: Option<Repack>,
}

impl Sqlite {
    pub(crate) fn open(dir: &Path, boot_id: Option<&str>, limit: Option<u64>) -> Result<Self, StoreError> {
        let path = dir.join(DATABASE);
        let mut connection = open::writer(&path).map_err(|error| trouble::on_opening(error, &path))?;
        open::note_start(&mut connection, boot_id)?;
        open::set_limit(&connection, limit)?;
        let mut wal = Wal::of(&path).map_err(StoreError::file(&path))?;
        wal.sync(&connection)?;
        // The first flush of a new file is worth nothing while its directory entry is not on disk.
        std::fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(StoreError::file(dir))?;
        let writing = Mutex::new(Some(Writing { connection, wal, limit, repack: None }));
        let (reported, measured) = (Mutex::default(), Measured::default());
        Ok(Self { dir: dir.to_owned(), writing, readers: Pool::new(path), reported, measured })
    }

    fn writing(&self) -> MutexGuard<'_, Option<Writing>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_writing<T>(
        &self,
        work: impl FnOnce(&mut Writing) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(self.writing().as_mut().ok_or(StoreError::Closed)?)
    }

    /// One damaged row must not hide the others, so a list continues without it and logs a warning.
    fn report(&self, listed: Listed) -> Vec<SessionRecord> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        for session in listed.damaged {
            if reported.insert(session.clone()) {
                tracing::error!(
                    session,
                    "the session's row is damaged; it is left out of lists and recovery"
                );
            }
        }
        listed.records
    }
}

impl Engine for Sqlite {
    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Outcomes, StoreError> {
        self.with_writing(|w| {
            // Rows that a repacking has read may be gone after this.
            w.repack.take_if(|repack| changes.iter().any(|change| repack.is_disturbed_by(change)));
            write::commit(&mut w.connection, changes, now_ms)
        })
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.with_writing(|w| w.wal.sync(&w.connection))
    }

    fn set_limit(&self, max_bytes: Option<u64>) -> Result<(), StoreError> {
        self.with_writing(|w| {
            w.limit = max_bytes;
            open::set_limit(&w.connection, max_bytes)
        })
    }

    fn explain(&self, error: &StoreError) -> String {
        let limit = self.writing().as_ref().and_then(|w| w.limit);
        trouble::explain(error, &self.dir, limit)
    }

    fn repack(&self, session: SessionNo) -> Result<Progress, StoreError> {
        self.with_writing(|w| repack::step(&mut w.connection, &mut w.repack, session))
    }

    fn pending_deletes(&self) -> Result<Vec<SessionNo>, StoreError> {
        self.readers.with(|c| pending_deletes::list(c))
    }

    fn clear(&self, session: SessionNo) -> Result<Progress, StoreError> {
        self.with_writing(|w| pending_deletes::clear(&mut w.connection, session))
    }

    fn unindexed(&self) -> Result<Vec<SessionNo>, StoreError> {
        self.readers.with(|c| search::unindexed(c))
    }

    fn index(&self, session: SessionNo) -> Result<Progress, StoreError> {
        self.with_writing(|w| search::index_some(&mut w.connection, session))
    }

    fn mark_clean(&self) -> Result<(), StoreError> {
        self.with_writing(|w| {
            open::note_clean_end(&w.connection)?;
            w.wal.sync(&w.connection)
        })
    }

    fn close(&self) {
        self.readers.close();
        if let Some(Writing { connection, .. }) = self.writing().take()
            && let Err((_, error)) = connection.close()
        {
            tracing::warn!(%error, "the database did not close properly; its data is safe in the WAL");
        }
    }

    fn heads(&self) -> Result<Vec<Known>, StoreError> {
        self.readers.with(|c| sessions::heads(c))
    }

    fn search(&self, query: &SearchQuery) -> Result<Vec<Found>, StoreError> {
        self.readers.with(|c| search::find(c, query))
    }

    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.readers.with(|c| sessions::by_id(c, id))
    }

    fn session_numbered(&self, no: SessionNo) -> Result<Option<SessionRecord>, StoreError> {
        self.readers.with(|c| sessions::by_number(c, no))
    }

    fn list(&self, filter: &ListFilter) -> Result<Vec<SessionRecord>, StoreError> {
        self.readers.with(|c| sessions::list(c, filter)).map(|listed| self.report(listed))
    }

    fn census(&self) -> Result<Census, StoreError> {
        self.readers.with(|c| sessions::census(c))
    }

    fn unfinished(&self) -> Result<Vec<SessionRecord>, StoreError> {
        self.readers.with(|c| sessions::unfinished(c)).map(|listed| self.report(listed))
    }

    fn read(&self, session: SessionNo, query: &ReadQuery) -> Result<Page, StoreError> {
        self.readers.with(|c| events::read(c, session, query))
    }

    fn frames(&self, session: SessionNo, numbers: &[u64]) -> Result<HashMap<u64, StoredFrame>, StoreError> {
        self.readers.with(|c| frames::read(c, session, numbers))
    }

    fn blob(&self, session: SessionNo, name: &str) -> Result<Option<Blob>, StoreError> {
        self.readers.with(|c| blobs::read(c, session, name))
    }

    fn queue(&self, session: SessionNo) -> Result<Vec<QueuedRow>, StoreError> {
        self.readers.with(|c| sessions::queue(c, session))
    }

    fn receipt(&self, session: SessionNo, key: &str, now_ms: i64) -> Result<Option<Receipt>, StoreError> {
        self.readers.with(|c| sessions::receipt(c, session, key, now_ms))
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        let (valid, damaged) = self.readers.with(|c| tokens::list(c))?;
        for id in damaged {
            tracing::error!(id, "the row of a token is damaged; the token is not accepted");
        }
        Ok(valid)
    }

    fn directory_config(&self, directory: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.readers.with(|c| directory_config::list(c, directory, kind))
    }

    fn hook_rows(&self, kind: &str) -> Result<Vec<StoredHookRow>, StoreError> {
        self.readers.with(|c| hooks::list(c, kind))
    }

    fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StoreError> {
        self.readers.with(|c| tokens::audit(c, query))
    }

    fn commit_head(&self) -> Result<CommitHead, StoreError> {
        self.readers.with(commits::head)
    }

    fn commits(&self, after: u64, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.readers.with(|c| commits::read(c, after, limit))
    }

    fn packs(&self, session: SessionNo, visit: &mut dyn FnMut(PackFacts)) -> Result<(), StoreError> {
        self.readers.with(|c| retention::packs(c, session, visit))
    }

    fn ended(&self) -> Result<Vec<EndedSession>, StoreError> {
        let ended = self.readers.with(|c| retention::ended(c))?;
        self.measured.keep(&ended);
        Ok(ended)
    }

    fn measure(&self, session: SessionNo, last_seq: u64) -> Result<u64, StoreError> {
        self.readers.with(|c| self.measured.measure(c, session, last_seq))
    }
}
