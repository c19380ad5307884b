//! The queries of retention: age and size of frames and sessions, and dropping the oldest frames.
//!
//! The caller decides which frames and sessions are too old or too large.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use omniglot_schema::SessionId;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::checksum;
use super::rows::{int, uint};
use super::session_row::SessionRow;
use crate::engine::Done;
use crate::retention::{EndedSession, PackFacts};
use crate::types::{SessionNo, StoreError};

/// Frames get a time, before the large column so that reading the time does not touch that column. A row of
/// `trims` has the last dropped frame of a session, so that dropped frames are not reported as lost.
pub(super) const TABLES: &str = "
CREATE TABLE timed_frames (
    session_no INTEGER NOT NULL,
    first_no INTEGER NOT NULL,
    count INTEGER NOT NULL,
    stored_ms INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (session_no, first_no)
) STRICT, WITHOUT ROWID;
INSERT INTO timed_frames SELECT session_no, first_no, count, 0, crc, data FROM frames;
DROP TABLE frames;
ALTER TABLE timed_frames RENAME TO frames;

CREATE TABLE trims (
    session_no INTEGER PRIMARY KEY,
    dropped_to INTEGER NOT NULL,
    crc INTEGER NOT NULL
) STRICT;
";

/// Drops whole packs only: a pack that ends after `to` stays.
pub(super) fn trim(transaction: &Transaction<'_>, session: SessionNo, to: u64) -> Result<Done, StoreError> {
    SessionRow::load(transaction, session)?;
    let sql = "SELECT max(first_no + count - 1) FROM frames
               WHERE session_no = ?1 AND first_no <= ?2 AND first_no + count - 1 <= ?2";
    let dropped_to: Option<i64> =
        transaction.prepare_cached(sql)?.query_row(params![session.0, int(to)], |row| row.get(0))?;
    let Some(dropped_to) = dropped_to else { return Ok(Done::Trimmed) };
    let sql = "DELETE FROM frames WHERE session_no = ?1 AND first_no <= ?2";
    transaction.prepare_cached(sql)?.execute(params![session.0, dropped_to])?;
    let sql = "INSERT OR REPLACE INTO trims (session_no, dropped_to, crc) VALUES (?1, ?2, ?3)";
    let crc = of_trim(session, dropped_to);
    transaction.prepare_cached(sql)?.execute(params![session.0, dropped_to, crc])?;
    Ok(Done::Trimmed)
}

/// Returns the last frame that was dropped; 0 when all are kept.
pub(super) fn trimmed_to(connection: &Connection, session: SessionNo) -> Result<u64, StoreError> {
    // A damaged row counts as none: the frames are then reported as missing.
    Ok(trim_of(connection, session)?.map_or(0, |trim| trim.unwrap_or(0)))
}

/// Reads the row of a session; the inner `None` means that the checksum does not match the row.
pub(super) fn trim_of(
    connection: &Connection,
    session: SessionNo,
) -> Result<Option<Option<u64>>, StoreError> {
    let sql = "SELECT dropped_to, crc FROM trims WHERE session_no = ?1";
    let parse = |row: &Row<'_>| {
        let (dropped_to, crc): (i64, u32) = (row.get(0).ok()?, row.get(1).ok()?);
        (of_trim(session, dropped_to) == crc).then_some(uint(dropped_to))
    };
    Ok(connection.prepare_cached(sql)?.query_row([session.0], |row| Ok(parse(row))).optional()?)
}

fn of_trim(session: SessionNo, dropped_to: i64) -> u32 {
    checksum::of_row(&[session.0, dropped_to], &[])
}

pub(super) fn packs(
    connection: &Connection,
    session: SessionNo,
    visit: &mut dyn FnMut(PackFacts),
) -> Result<(), StoreError> {
    // Packs that are older than the time column are at most as new as their session.
    let sql = "SELECT first_no, count, iif(stored_ms = 0, updated_ms, stored_ms), octet_length(data)
               FROM frames JOIN sessions ON no = session_no WHERE session_no = ?1 ORDER BY first_no";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([session.0])?;
    while let Some(row) = rows.next()? {
        let (first, count): (u64, u64) = (uint(row.get(0)?), uint(row.get(1)?));
        let last = first.saturating_add(count.saturating_sub(1));
        visit(PackFacts { last, count, stored_ms: row.get(2)?, bytes: uint(row.get(3)?) });
    }
    Ok(())
}

/// Unchecked: reading whole rows would read every fold. Deleting a session reads its checked row first.
pub(super) fn ended(connection: &Connection) -> Result<Vec<EndedSession>, StoreError> {
    let sql = "SELECT no, id, updated_ms, last_seq FROM sessions
               WHERE ended = 1 AND open_from IS NULL AND no NOT IN (SELECT session_no FROM queue)
               ORDER BY updated_ms, no";
    let mut statement = connection.prepare_cached(sql)?;
    let parse = |row: &Row<'_>| {
        let id = SessionId::parse(&row.get::<_, String>(1)?).ok();
        let (no, updated_ms, last_seq) = (SessionNo(row.get(0)?), row.get(2)?, uint(row.get(3)?));
        Ok(id.map(|id| EndedSession { no, id, updated_ms, last_seq }))
    };
    let rows = statement.query_map([], parse)?.collect::<Result<Vec<_>, _>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// Caches the byte counts of ended sessions: counting reads all their events, so once is enough.
#[derive(Default)]
pub(super) struct Measured {
    sessions: Mutex<HashMap<SessionNo, EventBytes>>,
}

struct EventBytes {
    last_seq: u64,
    bytes: u64,
}

/// The approximate bytes of an event beside its payload.
const EVENT: u64 = 48;

impl Measured {
    /// Removes the counts of all other sessions.
    pub(super) fn keep(&self, sessions: &[EndedSession]) {
        let kept: HashSet<SessionNo> = sessions.iter().map(|session| session.no).collect();
        self.lock().retain(|no, _| kept.contains(no));
    }

    pub(super) fn measure(
        &self,
        connection: &Connection,
        session: SessionNo,
        last_seq: u64,
    ) -> Result<u64, StoreError> {
        let known = self.lock().get(&session).filter(|known| known.last_seq == last_seq).map(|k| k.bytes);
        let events = match known {
            Some(bytes) => bytes,
            None => {
                let bytes = total(connection, session, "events", "payload")? + last_seq * EVENT;
                self.lock().insert(session, EventBytes { last_seq, bytes });
                bytes
            }
        };
        let frames = total(connection, session, "frames", "data")?;
        Ok(events + frames + total(connection, session, "blobs", "bytes")?)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionNo, EventBytes>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn total(connection: &Connection, session: SessionNo, table: &str, column: &str) -> Result<u64, StoreError> {
    let sql = format!("SELECT coalesce(sum(octet_length({column})), 0) FROM {table} WHERE session_no = ?1");
    Ok(uint(connection.prepare_cached(&sql)?.query_row([session.0], |row| row.get(0))?))
}
