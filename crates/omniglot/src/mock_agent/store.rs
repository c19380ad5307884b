//! Keeps session records: in memory, or one JSON file per session in the state directory.
//!
//! Several agent processes may share a directory: numbers are reserved by creating the file exclusively, and
//! every write replaces a whole file. `session` defines the content of a record.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::SessionId;
use tempfile::NamedTempFile;

use super::session::Record;

#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("cannot use {path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} is damaged: {source}")]
    Damaged { path: PathBuf, source: serde_json::Error },
}

pub(super) enum Store {
    Memory(BTreeMap<u64, Record>),
    Files(PathBuf),
}

impl Store {
    pub(super) fn open(state_dir: Option<&Path>) -> Result<Self, StoreError> {
        let Some(dir) = state_dir else { return Ok(Self::Memory(BTreeMap::new())) };
        std::fs::create_dir_all(dir).map_err(|source| StoreError::Io { path: dir.into(), source })?;
        Ok(Self::Files(dir.into()))
    }

    /// Creates a record under the next free number.
    pub(super) fn create(&mut self, cwd: PathBuf) -> Result<Record, StoreError> {
        self.add(Record::new(session_id(1), cwd))
    }

    /// Stores a record under the next free number, which becomes its own.
    pub(super) fn add(&mut self, mut record: Record) -> Result<Record, StoreError> {
        let mut number = self.numbers()?.last().map_or(1, |last| last + 1);
        loop {
            record.id = session_id(number);
            if self.take(number, &record)? {
                return Ok(record);
            }
            number += 1;
        }
    }

    fn take(&mut self, number: u64, record: &Record) -> Result<bool, StoreError> {
        match self {
            Self::Memory(records) => {
                records.insert(number, record.clone());
                Ok(true)
            }
            Self::Files(dir) => {
                let path = file(dir, number);
                match temporary(dir, record)?.persist_noclobber(&path) {
                    Ok(_) => Ok(true),
                    Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
                    Err(error) => Err(StoreError::Io { path, source: error.error }),
                }
            }
        }
    }

    pub(super) fn save(&mut self, record: &Record) -> Result<(), StoreError> {
        let Some(number) = number_of(&record.id.0) else { return Ok(()) };
        match self {
            Self::Memory(records) => {
                records.insert(number, record.clone());
                Ok(())
            }
            Self::Files(dir) => {
                let path = file(dir, number);
                let written = temporary(dir, record)?.persist(&path);
                written.map(drop).map_err(|error| StoreError::Io { path, source: error.error })
            }
        }
    }

    /// Returns the record of that name, if there is one.
    pub(super) fn find(&self, id: &SessionId) -> Result<Option<Record>, StoreError> {
        number_of(&id.0).map_or(Ok(None), |number| self.read(number))
    }

    /// Returns all readable records, newest first. A damaged one is reported when it is loaded.
    pub(super) fn all(&self) -> Result<Vec<Record>, StoreError> {
        let numbers = self.numbers()?.into_iter().rev();
        let records = numbers.filter_map(|number| match self.read(number) {
            Err(StoreError::Damaged { .. }) => None,
            read => read.transpose(),
        });
        records.collect()
    }

    fn read(&self, number: u64) -> Result<Option<Record>, StoreError> {
        let path = match self {
            Self::Memory(records) => return Ok(records.get(&number).cloned()),
            Self::Files(dir) => file(dir, number),
        };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|source| StoreError::Damaged { path, source }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    fn numbers(&self) -> Result<Vec<u64>, StoreError> {
        let dir = match self {
            Self::Memory(records) => return Ok(records.keys().copied().collect()),
            Self::Files(dir) => dir,
        };
        let failed = |source| StoreError::Io { path: dir.clone(), source };
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            numbers.extend(name.to_str().and_then(|name| number_of(name.strip_suffix(".json")?)));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

fn temporary(dir: &Path, record: &Record) -> Result<NamedTempFile, StoreError> {
    let failed = |source| StoreError::Io { path: dir.into(), source };
    let mut temporary = NamedTempFile::new_in(dir).map_err(failed)?;
    let json = serde_json::to_vec(record)
        .map_err(|source| StoreError::Damaged { path: dir.join(&*record.id.0), source })?;
    temporary.write_all(&json).map_err(failed)?;
    Ok(temporary)
}

fn session_id(number: u64) -> SessionId {
    SessionId::new(format!("mock-{number}"))
}

/// Accepts only names that we could have given, so that no name leads out of the directory.
fn number_of(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("mock-")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    plain.then(|| digits.parse().ok()).flatten()
}

fn file(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("mock-{number}.json"))
}
