//! Connections for reading, kept for reuse. The caller limits how many are used at a time.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::types::StoreError;

const KEPT: usize = 4;

pub(super) struct Pool {
    path: PathBuf,
    /// `None` once closed.
    idle: Mutex<Option<Vec<Connection>>>,
}

impl Pool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::new(Some(Vec::new())) }
    }

    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle().as_mut().ok_or(StoreError::Closed)?.pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let result = work(&mut connection);
        if let Some(idle) = self.idle().as_mut()
            && idle.len() < KEPT
        {
            idle.push(connection);
        }
        result
    }

    pub(super) fn close(&self) {
        self.idle().take();
    }

    fn idle(&self) -> MutexGuard<'_, Option<Vec<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(Duration::from_secs(1))?;
        Ok(connection)
    }
}
