//! Amp, through the JSON lines of its execute mode.
//!
//! Transport: one process for each turn. The prompt goes in as one line and stdin is closed; lines with whole
//! messages come out, at last a `result`. The next process continues the thread, which Amp's server keeps.
//! Version recorded: 0.0.1790142911; `tests/captures.rs` replays it.
//!
//! Amp asks nobody. Our settings make it start `omniglot-amp-delegate` before every tool (`settings_file`), and the
//! delegate asks us (`permissions`). There are no partial messages, no message ids, and no cancel but SIGINT.

mod adapter;
mod command;
pub mod delegate;
mod failure;
mod launch;
mod mcp;
mod open;
mod outgoing;
mod permissions;
mod settings;
mod settings_file;
mod tool;
mod tool_kinds;
mod translate;
mod turn;
mod wire;

#[cfg(test)]
mod tests;

use omniglot_schema::{StatePatch, StatusLabel, StderrOutput};
use omniglot_timeline::Body;

pub use adapter::ADAPTER;

use crate::contract::{Input, Output, Translator};
use crate::conversation::items::{ItemCounter, dropped, tell_state};
use crate::fault::garbage;
use open::Session;
use permissions::Requests;
use tool::Tools;
use turn::Turns;

/// One process of Amp. It remembers for a turn.
#[derive(Debug, Default)]
pub struct Amp {
    session: Session,
    turns: Turns,
    tools: Tools,
    requests: Requests,
    notes: ItemCounter,
}

impl Amp {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self, patch: StatePatch, out: &mut Vec<Output>) {
        tell_state(patch, out);
    }

    fn status(&mut self, label: StatusLabel, detail: impl Into<String>, out: &mut Vec<Output>) {
        self.note(Body::Status { label, detail: Some(detail.into()) }, out);
    }

    /// An item that is complete from the start.
    fn note(&mut self, body: Body, out: &mut Vec<Output>) {
        self.notes.note(body, self.turns.is_running(), out);
    }

    fn exited(&mut self, code: Option<i32>, stderr: &StderrOutput, out: &mut Vec<Output>) {
        self.ended_without_result(code, stderr, out);
        *self = Self::default();
    }
}

impl Translator for Amp {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        match input {
            Input::Started { argv, .. } => self.started(argv, out),
            Input::Frame(frame) => self.frame(frame, out),
            Input::Sent(frame) => self.sent(frame, out),
            Input::Garbage { line, fault } => out.push(garbage(line, fault)),
            Input::Command(command) => self.command(command, out),
            Input::Host { key, outcome } => self.host_outcome(key, outcome, out),
            Input::Exited { code, stderr, .. } => self.exited(code, stderr, out),
        }
    }
}
