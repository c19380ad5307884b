//! The statements that write single rows. Which rows a change writes, and in which order, is decided by
//! the caller.

use omniglot_schema::MessageId;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, ToSql, Transaction, params};

use super::checksum::{self, EventRow};
use super::sessions::{RECEIPT_MS, of_message, of_receipt};
use crate::pack::Pack;
use crate::types::{NewEvent, QueueOp, Receipt, SessionNo, StoreError};

pub(super) fn insert_events(
    transaction: &Transaction<'_>,
    session: SessionNo,
    events: &[NewEvent],
) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let mut statement = transaction.prepare_cached(
        "INSERT INTO events (session_no, seq, type, time, payload, frame_no, crc)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for event in events {
        insert_event(&mut statement, session, event)?;
    }
    Ok(())
}

fn insert_event(
    statement: &mut CachedStatement<'_>,
    session: SessionNo,
    event: &NewEvent,
) -> Result<(), StoreError> {
    let kind = event.kind.as_str();
    let (seq, frame_no) = (int(event.seq), event.frame_no.map(int));
    let row = EventRow {
        session,
        seq,
        kind: kind.as_bytes(),
        time_us: event.time_us,
        payload: &event.json,
        frame_no,
    };
    let crc = row.crc();
    statement.execute(params![session.0, seq, kind, event.time_us, Text(&event.json), frame_no, crc])?;
    Ok(())
}

/// JSON bytes as text for SQLite, neither copied nor checked.
struct Text<'a>(&'a [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

pub(super) fn insert_pack(
    transaction: &Transaction<'_>,
    session: SessionNo,
    pack: Option<&Pack>,
    stored_ms: i64,
) -> Result<(), StoreError> {
    let Some(Pack { first, count, data }) = pack else { return Ok(()) };
    let (first, count) = (int(*first), int(*count));
    let crc = checksum::of_pack(session, first, count, stored_ms, data);
    transaction
        .prepare_cached(
            "INSERT INTO frames (session_no, first_no, count, stored_ms, crc, data)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![session.0, first, count, stored_ms, crc, data])?;
    Ok(())
}

pub(super) fn change_queue(
    transaction: &Transaction<'_>,
    session: SessionNo,
    op: &QueueOp,
) -> Result<(), StoreError> {
    match op {
        QueueOp::Push { message_id: MessageId(id), body } => {
            let position = next_position(transaction, session)?;
            let crc = of_message(session, position, id, body);
            let sql = "INSERT INTO queue (session_no, position, message_id, body, crc)
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.prepare_cached(sql)?.execute(params![session.0, position, id, body, crc])?
        }
        QueueOp::Remove { message_id: MessageId(id) } => transaction
            .prepare_cached("DELETE FROM queue WHERE session_no = ?1 AND message_id = ?2")?
            .execute(params![session.0, id])?,
    };
    Ok(())
}

fn next_position(transaction: &Transaction<'_>, session: SessionNo) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(max(position), 0) + 1 FROM queue WHERE session_no = ?1";
    Ok(transaction.prepare_cached(sql)?.query_row([session.0], |row| row.get(0))?)
}

pub(super) fn insert_receipt(
    transaction: &Transaction<'_>,
    session: SessionNo,
    receipt: &Receipt,
    now_ms: i64,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached("DELETE FROM receipts WHERE created_ms < ?1")?
        .execute([now_ms.saturating_sub(RECEIPT_MS)])?;
    let crc = of_receipt(session, receipt, now_ms);
    let Receipt { key, body_hash, answer } = receipt;
    transaction
        .prepare_cached(
            "INSERT INTO receipts (session_no, key, body_hash, answer, created_ms, crc)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![session.0, key, body_hash, answer, now_ms, crc])?;
    Ok(())
}

/// Counters are dense from 1 and never reach the sign bit.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
