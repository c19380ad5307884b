//! The tables, as a list of migrations; the database's `user_version` counts the applied ones.
//!
//! A migration that was released is never edited, only followed by another.

use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};

use super::{blobs, commits, directory_config, hooks, pending_deletes, retention, search, tokens};
use crate::types::StoreError;

/// Small columns stand before large ones: reading or overwriting them does not touch overflow pages.
const FIRST: &str = "
CREATE TABLE sessions (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    uuid TEXT NOT NULL,
    epoch TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    open_from INTEGER,
    last_seq INTEGER NOT NULL,
    last_frame INTEGER NOT NULL,
    packed_frame INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    fold TEXT NOT NULL,
    request TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_open ON sessions (no) WHERE open_from IS NOT NULL;

CREATE TABLE events (
    session_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    time INTEGER NOT NULL,
    payload TEXT NOT NULL,
    frame_no INTEGER,
    crc INTEGER NOT NULL,
    PRIMARY KEY (session_no, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE frames (
    session_no INTEGER NOT NULL,
    first_no INTEGER NOT NULL,
    count INTEGER NOT NULL,
    data BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (session_no, first_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE queue (
    session_no INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    body TEXT NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (session_no, position),
    UNIQUE (session_no, message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE receipts (
    session_no INTEGER NOT NULL,
    key TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    answer TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (session_no, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_age ON receipts (created_ms);

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    crc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

const ALL: &[M<'static>] = &[
    M::up(FIRST),
    M::up(blobs::TABLE),
    M::up(retention::TABLES),
    M::up(pending_deletes::TABLE),
    M::up(tokens::TABLES),
    M::up(commits::TABLE),
    M::up(directory_config::TABLE),
    M::up(search::TABLES),
    M::up(hooks::TABLE),
];

/// Refuses a database that a newer program has migrated, before anything is written to it.
pub(super) fn check_version(connection: &Connection) -> Result<(), StoreError> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = ALL.len() as i64;
    if found > known { Err(StoreError::TooNew { found, known }) } else { Ok(()) }
}

pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    Ok(Migrations::from_slice(ALL).to_latest(connection)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_migrations_run() {
        Migrations::from_slice(ALL).validate().unwrap();
    }

    #[test]
    fn finding_unfinished_sessions_scans_no_events() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {}", super::super::sessions::unfinished_sql());
        let mut statement = connection.prepare(&sql).unwrap();
        let plan: Vec<String> =
            statement.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let plan = plan.join("\n");
        assert!(plan.contains("sessions_open"), "{plan}");
        assert!(!plan.contains("events"), "{plan}");
    }
}
