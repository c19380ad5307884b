//! Flushes the WAL, which makes commits survive the loss of power.
//!
//! SQLite flushes by itself only around a checkpoint, and in the order that keeps this sound: the WAL before
//! the database is written, the database before the WAL is used again from its start. So after a flush of the
//! WAL every commit is on disk in one of the two.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::types::StoreError;

pub(super) struct Wal {
    path: PathBuf,
    file: File,
    /// After a failed flush the kernel marks lost pages as clean, and the next flush would wrongly succeed.
    failed: bool,
}

impl Wal {
    /// Opens the WAL of a database that a connection has open in WAL mode.
    pub(super) fn of(database: &Path) -> io::Result<Self> {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        let path = PathBuf::from(path);
        let file = open(&path)?;
        Ok(Self { path, file, failed: false })
    }

    pub(super) fn sync(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if self.failed {
            rewrite(connection)?;
            self.failed = false;
        }
        // No process should remove the file of a connection; the flush of a removed file proves nothing.
        if self.file.metadata()?.nlink() == 0 {
            self.file = open(&self.path)?;
        }
        self.file.sync_data().map_err(|error| {
            self.failed = true;
            error.into()
        })
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Copies all commits from the WAL into the database file and flushes that.
fn rewrite(connection: &Connection) -> Result<(), StoreError> {
    let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy {
        return Err(io::Error::other("a reader holds up the checkpoint after a failed flush").into());
    }
    Ok(())
}
