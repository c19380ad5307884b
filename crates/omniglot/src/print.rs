//! What a command answers: on stdout, as text or as JSON lines; words beside it on stderr.
//!
//! A reader that has left is no error: whoever closes the pipe has seen enough.

use std::io::{self, Write as _};

use serde::Serialize;

/// `text` as it is.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    heard(io::stdout().lock().write_all(text.as_bytes()))
}

/// One line.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    heard(writeln!(io::stdout().lock(), "{text}"))
}

/// One line of JSON.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string(value)?)
}

/// A line for the person beside the answer.
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
