//! Sessions as agents keep them on disk: what an adapter makes of one, told like a recording.
//!
//! Which agents have such files says the registry, how they are read says the adapter, and `replay` makes the
//! events. Finding and reading files is left to the caller.

use jiff::Timestamp;

use crate::contract::Output;

/// How the files of an agent are read.
#[derive(Debug, Clone, Copy)]
pub struct History {
    /// Whether a text is such a file, and no recording.
    pub recognises: fn(&str) -> bool,
    pub read: fn(&str) -> Vec<Told>,
    /// The folder of the files that belong to a session's: those of its subagents, below a folder with the name
    /// of the file. Their lines may simply be added to its own.
    pub beside: &'static str,
}

/// What one line says.
#[derive(Debug)]
pub struct Told {
    /// Counted from 1.
    pub line: usize,
    pub at: Timestamp,
    pub source: Source,
    pub outputs: Vec<Output>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Agent,
    /// A prompt, or something that no line says and that must have been.
    Us,
}
