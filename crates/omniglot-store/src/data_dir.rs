//! The layout of a data directory, and the move of an older directory into it.
//!
//! `private/` holds files that no host duty and no file route may reach: database, lock, token, log, settings
//! of agents, records of processes. `shared/` holds files that agents may read. Older versions kept all of
//! them in the directory itself. Each file is moved by one rename under the locks of both layouts, and the
//! older lock goes last, so that a killed move is continued by the next start.

use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::lock::{self, Lock};
use crate::sqlite::DATABASE;
use crate::types::StoreError;

/// Returns the directory of the files that agents and clients never reach through the daemon.
pub fn private(dir: &Path) -> PathBuf {
    dir.join("private")
}

/// Returns the directory of the files that agents may read.
pub fn shared(dir: &Path) -> PathBuf {
    dir.join("shared")
}

/// Returns the path of a private file; the older path while the directory has not been moved.
pub fn private_file(dir: &Path, name: &str) -> PathBuf {
    let (now, before) = (private(dir).join(name), dir.join(name));
    if !now.exists() && before.exists() { before } else { now }
}

/// Makes the directories, closed to other users.
pub(crate) fn make(dir: &Path) -> Result<(), StoreError> {
    for path in [private(dir), shared(dir)] {
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(StoreError::file(&path))?;
    }
    let private = private(dir);
    std::fs::set_permissions(&private, Permissions::from_mode(0o700)).map_err(StoreError::file(&private))
}

/// Moves the files of an older data directory to their places. The caller holds the lock of the directory;
/// [`StoreError::Locked`] while a daemon of an older version runs.
pub(crate) fn migrate(dir: &Path) -> Result<(), StoreError> {
    if !is_older(dir) {
        return Ok(());
    }
    // A daemon of an older version knows this lock only.
    let _older = Lock::take_older(dir)?;
    refuse_duplicates(dir)?;
    for step in STEPS {
        step.run(dir)?;
    }
    for path in [private(dir), shared(dir), dir.to_owned()] {
        File::open(&path).and_then(|opened| opened.sync_all()).map_err(StoreError::file(&path))?;
    }
    let path = dir.join(lock::NAME);
    std::fs::remove_file(&path).map_err(StoreError::file(&path))?;
    tracing::info!("moved the files of {} into its folders private and shared", dir.display());
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Database,
    /// A file or folder, and its new place.
    Rename(&'static str, &'static str),
    /// A log; the one at the new place is replaced, as by a rotation.
    Replace(&'static str, &'static str),
    /// Leaves a link at the old place, which configurations, queued messages and transcripts name.
    Link(&'static str, &'static str),
}

const STEPS: &[Step] = &[
    Step::Database,
    Step::Rename("token", "private/token"),
    Step::Link("token", "private/token"),
    Step::Replace("token.new", "private/token.new"),
    Step::Rename("run", "private/run"),
    Step::Rename("agents", "private/agents"),
    Step::Replace("daemon.log.old", "private/daemon.log.old"),
    // `daemon start` may have begun a new log.
    Step::Replace("daemon.log", "private/daemon.log.old"),
    Step::Rename("mock-agent", "shared/mock-agent"),
    Step::Rename("probe", "shared/probe"),
    Step::Rename("attachments", "shared/attachments"),
    Step::Link("attachments", "shared/attachments"),
];

impl Step {
    fn run(self, dir: &Path) -> Result<(), StoreError> {
        let result = match self {
            Self::Database => return move_database(dir),
            Self::Rename(from, to) | Self::Replace(from, to) if is_there(&dir.join(from)) => {
                std::fs::rename(dir.join(from), dir.join(to))
            }
            Self::Link(from, to) if dir.join(to).exists() && dir.join(from).symlink_metadata().is_err() => {
                std::os::unix::fs::symlink(to, dir.join(from))
            }
            Self::Rename(..) | Self::Replace(..) | Self::Link(..) => Ok(()),
        };
        result.map_err(StoreError::file(dir))
    }

    /// Returns the name in an older directory.
    fn older(self) -> Option<&'static str> {
        match self {
            Self::Database => Some(DATABASE),
            Self::Rename(from, _) | Self::Replace(from, _) => Some(from),
            Self::Link(..) => None,
        }
    }

    /// Returns the new place when it must be free.
    fn target(self, dir: &Path) -> Option<PathBuf> {
        match self {
            Self::Database => Some(private(dir).join(DATABASE)),
            Self::Rename(_, to) => Some(dir.join(to)),
            Self::Replace(..) | Self::Link(..) => None,
        }
    }
}

fn is_older(dir: &Path) -> bool {
    let names = STEPS.iter().filter_map(|step| step.older()).chain([lock::NAME]);
    names.into_iter().any(|name| is_there(&dir.join(name)))
}

/// A link at an old place is ours, or a person's, and stays.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| !found.is_symlink())
}

/// An older version, or a person, may have written files after the move: which ones count is not ours to say.
fn refuse_duplicates(dir: &Path) -> Result<(), StoreError> {
    let twice = STEPS.iter().filter(|step| step.target(dir).is_some_and(|target| target.exists()));
    let names: Vec<_> =
        twice.filter_map(|step| step.older()).filter(|name| is_there(&dir.join(name))).collect();
    if names.is_empty() { Ok(()) } else { Err(StoreError::Duplicate { dir: dir.to_owned(), names }) }
}

/// Renames the database alone. SQLite finds the WAL by the name of the database, so the WAL's content goes
/// into the database first, which succeeds only while no other program has it open.
fn move_database(dir: &Path) -> Result<(), StoreError> {
    let (from, to) = (dir.join(DATABASE), private(dir).join(DATABASE));
    if !is_there(&from) {
        return Ok(());
    }
    let has_side_file = |name: &&str| dir.join(format!("{DATABASE}-{name}")).exists();
    if ["wal", "journal"].iter().any(has_side_file) {
        end_wal(&from).map_err(|cause| match cause.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy) => StoreError::DatabaseOpen(from.clone()),
            _ => StoreError::Unusable { path: from.clone(), cause },
        })?;
    }
    std::fs::rename(&from, to).map_err(StoreError::file(&from))
}

fn end_wal(database: &Path) -> Result<(), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    connection.close().map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests;
