//! Prints a command's answer on stdout, as text or as JSON lines, and messages beside it on stderr.
//!
//! A closed pipe is no error: its reader has read enough.

use std::io::{self, Write as _};

use serde::Serialize;

/// Prints `text` unchanged.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    heard(io::stdout().lock().write_all(text.as_bytes()))
}

/// Prints one line.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    heard(writeln!(io::stdout().lock(), "{text}"))
}

/// Prints one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string(value)?)
}

/// Prints a message for people on stderr.
pub(crate) fn note(text: &str) {
    if let Err(error) = writeln!(io::stderr().lock(), "{text}") {
        tracing::debug!(%error, "nobody reads stderr");
    }
}

fn heard(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
