//! Reads session rows, queued messages and receipts; every row is checked.

use omniglot_schema::{Label, MessageId, SessionId};
use rusqlite::{Connection, OptionalExtension as _, Row, Rows, params};

use super::checksum;
use super::rows::uint;
use super::session_row::{COLUMNS, SessionRow};
use crate::feed::Known;
use crate::metrics::{Census, SessionCount, SessionStatus};
use crate::types::{ListFilter, QueuedRow, Receipt, SessionNo, SessionRecord, StoreError};

/// The retention time of a receipt.
pub(super) const RECEIPT_MS: i64 = 24 * 60 * 60 * 1000;

/// The valid rows of a list, and the names of the damaged ones.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) records: Vec<SessionRecord>,
    pub(super) damaged: Vec<String>,
}

/// Unchecked: reading whole rows would make a start read every fold. A wrong number here is never silent,
/// since every use of the session reads its checked row first.
pub(super) fn heads(connection: &Connection) -> Result<Vec<Known>, StoreError> {
    let mut statement = connection.prepare("SELECT no, last_seq FROM sessions")?;
    let known = |row: &Row<'_>| Ok(Known { no: SessionNo(row.get(0)?), committed: uint(row.get(1)?) });
    let rows = statement.query_map([], known)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn by_id(connection: &Connection, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row([id.as_str()], |row| Ok(SessionRow::parse(row))).optional()?;
    match found {
        Some(Ok(row)) => Ok(Some(row.record)),
        // The id in the row may be the damaged part; the requested one is right.
        Some(Err(_)) => Err(StoreError::DamagedSession { session: id.to_string() }),
        None => Ok(None),
    }
}

pub(super) fn by_number(connection: &Connection, no: SessionNo) -> Result<Option<SessionRecord>, StoreError> {
    let sql = "SELECT id FROM sessions WHERE no = ?1";
    let id: Option<String> = connection.query_row(sql, [no.0], |row| row.get(0)).optional()?;
    let Some(id) = id else { return Ok(None) };
    let damaged = |_| StoreError::DamagedSession { session: id.clone() };
    by_id(connection, &SessionId::parse(&id).map_err(damaged)?)
}

pub(super) fn list(connection: &mut Connection, filter: &ListFilter) -> Result<Listed, StoreError> {
    let transaction = connection.transaction()?;
    let before = filter.after.as_ref().map(|id| number(&transaction, id)).transpose()?;
    // The limit is not part of the query: a damaged row does not count.
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions
         WHERE (?1 IS NULL OR no < ?1) AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR ended = ?3)
         ORDER BY no DESC"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let rows = statement.query(params![before, filter.agent, filter.ended])?;
    collect(rows, filter.limit.unwrap_or(usize::MAX), &filter.labels)
}

fn number(connection: &Connection, id: &SessionId) -> Result<i64, StoreError> {
    let sql = "SELECT no FROM sessions WHERE id = ?1";
    connection.query_row(sql, [id.as_str()], |row| row.get(0)).optional()?.ok_or(StoreError::NoSession)
}

/// Counts sessions by agent and status, and the messages that wait.
pub(super) fn census(connection: &Connection) -> Result<Census, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT agent, ended, open_from IS NOT NULL, count(*) FROM sessions GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    )?;
    let sessions = statement.query_map([], |row| {
        let status = match (row.get(1)?, row.get(2)?) {
            (true, _) => SessionStatus::Ended,
            (false, true) => SessionStatus::Connected,
            (false, false) => SessionStatus::Idle,
        };
        let count = u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default();
        Ok(SessionCount { agent: row.get(0)?, status, count })
    })?;
    let sessions = sessions.collect::<Result<_, _>>()?;
    // Rows of deleted sessions are removed later.
    let queued = "SELECT count(*) FROM queue WHERE session_no IN (SELECT no FROM sessions)";
    let queued: i64 = connection.query_row(queued, [], |row| row.get(0))?;
    Ok(Census { sessions, queued: u64::try_from(queued).unwrap_or_default() })
}

pub(super) fn unfinished(connection: &Connection) -> Result<Listed, StoreError> {
    let mut statement = connection.prepare(&unfinished_sql())?;
    collect(statement.query([])?, usize::MAX, &[])
}

pub(super) fn unfinished_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM sessions WHERE no IN (
             SELECT no FROM sessions WHERE open_from IS NOT NULL UNION SELECT session_no FROM queue)
         ORDER BY no"
    )
}

fn collect(mut rows: Rows<'_>, limit: usize, labels: &[Label]) -> Result<Listed, StoreError> {
    let mut listed = Listed::default();
    while listed.records.len() < limit
        && let Some(row) = rows.next()?
    {
        match SessionRow::parse(row) {
            Ok(row) if labels.iter().all(|label| label.is_in(&row.record.labels)) => {
                listed.records.push(row.record);
            }
            Ok(_) => {}
            Err(StoreError::DamagedSession { session }) => listed.damaged.push(session),
            Err(error) => return Err(error),
        }
    }
    Ok(listed)
}

/// Refuses the whole queue if one message is damaged: leaving the message out would lose it silently.
pub(super) fn queue(connection: &Connection, session: SessionNo) -> Result<Vec<QueuedRow>, StoreError> {
    let sql = "SELECT position, message_id, body, crc FROM queue WHERE session_no = ?1 ORDER BY position";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([session.0])?;
    let mut queue = Vec::new();
    while let Some(row) = rows.next()? {
        let damaged = || StoreError::DamagedMessage { message_id: row.get(1).unwrap_or_default() };
        queue.push(queued(row, session).ok_or_else(damaged)?);
    }
    Ok(queue)
}

/// Reads the columns position, message_id, body, crc; `None` when the checksum does not match the row.
pub(super) fn queued(row: &Row<'_>, session: SessionNo) -> Option<QueuedRow> {
    let (position, message_id, body): (i64, String, String) =
        (row.get(0).ok()?, row.get(1).ok()?, row.get(2).ok()?);
    let crc = of_message(session, position, &message_id, &body);
    (crc == row.get::<_, u32>(3).ok()?).then_some(QueuedRow { message_id: MessageId(message_id), body })
}

pub(super) fn of_message(session: SessionNo, position: i64, message_id: &str, body: &str) -> u32 {
    checksum::of_row(&[session.0, position], &[message_id.as_bytes(), body.as_bytes()])
}

pub(super) fn receipt(
    connection: &Connection,
    session: SessionNo,
    key: &str,
    now_ms: i64,
) -> Result<Option<Receipt>, StoreError> {
    // The age is checked after the checksum: a damaged time must not let a request run twice.
    let sql = "SELECT key, body_hash, answer, created_ms, crc FROM receipts
               WHERE session_no = ?1 AND key = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![session.0, key], |row| Ok(kept(row, session))).optional()?;
    let Some(found) = found else { return Ok(None) };
    let (receipt, created_ms) = found.ok_or_else(|| StoreError::DamagedReceipt { key: key.to_owned() })?;
    Ok((created_ms >= now_ms.saturating_sub(RECEIPT_MS)).then_some(receipt))
}

/// Reads the columns key, body_hash, answer, created_ms, crc; `None` when the checksum does not match.
pub(super) fn kept(row: &Row<'_>, session: SessionNo) -> Option<(Receipt, i64)> {
    let receipt = Receipt { key: row.get(0).ok()?, body_hash: row.get(1).ok()?, answer: row.get(2).ok()? };
    let created_ms = row.get(3).ok()?;
    (of_receipt(session, &receipt, created_ms) == row.get::<_, u32>(4).ok()?).then_some((receipt, created_ms))
}

pub(super) fn of_receipt(session: SessionNo, receipt: &Receipt, created_ms: i64) -> u32 {
    let Receipt { key, body_hash, answer } = receipt;
    checksum::of_row(&[session.0, created_ms], &[key.as_bytes(), body_hash.as_bytes(), answer.as_bytes()])
}
