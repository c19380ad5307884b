//! Removes the rows of deleted sessions: the session's own row at once, the many rows below it in small
//! pieces, also after a restart. The writer decides when there is time for a piece.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::{checksum, search};
use crate::engine::Progress;
use crate::types::{SessionNo, StoreError};

/// Session numbers are never reused, so a row of this table stays true.
pub(super) const TABLE: &str =
    "CREATE TABLE leftovers (session_no INTEGER PRIMARY KEY, crc INTEGER NOT NULL) STRICT;";

/// Tables with many rows per session, the column that distinguishes them, and the large column.
const TABLES: [(&str, &str, &str); 3] =
    [("events", "seq", "payload"), ("frames", "first_no", "data"), ("blobs", "name", "bytes")];

/// A piece takes a few milliseconds.
const PIECE_ROWS: u32 = 2048;
const PIECE_BYTES: i64 = 2 << 20;

pub(super) fn note(transaction: &Transaction<'_>, session: SessionNo) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO leftovers (session_no, crc) VALUES (?1, ?2)";
    transaction.execute(sql, params![session.0, checksum_of(session)])?;
    Ok(())
}

pub(super) fn list(connection: &Connection) -> Result<Vec<SessionNo>, StoreError> {
    let mut statement = connection.prepare("SELECT session_no, crc FROM leftovers")?;
    let rows = statement.query_map([], |row| Ok(pending_delete(row)))?;
    Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Reads the columns session_no, crc; `None` when the checksum does not match the row.
pub(super) fn pending_delete(row: &Row<'_>) -> Option<SessionNo> {
    let session = SessionNo(row.get(0).ok()?);
    (checksum_of(session) == row.get::<_, u32>(1).ok()?).then_some(session)
}

pub(super) fn clear(connection: &mut Connection, session: SessionNo) -> Result<Progress, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if exists(&transaction, session)? {
        tracing::error!(session = session.0, "a session is noted as deleted and is not; it stays");
        return Ok(Progress::Finished);
    }
    for (table, key, large) in TABLES {
        if remove_some(&transaction, session, table, key, large)? {
            transaction.commit()?;
            return Ok(Progress::More);
        }
    }
    if search::remove_some(&transaction, session)? {
        transaction.commit()?;
        return Ok(Progress::More);
    }
    transaction.execute("DELETE FROM leftovers WHERE session_no = ?1", [session.0])?;
    transaction.commit()?;
    Ok(Progress::Finished)
}

/// A damaged row of this table must not delete an existing session.
fn exists(transaction: &Transaction<'_>, session: SessionNo) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM sessions WHERE no = ?1";
    Ok(transaction.query_row(sql, [session.0], |_| Ok(())).optional()?.is_some())
}

/// Returns whether there were any rows.
fn remove_some(
    transaction: &Transaction<'_>,
    session: SessionNo,
    table: &str,
    key: &str,
    large: &str,
) -> Result<bool, StoreError> {
    let Some(last) = end_of_piece(transaction, session, table, key, large)? else { return Ok(false) };
    let sql = format!("DELETE FROM {table} WHERE session_no = ?1 AND {key} <= ?2");
    transaction.prepare_cached(&sql)?.execute(params![session.0, last])?;
    Ok(true)
}

fn end_of_piece(
    transaction: &Transaction<'_>,
    session: SessionNo,
    table: &str,
    key: &str,
    large: &str,
) -> Result<Option<Value>, StoreError> {
    let sql = format!(
        "SELECT {key}, octet_length({large}) FROM {table} WHERE session_no = ?1 ORDER BY {key} LIMIT {PIECE_ROWS}"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query([session.0])?;
    let (mut last, mut bytes) = (None, 0);
    while bytes < PIECE_BYTES
        && let Some(row) = rows.next()?
    {
        last = Some(row.get(0)?);
        bytes += row.get::<_, Option<i64>>(1)?.unwrap_or(0);
    }
    Ok(last)
}

fn checksum_of(session: SessionNo) -> u32 {
    checksum::of_row(&[session.0], &[])
}
