//! Blobs: bytes that events name by their path. Written with the events, removed with the session.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::checksum;
use crate::types::{Blob, SessionNo, StoreError};

/// A table with rowids: rows of megabytes would make the tree of a table without them deep and slow.
pub(super) const TABLE: &str = "
CREATE TABLE blobs (
    session_no INTEGER NOT NULL,
    name TEXT NOT NULL,
    mime TEXT NOT NULL,
    crc INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (session_no, name)
) STRICT;
";

/// Names are derived from the content, so a blob that exists already is the same.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    session: SessionNo,
    blobs: &[Blob],
) -> Result<(), StoreError> {
    for Blob { name, mime, bytes } in blobs {
        let crc = of_blob(session, name, mime, bytes);
        let sql = "INSERT OR IGNORE INTO blobs (session_no, name, mime, crc, bytes)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        transaction.prepare_cached(sql)?.execute(params![session.0, name, mime, crc, &bytes[..]])?;
    }
    Ok(())
}

pub(super) fn read(
    connection: &Connection,
    session: SessionNo,
    name: &str,
) -> Result<Option<Blob>, StoreError> {
    let sql = "SELECT name, mime, bytes, crc FROM blobs WHERE session_no = ?1 AND name = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![session.0, name], |row| Ok(blob(row, session))).optional()?;
    let Some(found) = found else { return Ok(None) };
    found.map(Some).ok_or_else(|| StoreError::DamagedBlob { name: name.to_owned() })
}

/// Reads the columns name, mime, bytes, crc; `None` when the checksum does not match the row.
pub(super) fn blob(row: &Row<'_>, session: SessionNo) -> Option<Blob> {
    let (name, mime, bytes): (String, String, Vec<u8>) =
        (row.get(0).ok()?, row.get(1).ok()?, row.get(2).ok()?);
    let crc = of_blob(session, &name, &mime, &bytes);
    (crc == row.get::<_, u32>(3).ok()?).then(|| Blob { name, mime, bytes: Bytes::from(bytes) })
}

fn of_blob(session: SessionNo, name: &str, mime: &str, bytes: &[u8]) -> u32 {
    checksum::of_row(&[session.0], &[name.as_bytes(), mime.as_bytes(), bytes])
}
