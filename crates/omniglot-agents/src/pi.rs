//! Pi, through its RPC mode.
//!
//! Transport: one JSON object per line both ways; commands with an id go in, answers, events and dialogs come out.
//! One process per session. Versions recorded: 0.73.1 and 1.5.0; `tests/captures.rs` replays them.
//!
//! Pi has no permissions. Our extension (`gate.ts`) asks before every tool that may change something, and this
//! adapter answers by the permission mode, or asks a person. It registers the session's MCP servers, too (`mcp`). Newer versions say `agent_settled` when a turn is
//! over; for older ones `turn` finds the end.

mod adapter;
mod command;
mod diff;
mod failure;
mod launch;
mod mcp;
mod open;
mod outgoing;
mod permissions;
mod questions;
mod requests;
mod settings;
mod text;
mod tool;
mod tool_kinds;
mod translate;
mod turn;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

use omniglot_schema::{StatePatch, StatusLabel, StderrOutput};
use omniglot_timeline::Body;

pub use adapter::ADAPTER;

use crate::contract::{Carryover, Input, Output, Translator};
use crate::conversation::items::{ItemCounter, dropped, tell_state};
use crate::conversation::requests::OutboundRequests;
use crate::fault::garbage;
use open::Session;
use outgoing::{Outgoing, Sent};
use requests::Requests;
use settings::{Settings, SettingsChange};
use text::Blocks;
use tool::Tools;
use turn::Turns;

/// The prompt that makes Pi compact its context.
const COMPACT: &str = "/compact";

/// One session with Pi. It remembers as long as its process lives.
#[derive(Debug, Default)]
pub struct Pi {
    /// Our commands; dialogs of Pi are in `requests`.
    commands: OutboundRequests<String, Outgoing>,
    session: Session,
    settings: Settings,
    configuring: Option<SettingsChange>,
    turns: Turns,
    blocks: Blocks,
    tools: Tools,
    requests: Requests,
    /// How many timers were set.
    timers: u64,
    /// The cost of the session, over all its processes.
    spent: f64,
    /// The status and system items.
    notes: ItemCounter,
}

impl Pi {
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
        self.notes.note(body, true, out);
    }

    /// Sends a command, and returns its id.
    fn send(&mut self, body: Outgoing, out: &mut Vec<Output>) -> String {
        let id = self.commands.next_id();
        send(&Sent { id: Some(id.clone()), body }, out);
        id
    }

    fn started(&mut self, argv: &[String], carryover: &Carryover) {
        self.spent = carryover.cost_usd;
        self.session.started_with(argv);
    }

    /// The process is gone. A turn that only waited for the proof of its end is over.
    fn exited(&mut self, stderr: &StderrOutput, out: &mut Vec<Output>) {
        out.extend(self.refused_by_exit(stderr).map(Output::refused));
        if self.turns.is_ending() {
            self.finish_turn(None, out);
        }
        *self = Self::default();
    }
}

impl Translator for Pi {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        match input {
            Input::Started { argv, carryover } => self.started(argv, carryover),
            Input::Frame(frame) => self.frame(frame, out),
            Input::Sent(frame) => self.sent(frame, out),
            Input::Garbage { line, fault } => out.push(garbage(line, fault)),
            Input::Command(command) => self.command(command, out),
            Input::Host { key, outcome } => self.timer_elapsed(key, outcome, out),
            Input::Exited { stderr, .. } => self.exited(stderr, out),
        }
    }
}

/// Sends a message, or tells why it cannot be written.
fn send(message: &Sent, out: &mut Vec<Output>) {
    out.push(match message.line() {
        Ok(line) => Output::send(line),
        Err(fault) => Output::unparsed(fault),
    });
}
