//! The index of words, written with the events themselves. It has no texts: a search reads them from the events.
//!
//! Sessions that are older than the index are added in small pieces when the writer is idle. The index can be
//! made again from the events, so a damaged one never keeps an event from being written.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::events;
use super::rows::{int, uint};
use crate::engine::{Change, Done, Outcomes, Progress};
use crate::types::{Found, SearchQuery, SessionNo, StoreError};
use crate::words::{self, Words};

/// A row of `words` is numbered by session and sequence. `unindexed` has the sessions that are older than the index,
/// each with the last event that is not in it yet.
pub(super) const TABLES: &str = "
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize='unicode61 remove_diacritics 2'
);
CREATE TABLE unindexed (session_no INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL) STRICT;
INSERT INTO unindexed SELECT no, last_seq FROM sessions WHERE last_seq > 0;
";

/// Begins the index anew: what is damaged in it must not keep events from being written. The sessions that there
/// are come back to it after the next start.
pub(super) fn renew(connection: &mut Connection, damage: &StoreError) -> Result<(), StoreError> {
    tracing::error!(%damage, "the index of words is damaged and begins anew; a search misses what is older");
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(&format!("DROP TABLE words; DROP TABLE unindexed; {TABLES}"))?;
    Ok(transaction.commit()?)
}

/// Adds the words of a transaction.
pub(super) fn note(
    transaction: &Transaction<'_>,
    changes: &[Change],
    outcomes: &Outcomes,
) -> Result<(), StoreError> {
    for (change, outcome) in changes.iter().zip(outcomes) {
        match (change, outcome) {
            (Change::Append { batch, words, .. }, Ok(_)) => add(transaction, batch.session, words)?,
            (Change::Create(creation), Ok(Done::Created(record))) => {
                add(transaction, record.no, &creation.words)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The bits of a row's number that are the sequence. Later events of a session are not searched.
const BITS: u32 = 32;

/// A piece takes a few milliseconds.
const PIECE: i64 = 256;

fn number(session: SessionNo, seq: u64) -> Option<i64> {
    (seq >> BITS == 0 && session.0 >> (63 - BITS) == 0).then(|| session.0 << BITS | int(seq))
}

fn range(session: SessionNo) -> (i64, i64) {
    let first = session.0 << BITS;
    (first, first | ((1 << BITS) - 1))
}

fn add(transaction: &Transaction<'_>, session: SessionNo, new: &[Words]) -> Result<(), StoreError> {
    for Words { seq, text } in new {
        let Some(number) = number(session, *seq) else { continue };
        let sql = "INSERT OR REPLACE INTO words (rowid, text) VALUES (?1, ?2)";
        transaction.prepare_cached(sql)?.execute(params![number, text])?;
    }
    Ok(())
}

/// Returns the newest matches before `query.before`.
pub(super) fn find(connection: &Connection, query: &SearchQuery) -> Result<Vec<Found>, StoreError> {
    let Some(words) = expression(&query.terms) else { return Ok(vec![]) };
    let before = query.before.and_then(|found| number(found.session, found.seq)).unwrap_or(i64::MAX);
    let sql = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let found = |row: &rusqlite::Row<'_>| {
        let number: i64 = row.get(0)?;
        Ok(Found { session: SessionNo(number >> BITS), seq: uint(number & ((1 << BITS) - 1)) })
    };
    Ok(statement.query_map(params![words, before, limit], found)?.collect::<Result<_, _>>()?)
}

/// All words must be there; the last may go on.
fn expression(terms: &[String]) -> Option<String> {
    let quoted: Vec<String> = terms.iter().map(|term| format!("\"{}\"", term.replace('"', ""))).collect();
    (!quoted.is_empty()).then(|| quoted.join(" ") + " *")
}

/// Removes a piece of a deleted session; returns whether there was something.
pub(super) fn remove_some(transaction: &Transaction<'_>, session: SessionNo) -> Result<bool, StoreError> {
    transaction.execute("DELETE FROM unindexed WHERE session_no = ?1", [session.0])?;
    let (first, last) = range(session);
    let sql = "DELETE FROM words WHERE rowid IN
               (SELECT rowid FROM words WHERE rowid BETWEEN ?1 AND ?2 LIMIT ?3)";
    Ok(transaction.prepare_cached(sql)?.execute(params![first, last, PIECE])? > 0)
}

/// Returns the sessions that are older than the index and not wholly in it, newest first.
pub(super) fn unindexed(connection: &Connection) -> Result<Vec<SessionNo>, StoreError> {
    let mut statement = connection.prepare("SELECT session_no FROM unindexed ORDER BY session_no DESC")?;
    Ok(statement.query_map([], |row| row.get(0).map(SessionNo))?.collect::<Result<_, _>>()?)
}

/// Adds a piece of a session that is older than the index, its last events first.
pub(super) fn index_some(connection: &mut Connection, session: SessionNo) -> Result<Progress, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let sql = "SELECT last_seq FROM unindexed WHERE session_no = ?1";
    let last: Option<i64> = transaction.query_row(sql, [session.0], |row| row.get(0)).optional()?;
    let Some(last) = last else { return Ok(Progress::Finished) };
    let (first, new) = piece(&transaction, session, last)?;
    add(&transaction, session, &new)?;
    let progress = if first > 1 { Progress::More } else { Progress::Finished };
    match progress {
        Progress::More => {
            let sql = "UPDATE unindexed SET last_seq = ?2 WHERE session_no = ?1";
            transaction.execute(sql, params![session.0, first - 1])?;
        }
        Progress::Finished => {
            transaction.execute("DELETE FROM unindexed WHERE session_no = ?1", [session.0])?;
        }
    }
    transaction.commit()?;
    Ok(progress)
}

/// Reads the words of the last events up to `last`; returns the first sequence that was read.
fn piece(
    transaction: &Transaction<'_>,
    session: SessionNo,
    last: i64,
) -> Result<(i64, Vec<Words>), StoreError> {
    let first = (last - PIECE + 1).max(1);
    let sql = "SELECT seq, type, time, payload, frame_no, crc FROM events
               WHERE session_no = ?1 AND seq BETWEEN ?2 AND ?3 AND type = 'item.completed'";
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query(params![session.0, first, last])?;
    let mut new = vec![];
    while let Some(row) = rows.next()? {
        let seq = uint(row.get(0)?);
        // A damaged event is found by those who read it.
        let event = events::event(row, session, seq);
        let text = event.and_then(|event| words::of_event(event.kind, &event.json));
        new.extend(text.map(|text| Words { seq, text }));
    }
    Ok((first, new))
}
