//! Classifies a database error: whether it concerns one change or all, and how a person can fix it.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::types::StoreError;

/// Whether the change itself is at fault, so that a retry would fail again.
pub(super) fn concerns_one_change(error: &StoreError) -> bool {
    let StoreError::Database(error) = error else { return !matches!(error, StoreError::Io(_)) };
    match error.sqlite_error_code() {
        // A damaged page concerns the sessions on it; the others must go on.
        Some(
            ErrorCode::ConstraintViolation
            | ErrorCode::TooBig
            | ErrorCode::TypeMismatch
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::ParameterOutOfRange,
        ) => true,
        Some(_) => false,
        None => matches!(error, Error::ToSqlConversionFailure(_) | Error::IntegralValueOutOfRange(..)),
    }
}

/// Whether something in the database may be damaged: neither the disk nor another program is in the way.
pub(super) fn may_be_damage(error: &StoreError) -> bool {
    let StoreError::Database(error) = error else { return false };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation | ErrorCode::Unknown)
    )
}

pub(super) fn explain(error: &StoreError, dir: &Path, limit: Option<u64>) -> String {
    let dir = dir.display();
    let code = match error {
        StoreError::Database(error) => error.sqlite_error_code(),
        _ => None,
    };
    let help = match (code, limit) {
        (Some(ErrorCode::DiskFull), Some(limit)) if !disk_is_full(&dir.to_string()) => {
            format!(
                "the event log has reached its limit of {limit} bytes; raise the limit or delete sessions"
            )
        }
        (Some(ErrorCode::DiskFull), _) => format!("the disk of {dir} is full; free some space"),
        (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => {
            format!("another program holds the database in {dir}; end it")
        }
        (Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen), _) => {
            format!("the database in {dir} cannot be written; make the directory and its files writable")
        }
        _ => format!("the event log in {dir} cannot be written ({}); check the disk", cause(error)),
    };
    format!("{help}; nothing is lost, writing goes on by itself")
}

/// Adds the path of the database that could not be opened.
pub(super) fn on_opening(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Database(cause) => StoreError::Unusable { path: path.to_owned(), cause },
        other => other,
    }
}

fn cause(error: &StoreError) -> String {
    match error {
        StoreError::Database(error) => error.to_string(),
        StoreError::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

fn disk_is_full(dir: &str) -> bool {
    const LITTLE: u64 = 1 << 20;
    rustix::fs::statvfs(dir).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < LITTLE)
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn database(code: i32) -> StoreError {
        StoreError::Database(Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn a_full_disk_concerns_all_and_a_broken_rule_one() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR, ffi::SQLITE_BUSY, ffi::SQLITE_READONLY] {
            assert!(!concerns_one_change(&database(code)), "{code}");
        }
        for code in [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CORRUPT, ffi::SQLITE_TOOBIG] {
            assert!(concerns_one_change(&database(code)), "{code}");
        }
    }

    #[test]
    fn an_explanation_says_what_to_do() {
        let full = explain(&database(ffi::SQLITE_FULL), Path::new("/data"), None);
        assert_eq!(
            full,
            "the disk of /data is full; free some space; nothing is lost, writing goes on by itself"
        );
        let limit = explain(&database(ffi::SQLITE_FULL), Path::new("/"), Some(4096));
        assert!(limit.contains("limit of 4096 bytes; raise the limit or delete sessions"), "{limit}");
    }
}
