//! An agent's requests to the machine that it works on: files and commands of its session's directory, the time,
//! and the questions of its helpers (see [`prepare`](crate::prepare)).
//!
//! Only describes requests and results; the runtime carries them out, inside that directory. An adapter that
//! serves such requests stays pure.

use std::path::PathBuf;
use std::time::Duration;

use crate::exit::Exit;

/// Identifies one request, and a terminal for as long as it exists. Unique within one run of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(pub u64);

/// A request of the agent that the runtime carries out; answered by [`HostOutcome`] with the same key.
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
    /// Answered by [`HostOutcome::Started`]; its output and its end follow.
    StartTerminal(TerminalStart),
    /// Kills the command of the terminal with this key and its children; its end is reported as usual.
    EndTerminal,
    /// Answers the helper that has asked with this key.
    AnswerHelper(String),
    /// Answered by [`HostOutcome::Elapsed`] after this time: an adapter has no clock.
    Timer(Duration),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadFile {
    pub path: PathBuf,
    /// The first line to read, counted from 1.
    pub line: Option<u32>,
    /// The number of lines to read.
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalStart {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: Option<PathBuf>,
}

/// The result of a request, or the progress of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostOutcome {
    Read(Result<String, HostError>),
    Written(Result<(), HostError>),
    Started(Result<(), HostError>),
    Said(TerminalText),
    /// The last message about a terminal; all its output came before.
    Ended(Exit),
    /// A helper asks, in one line, and waits for [`HostRequest::AnswerHelper`]. The runtime chose the key.
    HelperAsked(String),
    /// A helper that has asked waits no more.
    HelperLeft,
    /// The time of a timer is over.
    Elapsed,
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalText {
    pub text: String,
    /// The same text for all receivers but the agent, where secrets had to be hidden.
    pub masked: Option<String>,
}

/// The reason why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    pub kind: HostErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostErrorKind {
    NotFound,
    /// The request is not allowed, or not in this form.
    Refused,
    /// The machine could not carry it out.
    Failed,
}

impl HostError {
    pub fn new(kind: HostErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
