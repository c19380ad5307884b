//! The order of all sessions' events: one row per session and transaction, written with the events themselves.
//!
//! A stream over all sessions reads these rows from a number on. Only the newest are kept; a reader that is
//! further behind is told so. A deleted session leaves a row that names it.

use std::collections::HashMap;

use rusqlite::{Connection, Row, Transaction, params};

use super::checksum;
use super::open::{meta, set_meta};
use super::rows::{int, uint};
use crate::commits::{Commit, CommitHead, Committed, Removed};
use crate::engine::{Change, Done, Outcomes};
use crate::types::{SessionNo, SessionRecord, StoreError};

pub(super) const TABLE: &str = "
CREATE TABLE commits (
    no INTEGER PRIMARY KEY,
    session_no INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    removed TEXT
) STRICT;
";

/// The number of rows that are kept, and how many may be beyond it before they are removed together.
const KEPT: i64 = 1_000_000;
const SLACK: i64 = 1024;

const EPOCH: &str = "commits_epoch";

/// Gives the store an epoch and the sessions that are older than the table a row each. Called at every start;
/// `lost` renews the epoch, since numbers that somebody has seen may be used again.
pub(super) fn begin(transaction: &Transaction<'_>, lost: bool) -> Result<(), StoreError> {
    let known = meta(transaction, EPOCH)?.is_some_and(|epoch| epoch.whole().is_some());
    if known && !lost {
        return Ok(());
    }
    let epoch: String = transaction.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))?;
    set_meta(transaction, EPOCH, &epoch)?;
    if known {
        return Ok(());
    }
    let sql = "SELECT no, last_seq FROM sessions WHERE last_seq > 0 ORDER BY updated_ms, no";
    let mut sessions = transaction.prepare(sql)?;
    let mut rows = sessions.query([])?;
    while let Some(row) = rows.next()? {
        insert(transaction, SessionNo(row.get(0)?), (1, uint(row.get(1)?)), None)?;
    }
    Ok(())
}

/// Notes the events of a transaction and the sessions that it deletes, in the order of its changes; the events
/// of one session between two deletions are one row.
pub(super) fn note(
    transaction: &Transaction<'_>,
    changes: &[Change],
    outcomes: &Outcomes,
) -> Result<(), StoreError> {
    let mut grown = Grown::default();
    for (change, outcome) in changes.iter().zip(outcomes) {
        match (change, outcome) {
            (Change::Append { batch, .. }, Ok(_)) => {
                if let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) {
                    grown.add(batch.session, first.seq, last.seq);
                }
            }
            (Change::Create(creation), Ok(Done::Created(record))) => {
                if let Some(old) = creation.replaces {
                    grown.write(transaction)?;
                    remove(transaction, old, record)?;
                }
                for (first, last) in creation.new.told() {
                    grown.add(record.no, first, last);
                }
            }
            (Change::Delete(session), Ok(Done::Deleted(record))) => {
                grown.write(transaction)?;
                // Nobody has been told the name of a session whose row is damaged.
                if let Some(record) = record {
                    remove(transaction, *session, record)?;
                }
            }
            _ => {}
        }
    }
    grown.write(transaction)
}

/// The events of each session that are not written yet, in the order in which the sessions came.
#[derive(Default)]
struct Grown {
    ranges: Vec<(SessionNo, u64, u64)>,
    newest: HashMap<SessionNo, usize>,
}

impl Grown {
    fn add(&mut self, session: SessionNo, first: u64, last: u64) {
        let newest = self.newest.get(&session).and_then(|index| self.ranges.get_mut(*index));
        match newest {
            Some((_, _, end)) if *end + 1 == first => *end = last,
            _ => {
                self.newest.insert(session, self.ranges.len());
                self.ranges.push((session, first, last));
            }
        }
    }

    fn write(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        self.newest.clear();
        for (session, first, last) in self.ranges.drain(..) {
            insert(transaction, session, (first, last), None)?;
        }
        Ok(())
    }
}

fn remove(
    transaction: &Transaction<'_>,
    session: SessionNo,
    record: &SessionRecord,
) -> Result<(), StoreError> {
    let SessionRecord { id, agent, labels, .. } = record.clone();
    let removed = Removed { session_id: id, agent, labels };
    let removed = serde_json::to_string(&removed).map_err(std::io::Error::other)?;
    insert(transaction, session, (0, 0), Some(&removed))
}

fn insert(
    transaction: &Transaction<'_>,
    session: SessionNo,
    (first, last): (u64, u64),
    removed: Option<&str>,
) -> Result<(), StoreError> {
    let (first, last) = (int(first), int(last));
    // The newest rows stay for ever, so a number is never used again.
    let sql = "SELECT ifnull(max(no), 0) + 1 FROM commits";
    let no: i64 = transaction.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let crc = of_commit(no, session, first, last, removed);
    let sql = "INSERT INTO commits (no, session_no, first_seq, last_seq, crc, removed)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    transaction.prepare_cached(sql)?.execute(params![no, session.0, first, last, crc, removed])?;
    if no % SLACK == 0 {
        transaction.prepare_cached("DELETE FROM commits WHERE no <= ?1")?.execute([no - KEPT])?;
    }
    Ok(())
}

/// Returns where the numbers of this store begin and end.
pub(super) fn head(connection: &mut Connection) -> Result<CommitHead, StoreError> {
    let transaction = connection.transaction()?;
    let epoch = meta(&transaction, EPOCH)?.and_then(|epoch| epoch.whole()).unwrap_or_default();
    let sql = "SELECT ifnull((SELECT min(no) FROM commits), 1), ifnull((SELECT max(no) FROM commits), 0)";
    let ends = |row: &Row<'_>| Ok((uint(row.get(0)?), uint(row.get(1)?)));
    let (first, last) = transaction.query_row(sql, [], ends)?;
    Ok(CommitHead { epoch, floor: first.saturating_sub(1), last })
}

/// Returns the rows after `after`, oldest first, at most `limit`.
pub(super) fn read(connection: &Connection, after: u64, limit: usize) -> Result<Vec<Commit>, StoreError> {
    let sql = "SELECT no, session_no, first_seq, last_seq, crc, removed FROM commits
               WHERE no > ?1 ORDER BY no LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![int(after), limit])?;
    let mut commits = vec![];
    while let Some(row) = rows.next()? {
        match commit(row) {
            Some(commit) => commits.push(commit),
            None if commits.is_empty() => return Err(StoreError::DamagedCommit { no: uint(row.get(0)?) }),
            None => break,
        }
    }
    Ok(commits)
}

/// Reads the columns no, session_no, first_seq, last_seq, crc, removed; `None` when the checksum does not match.
pub(super) fn commit(row: &Row<'_>) -> Option<Commit> {
    let (no, session): (i64, _) = (row.get(0).ok()?, SessionNo(row.get(1).ok()?));
    let (first, last): (i64, i64) = (row.get(2).ok()?, row.get(3).ok()?);
    let removed: Option<String> = row.get(5).ok()?;
    if of_commit(no, session, first, last, removed.as_deref()) != row.get::<_, u32>(4).ok()? {
        return None;
    }
    let content = match removed {
        Some(removed) => Committed::Removed(serde_json::from_str(&removed).ok()?),
        None => Committed::Events { first: uint(first), last: uint(last) },
    };
    Some(Commit { no: uint(no), session, content })
}

fn of_commit(no: i64, session: SessionNo, first: i64, last: i64, removed: Option<&str>) -> u32 {
    let numbers = [no, session.0, first, last];
    match removed {
        Some(removed) => checksum::of_row(&numbers, &[removed.as_bytes()]),
        None => checksum::of_row(&numbers, &[]),
    }
}
