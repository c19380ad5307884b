//! The contract of an adapter: what can happen to it, and what it may ask of the world.
//!
//! Deliberately without clocks, tasks and sockets: the runtime owns those. A recording replays
//! through the same functions as a live agent.

mod command;
mod link;
mod output;

use omniglot_schema::StderrOutput;
pub use omniglot_timeline::{Draft, DropReason, RequestKey, Unparsed};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::host::{HostKey, HostOutcome};
pub use command::{
    Attachment, Carryover, Command, FileContent, ForkPoint, Open, Prompt, SessionSkills, SettingsPreview,
    SettingsRequest,
};
pub use link::{Handshake, Link, Route, SlotId};
pub use output::{CommandAnswer, Mark, Orphans, Output, Refusal, RefusalKind, StreamOutput, TransportOutput};

/// Everything that can happen to a translator: a closed set.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// A process was started for this session.
    Started {
        argv: &'a [String],
        carryover: &'a Carryover,
    },
    /// One whole message the agent wrote.
    Frame(&'a RawValue),
    /// One whole message that really went to the agent. Request ids are learnt here, and drafts caused
    /// by a command are made here, so that a capture replays like a live run.
    Sent(&'a RawValue),
    /// A line on stdout that is not JSON, or is over the limit: what there is of it.
    Garbage {
        line: &'a [u8],
        fault: LineFault,
    },
    Command(&'a Command),
    /// The outcome of a [`TransportOutput::Host`]. A recording has none: there the answer itself was sent.
    Host {
        key: HostKey,
        outcome: &'a HostOutcome,
    },
    /// The process is gone.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
        stderr: &'a StderrOutput,
    },
}

/// The reason why a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFault {
    NotJson,
    NotUtf8,
    /// Longer than the limit; only its head was kept, this is its whole length.
    TooLong(u64),
}

/// Turns one session's traffic into drafts, and commands into that agent's traffic.
///
/// Reads no clock, opens nothing, spawns nothing: equal inputs give equal outputs, so a recorded
/// session replays exactly. Every [`Input::Frame`] pushes at least one output.
pub trait Translator: Send {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>);

    /// Whether the agent tends something that goes on between turns, and that would end with its process.
    fn tends_background(&self) -> bool {
        false
    }
}

/// Decodes the body of a message whose kind is known; the error names kind and field.
pub fn decode<'a, T: Deserialize<'a>>(kind: &str, frame: &'a RawValue) -> Result<T, Unparsed> {
    serde_json::from_str(frame.get()).map_err(|error| Unparsed {
        error: error.to_string(),
        location: kind.to_owned(),
        raw_hash: None,
    })
}
