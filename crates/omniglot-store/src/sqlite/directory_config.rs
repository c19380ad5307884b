//! The rows of what is configured for directories. The store does not know what the values mean.

use rusqlite::{Connection, Row, Transaction, params};

use super::checksum;
use crate::engine::Done;
use crate::types::{ConfigKey, StoreError};

pub(super) const TABLE: &str = "
CREATE TABLE directory_config (
    directory TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (directory, kind, name)
) STRICT, WITHOUT ROWID;
";

/// Writes the value, or removes the row when there is none.
pub(super) fn put(
    transaction: &Transaction<'_>,
    ConfigKey { directory, kind, name }: &ConfigKey,
    value: Option<&str>,
) -> Result<Done, StoreError> {
    match value {
        Some(value) => {
            let crc = crc(directory, kind, name, value);
            let sql = "INSERT OR REPLACE INTO directory_config (directory, kind, name, value, crc) \
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.execute(sql, params![directory, kind, name, value, crc])?;
        }
        None => {
            let sql = "DELETE FROM directory_config WHERE directory = ?1 AND kind = ?2 AND name = ?3";
            transaction.execute(sql, params![directory, kind, name])?;
        }
    }
    Ok(Done::Written)
}

/// Returns the names and values of a directory, by name. A damaged row is left out.
pub(super) fn list(
    connection: &Connection,
    directory: &str,
    kind: &str,
) -> Result<Vec<(String, String)>, StoreError> {
    let sql = "SELECT directory, kind, name, value, crc FROM directory_config \
               WHERE directory = ?1 AND kind = ?2 ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![directory, kind])?;
    let mut entries = vec![];
    while let Some(row) = rows.next()? {
        match entry(row) {
            Some(entry) => entries.push(entry),
            None => tracing::error!(directory, kind, "a row of what is configured for it is damaged"),
        }
    }
    Ok(entries)
}

/// Reads the columns directory, kind, name, value, crc; `None` when the checksum does not match the row.
pub(super) fn entry(row: &Row<'_>) -> Option<(String, String)> {
    let text = |column| row.get::<_, String>(column).ok();
    let (directory, kind, name, value) = (text(0)?, text(1)?, text(2)?, text(3)?);
    let matches = crc(&directory, &kind, &name, &value) == row.get::<_, u32>(4).ok()?;
    matches.then_some((name, value))
}

fn crc(directory: &str, kind: &str, name: &str, value: &str) -> u32 {
    checksum::of_row(&[], &[directory.as_bytes(), kind.as_bytes(), name.as_bytes(), value.as_bytes()])
}
