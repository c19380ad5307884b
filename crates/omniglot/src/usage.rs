//! Errors of usage: the request of the user cannot be carried out as given; exit code 2.
//!
//! Every other failure is an ordinary error with exit code 1.

use std::error::Error;

/// A mistake that the user can correct: an argument, a path, the configuration.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(String);

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Joins the messages of `error` and its causes.
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
