//! What the user asked for cannot be done as asked: exit code 2.
//!
//! Everything else that goes wrong is an ordinary error with exit code 1.

use std::error::Error;

/// A mistake that the user can mend: an argument, a path, the configuration.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(String);

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Says what `error` and its causes say.
    pub(crate) fn because(error: impl Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self::new(message)
    }
}
