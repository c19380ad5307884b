//! Sessions in agents' own files on disk, converted by an adapter like a recording.
//!
//! The registry lists the agents that have such files, the adapter reads them, and `replay` makes the events.
//! The caller finds and opens the files.

use jiff::Timestamp;

use crate::contract::Output;

/// The readers of an agent's files.
#[derive(Debug, Clone, Copy)]
pub struct History {
    /// Whether a text is such a file, and no recording.
    pub recognises: fn(&str) -> bool,
    pub read: fn(&str) -> Vec<Told>,
    /// The folder of the files that belong to a session's: those of its subagents, below a folder with the
    /// name of the file. Their lines may simply be appended to its own.
    pub beside: &'static str,
}

/// The outputs of one line.
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
    /// A prompt, or an input that no line has and that must have existed.
    Us,
}
