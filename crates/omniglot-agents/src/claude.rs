//! Claude Code, through its own bidirectional stream-json protocol.
//!
//! Transport: one JSON object per line both ways; `user` prompts and control requests go in, everything else
//! comes out. One process per session that takes prompts as long as its stdin is open. Versions recorded:
//! 2.1.197 and 2.1.325; `tests/captures.rs` replays them.
//!
//! A `result` is the end of a turn and of nothing else; a subagent in the background may need the turn for
//! longer. The CLI merges prompts that it gets while it works, so prompts go one at a time. It also begins turns
//! by itself, when something that runs in the background ends. What it says of itself at the start of every turn
//! (`init`) is the only sign of such a turn.

pub(crate) mod adapter;
mod background;
mod backlog;
mod command;
mod diff;
mod ending;
mod failure;
mod files;
mod fork_point;
mod history;
pub(crate) mod launch;
mod mcp;
mod open;
mod output;
mod permissions;
mod prompt;
mod questions;
mod requests;
mod settings;
mod step;
mod system;
mod team;
mod text;
mod todos;
mod tool;
pub(crate) mod tool_kinds;
mod translate;
mod turn;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

use omniglot_schema::{StatePatch, StatusLabel};
use omniglot_timeline::{Body, ItemKey, ItemStart};
use serde_json::value::RawValue;

pub use adapter::ADAPTER;

use crate::contract::{Carryover, Input, Output, Translator, Unparsed};
use crate::conversation::configuring::Configuring;
use crate::conversation::items::{ItemCounter, dropped, tell_state, whole};
use crate::conversation::requests::OutboundRequests;
use crate::fault::garbage;
use background::Background;
use backlog::EarlyFrames;
use files::KnownFiles;
use open::Session;
use requests::Requests;
use team::Members;
use text::Blocks;
use todos::Todos;
use tool::Tools;
use turn::Turns;
use usage::Account;

/// The prompt that makes the CLI compact its context.
const COMPACT: &str = "/compact";

/// One session with Claude Code. What is remembered lasts as long as its process.
#[derive(Debug, Default)]
pub struct Claude {
    /// Our requests; the CLI's own are in `requests`.
    calls: OutboundRequests<String, wire::Request>,
    session: Session,
    configuring: Option<Configuring>,
    turns: Turns,
    blocks: Blocks,
    tools: Tools,
    files: KnownFiles,
    todos: Todos,
    members: Members,
    /// The team as it was told.
    team: Option<omniglot_schema::Team>,
    background: Background,
    backlog: EarlyFrames,
    requests: Requests,
    /// The activity of the CLI beside the turn.
    activity: Option<omniglot_schema::Activity>,
    /// The status and system items.
    notes: ItemCounter,
}

impl Claude {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self, patch: StatePatch, out: &mut Vec<Output>) {
        tell_state(patch, out);
    }

    fn status(&mut self, label: StatusLabel, detail: impl Into<String>, out: &mut Vec<Output>) {
        let body = Body::Status { label, detail: Some(detail.into()) };
        self.note(body, None, out);
    }

    /// An item that is complete from the start.
    fn note(&mut self, body: Body, parent: Option<ItemKey>, out: &mut Vec<Output>) {
        whole(ItemStart { parent, ..self.notes.item("note", body) }, true, out);
    }

    /// Sends a message, or tells why it cannot be written.
    fn send(message: Result<Box<RawValue>, Unparsed>, out: &mut Vec<Output>) {
        out.push(match message {
            Ok(message) => Output::send(message),
            Err(fault) => Output::unparsed(fault),
        });
    }

    fn started(&mut self, argv: &[String], carryover: &Carryover) {
        self.turns.account = Account::having_spent(carryover.cost_usd);
        self.todos = Todos::left(carryover);
        self.members = Members::left(carryover);
        self.team.clone_from(&carryover.team);
        self.session.started_with(argv);
    }

    /// The process is gone. What waited for the next turn is still told, as late as it is.
    fn exited(&mut self, stderr: &omniglot_schema::StderrOutput, out: &mut Vec<Output>) {
        out.extend(self.refused_by_exit(stderr).map(Output::refused));
        out.append(&mut self.backlog.take_all());
        *self = Self::default();
    }
}

impl Translator for Claude {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        match input {
            Input::Started { argv, carryover } => self.started(argv, carryover),
            Input::Frame(frame) => self.frame(frame, out),
            Input::Sent(frame) => self.sent(frame, out),
            Input::Garbage { line, fault } => out.push(garbage(line, fault)),
            Input::Command(command) => self.command(command, out),
            // It asks nothing of the machine.
            Input::Host { .. } => {}
            Input::Exited { stderr, .. } => self.exited(stderr, out),
        }
    }

    fn tends_background(&self) -> bool {
        !self.background.is_empty()
    }
}
