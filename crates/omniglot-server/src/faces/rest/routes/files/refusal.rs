//! Failures with files as problems.

use std::io::{self, ErrorKind};
use std::path::Path;

use http::StatusCode;
use omniglot_runtime::confined::{OpenError, ReplaceError};
use omniglot_runtime::hub::files::{FilePlace, PlaceError, UnpackError};
use omniglot_schema::ErrorType;

use crate::http::problem::Problem;

impl From<PlaceError> for Problem {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Open(error) => error.into(),
            PlaceError::Outside { .. } => Self::new(ErrorType::PermissionDenied, error.to_string())
                .hint("name a session whose directory has it, or add a directory to `roots` under [files] in omniglot.toml"),
            _ => Self::invalid(error.to_string()),
        }
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        let kind = match &error {
            OpenError::Io { path, source } => return io(path, source),
            OpenError::Outside { .. } | OpenError::Private(_) => ErrorType::PermissionDenied,
            OpenError::NotFound(_) => ErrorType::NotFound,
            OpenError::NotAFile(_) | OpenError::NotADirectory(_) => ErrorType::InvalidRequest,
            OpenError::Exists(_) | OpenError::NotEmpty(_) => ErrorType::Conflict,
        };
        let problem = Self::new(kind, error.to_string());
        match error {
            OpenError::Outside { path, root } => {
                Self::new(kind, format!("{} leads out of {}", path.display(), root.display()))
            }
            OpenError::NotEmpty(_) => {
                problem.hint("`recursive=true` deletes a directory with everything in it")
            }
            _ => problem,
        }
    }
}

impl From<ReplaceError> for Problem {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Open(error @ OpenError::NotFound(_)) => {
                Self::from(error).hint("POST /v1/fs/mkdir makes directories")
            }
            ReplaceError::Open(error) => error.into(),
            ReplaceError::Content(error) => Self::invalid(format!("the body broke off: {error}")),
        }
    }
}

pub(super) fn of_archive(error: UnpackError, place: &FilePlace) -> Problem {
    let detail = error.to_string();
    match error {
        UnpackError::Refused(_) => Problem::invalid(detail).hint("nothing was unpacked"),
        UnpackError::TooLarge(_) => Problem::new(ErrorType::TooLarge, detail).hint("nothing was unpacked"),
        UnpackError::Open(error) => error.into(),
        UnpackError::Incomplete { written, cause } => {
            let written: Vec<_> = written.iter().map(|path| super::text(&place.below(path))).collect();
            Problem::from(cause).hint("`written` names what was unpacked").with("written", written)
        }
    }
}

/// A failure of the file system itself.
pub(super) fn io(path: &Path, error: &io::Error) -> Problem {
    let detail = format!("{}: {error}", path.display());
    let kind = match error.kind() {
        ErrorKind::NotFound => ErrorType::NotFound,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ErrorType::PermissionDenied,
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::ResourceBusy => {
            ErrorType::Conflict
        }
        ErrorKind::InvalidInput
        | ErrorKind::InvalidFilename
        | ErrorKind::CrossesDevices
        | ErrorKind::NotADirectory => ErrorType::InvalidRequest,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            return Problem::new(ErrorType::Overloaded, detail)
                .status(StatusCode::INSUFFICIENT_STORAGE)
                .hint("make room on the disk, and try again; nothing was changed");
        }
        _ => {
            tracing::error!(path = %path.display(), %error, "a file");
            ErrorType::Internal
        }
    };
    Problem::new(kind, detail)
}
