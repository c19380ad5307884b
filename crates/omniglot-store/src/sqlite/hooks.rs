//! The rows that hooks keep: cursors, dead letters, links. The store does not know what the values mean.

use rusqlite::{Connection, Row, Transaction, params};

use super::checksum;
use crate::engine::Done;
use crate::types::{HookRow, StoreError, StoredHookRow};

pub(super) const TABLE: &str = "
CREATE TABLE hooks (
    kind TEXT NOT NULL,
    hook TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (kind, hook, name)
) STRICT, WITHOUT ROWID;
";

/// Writes all rows; one without a value is removed.
pub(super) fn put(transaction: &Transaction<'_>, rows: &[HookRow]) -> Result<Done, StoreError> {
    for HookRow { kind, hook, name, value } in rows {
        match value {
            Some(value) => {
                let crc = crc(kind, hook, name, value);
                let sql =
                    "INSERT OR REPLACE INTO hooks (kind, hook, name, value, crc) VALUES (?1, ?2, ?3, ?4, ?5)";
                transaction.prepare_cached(sql)?.execute(params![kind, hook, name, value, crc])?;
            }
            None => {
                let sql = "DELETE FROM hooks WHERE kind = ?1 AND hook = ?2 AND name = ?3";
                transaction.prepare_cached(sql)?.execute(params![kind, hook, name])?;
            }
        }
    }
    Ok(Done::Written)
}

/// Returns the rows of a kind, by hook and name. A damaged row is left out.
pub(super) fn list(connection: &Connection, kind: &str) -> Result<Vec<StoredHookRow>, StoreError> {
    let sql = "SELECT kind, hook, name, value, crc FROM hooks WHERE kind = ?1 ORDER BY hook, name";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([kind])?;
    let mut entries = vec![];
    while let Some(row) = rows.next()? {
        match entry(row) {
            Some(entry) => entries.push(entry),
            None => tracing::error!(kind, "a row of a hook is damaged"),
        }
    }
    Ok(entries)
}

/// Reads the columns kind, hook, name, value, crc; `None` when the checksum does not match the row.
pub(super) fn entry(row: &Row<'_>) -> Option<StoredHookRow> {
    let text = |column| row.get::<_, String>(column).ok();
    let (kind, hook, name, value) = (text(0)?, text(1)?, text(2)?, text(3)?);
    let matches = crc(&kind, &hook, &name, &value) == row.get::<_, u32>(4).ok()?;
    matches.then_some(StoredHookRow { hook, name, value })
}

fn crc(kind: &str, hook: &str, name: &str, value: &str) -> u32 {
    checksum::of_row(&[], &[kind.as_bytes(), hook.as_bytes(), name.as_bytes(), value.as_bytes()])
}
