//! The errors of processes that clients run.

use omniglot_schema::ErrorType;

/// A refused command to a process, or to start one: nothing was changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProcessError {
    #[error(
        "processes are disabled; set `enabled = true` under [processes] in omniglot.toml and restart the daemon"
    )]
    Disabled,
    #[error("{0}")]
    Invalid(String),
    #[error("no process {0}")]
    NotFound(String),
    #[error("process {0} is still running")]
    Running(String),
    #[error("process {0} has exited")]
    Exited(String),
    #[error("process {0} reads no more input")]
    InputClosed(String),
    #[error("process {0} has no terminal")]
    NoTerminal(String),
    #[error("the input has {found} bytes; the limit is {limit}")]
    InputTooLarge { found: u64, limit: u64 },
    #[error("process {0} does not read its input")]
    InputFull(String),
    #[error("{0} processes are running, which is the limit")]
    TooMany(u64),
    #[error("the process was not started: {0}")]
    Failed(String),
}

impl ProcessError {
    pub fn kind(&self) -> ErrorType {
        match self {
            Self::Disabled => ErrorType::PermissionDenied,
            Self::Invalid(_) => ErrorType::InvalidRequest,
            Self::NotFound(_) => ErrorType::NotFound,
            Self::Running(_) | Self::Exited(_) | Self::InputClosed(_) | Self::NoTerminal(_) => {
                ErrorType::Conflict
            }
            Self::InputTooLarge { .. } => ErrorType::TooLarge,
            Self::InputFull(_) | Self::TooMany(_) => ErrorType::Overloaded,
            Self::Failed(_) => ErrorType::StreamError,
        }
    }

    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Running(_) => Some("stop or kill it first"),
            Self::NoTerminal(_) => Some("start it with `tty: true`"),
            Self::InputTooLarge { .. } => Some("send it in pieces"),
            Self::InputFull(_) => Some("send it again when the process has read what waits"),
            Self::TooMany(_) => Some("wait for some to exit, or raise `maxConcurrentProcesses`"),
            _ => None,
        }
    }
}
