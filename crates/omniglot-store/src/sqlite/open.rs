//! Opens the database: files, pragmas, version, and the marks of the last start and clean end.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};

use super::rows::int;
use super::session_row::{Extent, SessionRow};
use super::{checksum, commits, schema};
use crate::types::{SessionNo, StoreError};

/// Pages of WAL between checkpoints. Each costs two flushes, so many small ones would halve the speed
/// of a flood; 32 MiB are replayed within a moment after a crash.
const CHECKPOINT_PAGES: i64 = 8000;
const PAGE_BYTES: i64 = 4096;
/// SQLite's largest page number.
const MAX_PAGES: i64 = 0xffff_fffe;

pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    make_private(path).map_err(StoreError::file(path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    // Another program may read the database; it may delay this process, but not for long.
    connection.busy_timeout(Duration::from_secs(1))?;
    schema::check_version(&connection)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", 2 * CHECKPOINT_PAGES * PAGE_BYTES)?;
    connection.pragma_update(None, "cache_size", -8000)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(32);
    schema::migrate(&mut connection)?;
    Ok(connection)
}

/// SQLite would follow the umask; its side files copy the mode of this one.
fn make_private(path: &Path) -> io::Result<()> {
    // A file that exists is not opened: closing it would drop the locks that SQLite holds in this process.
    match OpenOptions::new().create_new(true).write(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => std::fs::set_permissions(path, Permissions::from_mode(0o600)),
    }
}

/// Renews all epochs if the machine may have lost committed events since the last start.
///
/// A crash of this program alone loses no events: the kernel still has the written pages. Only a machine that
/// went down before a clean end may have lost some; an unknown boot id counts as another boot.
pub(super) fn note_start(connection: &mut Connection, boot_id: Option<&str>) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    let before = meta(&transaction, "boot_id")?.and_then(Meta::whole);
    let clean = meta(&transaction, "clean")?.is_none_or(|clean| clean.whole().as_deref() == Some("1"));
    let lost = !clean && (boot_id.is_none() || before.as_deref() != boot_id);
    if lost {
        let renewed = renew_epochs(&transaction)?;
        tracing::warn!(sessions = renewed, "the machine went down uncleanly: old cursors are refused");
    }
    commits::begin(&transaction, lost)?;
    set_meta(&transaction, "boot_id", boot_id.unwrap_or_default())?;
    set_meta(&transaction, "clean", "0")?;
    Ok(transaction.commit()?)
}

/// Damaged rows stay as they are: they are refused anyway, and a new checksum must not make them valid.
pub(super) fn renew_epochs(connection: &Connection) -> Result<usize, StoreError> {
    let mut statement = connection.prepare("SELECT no, lower(hex(randomblob(8))) FROM sessions")?;
    let fresh = statement.query_map([], |row| Ok((SessionNo(row.get(0)?), row.get(1)?)))?;
    let fresh: Vec<(SessionNo, String)> = fresh.collect::<Result<_, _>>()?;
    let mut renewed = 0;
    for (session, epoch) in fresh {
        match SessionRow::load(connection, session) {
            Ok(mut row) => {
                row.record.epoch = epoch;
                row.save(connection, Extent::All)?;
                renewed += 1;
            }
            Err(StoreError::DamagedSession { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(renewed)
}

pub(super) fn note_clean_end(connection: &Connection) -> Result<(), StoreError> {
    set_meta(connection, "clean", "1")
}

pub(super) fn set_limit(connection: &Connection, max_bytes: Option<u64>) -> Result<(), StoreError> {
    let max_bytes = max_bytes.map_or(i64::MAX, int);
    let pages = (max_bytes / PAGE_BYTES).clamp(1, MAX_PAGES);
    // This pragma answers with a row when it is set, which `pragma_update` accepts.
    Ok(connection.pragma_update(None, "max_page_count", pages)?)
}

/// A value of the table `meta`.
pub(super) enum Meta {
    Whole(String),
    Damaged,
}

impl Meta {
    /// Reads the columns key, value, crc.
    pub(super) fn parse(row: &Row<'_>) -> Self {
        let parse = || {
            let (key, value): (String, String) = (row.get(0).ok()?, row.get(1).ok()?);
            (of_meta(&key, &value) == row.get::<_, u32>(2).ok()?).then_some(value)
        };
        parse().map_or(Self::Damaged, Self::Whole)
    }

    pub(super) fn whole(self) -> Option<String> {
        match self {
            Self::Whole(value) => Some(value),
            Self::Damaged => {
                tracing::error!("a row of the table meta is damaged; taking the last end for an unclean one");
                None
            }
        }
    }
}

pub(super) fn meta(connection: &Connection, key: &str) -> Result<Option<Meta>, StoreError> {
    let sql = "SELECT key, value, crc FROM meta WHERE key = ?1";
    Ok(connection.query_row(sql, [key], |row| Ok(Meta::parse(row))).optional()?)
}

pub(super) fn set_meta(connection: &Connection, key: &str, value: &str) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO meta (key, value, crc) VALUES (?1, ?2, ?3)";
    connection.execute(sql, params![key, value, of_meta(key, value)])?;
    Ok(())
}

fn of_meta(key: &str, value: &str) -> u32 {
    checksum::of_row(&[], &[key.as_bytes(), value.as_bytes()])
}
