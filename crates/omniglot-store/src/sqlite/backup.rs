//! Copies of the database file. A copy is complete or not there: it gets its name when it is on disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{DATABASE, commits, open, schema};
use crate::backup::Restored;
use crate::data_dir::private_file;
use crate::types::StoreError;

pub(crate) fn backup(dir: &Path, to: &Path) -> Result<(), StoreError> {
    let source = readable(&private_file(dir, DATABASE))?;
    copy(&source, to)
}

pub(crate) fn restore(private: &Path, from: &Path) -> Result<Restored, StoreError> {
    let (new, place) = (private.join("omniglot.db.restored"), private.join(DATABASE));
    remove(&new)?;
    let source = readable(from)?;
    copy(&source, &new)?;
    drop(source);
    let sessions = renew(&new)?;
    let replaced = put_aside(&place)?;
    std::fs::rename(&new, &place).map_err(StoreError::file(&place))?;
    sync_folder(&place)?;
    Ok(Restored { sessions, replaced })
}

pub(crate) fn vacuum(private: &Path) -> Result<(u64, u64), StoreError> {
    let path = private.join(DATABASE);
    let before = size(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    schema::check_version(&connection)?;
    connection.execute_batch("VACUUM")?;
    checkpoint(&connection)?;
    drop(connection);
    Ok((before, size(&path)?))
}

/// Opens a database of ours to be read.
fn readable(path: &Path) -> Result<Connection, StoreError> {
    // SQLite tells less of a file that is not there.
    File::open(path).map_err(StoreError::file(path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    schema::check_version(&connection)?;
    // Fails for a database that is none of ours.
    connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// Copies the whole database as one transaction sees it.
fn copy(source: &Connection, to: &Path) -> Result<(), StoreError> {
    let part = beside(to, ".part");
    remove(&part)?;
    let failed = |error| StoreError::file(to)(error);
    // SQLite would follow the umask.
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(&part).map_err(failed)?;
    let name = part.to_str().ok_or_else(|| failed(io::Error::other("the path is not UTF-8")))?;
    let finish = || -> Result<(), StoreError> {
        source.execute("VACUUM INTO ?1", [name])?;
        // Unlike a rename, a link replaces nothing.
        let linked = File::open(&part).and_then(|copy| copy.sync_all());
        linked.and_then(|()| std::fs::hard_link(&part, to)).map_err(failed)
    };
    let finished = finish();
    remove(&part)?;
    finished?;
    sync_folder(to)
}

/// Brings a copy to our version and gives everything in it a new epoch. Returns how many sessions it has.
fn renew(path: &Path) -> Result<usize, StoreError> {
    let mut connection = open::writer(path)?;
    let transaction = connection.transaction()?;
    let sessions = open::renew_epochs(&transaction)?;
    commits::begin(&transaction, true)?;
    open::note_clean_end(&transaction)?;
    transaction.commit()?;
    checkpoint(&connection)?;
    Ok(sessions)
}

fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

/// Renames a database and what belongs to it; the damaged one is for people to look at.
fn put_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    let aside = beside(path, &format!(".replaced-{}", jiff::Timestamp::now().as_second()));
    for suffix in ["-wal", "-shm", ""] {
        let (from, to) = (beside(path, suffix), beside(&aside, suffix));
        match std::fs::rename(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::file(&from)(error));
            }
            _ => {}
        }
    }
    Ok(Some(aside))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-shm", ""] {
        let file = beside(path, suffix);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::file(&file)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn size(path: &Path) -> Result<u64, StoreError> {
    Ok(std::fs::metadata(path).map_err(StoreError::file(path))?.len())
}

/// A new name is worth nothing while its directory entry is not on disk.
fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(StoreError::file(folder))
}
