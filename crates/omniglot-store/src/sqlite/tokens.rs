//! The rows of named tokens and of the audit. A damaged token is no token.

use omniglot_schema::{AuditCall, AuditEntry, TokenInfo};
use rusqlite::{Connection, Row, Transaction, params};

use super::checksum;
use super::rows::{int, uint};
use crate::engine::Done;
use crate::types::{AuditQuery, StoreError, TokenRecord};

/// Only new rows may be written to the audit, whoever has the database open.
pub(super) const TABLES: &str = "
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL,
    info TEXT NOT NULL,
    crc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    no INTEGER PRIMARY KEY,
    time_ms INTEGER NOT NULL,
    call TEXT NOT NULL,
    crc INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_by_time ON audit (time_ms);
CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_keeps_content BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

ALTER TABLE sessions ADD COLUMN labels TEXT NOT NULL DEFAULT '';
";

pub(super) fn put(transaction: &Transaction<'_>, token: &TokenRecord) -> Result<Done, StoreError> {
    let info = json(&token.info)?;
    let crc = of_token(&token.info.id, &token.hash, &info);
    let sql = "INSERT OR REPLACE INTO tokens (id, hash, info, crc) VALUES (?1, ?2, ?3, ?4)";
    transaction.execute(sql, params![token.info.id, token.hash, info, crc])?;
    Ok(Done::Written)
}

/// Returns the valid rows, oldest first, and the ids of the damaged ones.
pub(super) fn list(connection: &Connection) -> Result<(Vec<TokenRecord>, Vec<String>), StoreError> {
    let mut statement = connection.prepare("SELECT id, hash, info, crc FROM tokens")?;
    let mut rows = statement.query([])?;
    let (mut valid, mut damaged) = (vec![], vec![]);
    while let Some(row) = rows.next()? {
        match token(row) {
            Some(token) => valid.push(token),
            None => damaged.push(row.get(0).unwrap_or_default()),
        }
    }
    valid.sort_by_key(|token: &TokenRecord| token.info.created_at);
    Ok((valid, damaged))
}

/// Reads the columns id, hash, info, crc; `None` when the checksum does not match the row.
pub(super) fn token(row: &Row<'_>) -> Option<TokenRecord> {
    let (id, hash, info): (String, String, String) = (row.get(0).ok()?, row.get(1).ok()?, row.get(2).ok()?);
    let matches = of_token(&id, &hash, &info) == row.get::<_, u32>(3).ok()?;
    let info: TokenInfo = serde_json::from_str(&info).ok().filter(|_| matches)?;
    Some(TokenRecord { info, hash })
}

fn of_token(id: &str, hash: &str, info: &str) -> u32 {
    checksum::of_row(&[], &[id.as_bytes(), hash.as_bytes(), info.as_bytes()])
}

pub(super) fn record(
    transaction: &Transaction<'_>,
    call: &AuditCall,
    now_ms: i64,
) -> Result<Done, StoreError> {
    let call = json(call)?;
    let no: i64 = transaction
        .prepare_cached("SELECT ifnull(max(no), 0) + 1 FROM audit")?
        .query_row([], |row| row.get(0))?;
    let crc = of_call(no, now_ms, &call);
    let sql = "INSERT INTO audit (no, time_ms, call, crc) VALUES (?1, ?2, ?3, ?4)";
    transaction.prepare_cached(sql)?.execute(params![no, now_ms, call, crc])?;
    Ok(Done::Written)
}

/// Returns entries, oldest first; a damaged one is told as such, so that no entry is missing silently.
pub(super) fn audit(connection: &Connection, query: &AuditQuery) -> Result<Vec<AuditEntry>, StoreError> {
    let sql = "SELECT no, time_ms, call, crc FROM audit WHERE no > ?1 AND time_ms >= ?2 ORDER BY no LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![int(query.after), query.since_ms, limit])?;
    let mut entries = vec![];
    while let Some(row) = rows.next()? {
        entries.push(entry(row).unwrap_or_else(|| damaged(row)));
    }
    Ok(entries)
}

/// Reads the columns no, time_ms, call, crc; `None` when the checksum does not match the row.
pub(super) fn entry(row: &Row<'_>) -> Option<AuditEntry> {
    let (no, time, call): (i64, i64, String) = (row.get(0).ok()?, row.get(1).ok()?, row.get(2).ok()?);
    let matches = of_call(no, time, &call) == row.get::<_, u32>(3).ok()?;
    let call: AuditCall = serde_json::from_str(&call).ok().filter(|_| matches)?;
    Some(AuditEntry { number: uint(no), time, call })
}

fn damaged(row: &Row<'_>) -> AuditEntry {
    let call = AuditCall {
        who: "?".into(),
        token_id: None,
        from: None,
        what: "?".into(),
        session_id: None,
        outcome: "damaged".into(),
    };
    AuditEntry { number: uint(row.get(0).unwrap_or(0)), time: row.get(1).unwrap_or(0), call }
}

fn of_call(no: i64, time_ms: i64, call: &str) -> u32 {
    checksum::of_row(&[no, time_ms], &[call.as_bytes()])
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| std::io::Error::other(error).into())
}
