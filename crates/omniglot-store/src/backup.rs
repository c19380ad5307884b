//! Copies of a log: made while a daemon writes it, put back in its place, and a log without its free pages.
//!
//! The engine knows its files; who may call when is decided here and by the lock of the data directory.

use std::path::{Path, PathBuf};

use crate::data_dir;
use crate::lock::Lock;
use crate::sqlite::backup as files;
use crate::types::StoreError;

/// The outcome of [`restore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub sessions: usize,
    /// The database that was there before.
    pub replaced: Option<PathBuf>,
}

/// Copies the log in `dir` as it is at one moment into the new file `to`; a daemon may go on meanwhile. Blocks.
pub fn backup(dir: &Path, to: &Path) -> Result<(), StoreError> {
    files::backup(dir, to)
}

/// Puts the copy `from` in the place of the log in `dir`, which no daemon may use. What was there is kept beside it.
/// All epochs are new: a cursor of a client may point to what the copy does not have. Blocks.
pub fn restore(dir: &Path, from: &Path) -> Result<Restored, StoreError> {
    data_dir::make(dir)?;
    let _lock = Lock::take(dir)?;
    data_dir::migrate(dir)?;
    files::restore(&data_dir::private(dir), from)
}

/// Gives the free pages of the log in `dir` back to the disk; no daemon may use it. Returns its bytes before and after.
/// Blocks, and needs as much room as the log takes.
pub fn vacuum(dir: &Path) -> Result<(u64, u64), StoreError> {
    data_dir::make(dir)?;
    let _lock = Lock::take(dir)?;
    data_dir::migrate(dir)?;
    files::vacuum(&data_dir::private(dir))
}
