//! What an agent may ask of the machine that it works on: files and commands of its session's directory.
//!
//! Says what is wanted and what came of it; carrying it out, and keeping it inside that directory, is the
//! runtime's. An adapter that serves such requests stays as pure as before.

use std::path::PathBuf;

use crate::exit::Exit;

/// Names one request, and a terminal for as long as it lives. Unique within one run of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(pub u64);

/// A request of the agent that the runtime carries out; answered by [`HostNews`] with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAsk {
    pub key: HostKey,
    pub request: HostRequest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRequest {
    ReadFile(ReadFile),
    WriteFile {
        path: PathBuf,
        content: String,
    },
    /// Answered by [`HostNews::Started`]; its output and its end follow.
    StartTerminal(TerminalStart),
    /// Ends the command of the terminal with this key and all that it started; its end is told as ever.
    EndTerminal,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadFile {
    pub path: PathBuf,
    /// The first line that is wanted, counted from 1.
    pub line: Option<u32>,
    /// How many lines are wanted.
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalStart {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: Option<PathBuf>,
}

/// What came of a request, or goes on in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostNews {
    Read(Result<String, HostError>),
    Written(Result<(), HostError>),
    Started(Result<(), HostError>),
    Said(TerminalText),
    /// The last word about a terminal; all its output came before.
    Ended(Exit),
}

/// What a command wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalText {
    pub text: String,
    /// The same for everybody but the agent, where secrets had to be hidden.
    pub masked: Option<String>,
}

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    pub kind: HostErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostErrorKind {
    NotFound,
    /// It may not be done, or not like this.
    Refused,
    /// The machine could not do it.
    Failed,
}

impl HostError {
    pub fn new(kind: HostErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
