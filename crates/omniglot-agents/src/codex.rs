//! Codex through `codex app-server`: JSON-RPC over stdio, one server for all sessions, one thread for each.
//!
//! Recorded with codex-cli 0.166.0; `tests/captures.rs` replays it. `link` is the shared connection,
//! [`Codex`] one session on it: its thread, and the threads of the child agents that it starts.
//!
//! What Codex does and its schema does not say, and where it is met:
//! - the deltas of a command's output miss its beginning: the final output is the truth (`tool`);
//! - items stay open after an interrupt, a retry or a review: the Timeline closes them with the turn;
//! - a command outlives its turn, and what it still says is late (`tool`);
//! - `turn/interrupt` may never be answered, and does not end a running command (`command`); one that is just
//!   being started then may be left behind by Codex's sandbox, until the server ends;
//! - without a network it would try for ever (`open`);
//! - a resumed thread has forgotten its sandbox, and one without a turn cannot be resumed (`open`);
//! - `turn/start` during a turn steers it (`turn`);
//! - question and permission tools have no item (`request`), child threads no announcement (`agents`).

mod agents;
mod caps;
mod command;
mod diff;
mod failure;
mod input;
mod items;
mod launch;
mod link;
mod mcp;
mod modes;
mod open;
mod question;
mod request;
mod settings;
mod text;
mod tool;
mod translate;
mod turn;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use omniglot_schema::{CommandInfo, Resume};
use serde_json::value::RawValue;

pub use caps::capabilities;
pub use launch::START;
pub use link::CodexLink;
pub use settings::foresee;

use crate::contract::{DropReason, Input, LineFault, Output, Prompt, Translator};
use agents::Agents;
use open::{Opening, Thread};
use request::Requests;
use settings::Settling;
use text::Texts;
use tool::Tools;
use turn::Turns;
use wire::{RpcId, unparsed};

/// One session with Codex. What is remembered lasts as long as the server.
#[derive(Debug, Default)]
pub struct Codex {
    ids: Ids,
    /// Our requests that wait for an answer; the server's own are in `requests`.
    asked: HashMap<RpcId, Asked>,
    opening: Option<Opening>,
    settling: HashMap<RpcId, Settling>,
    thread: Thread,
    turns: Turns,
    texts: Texts,
    tools: Tools,
    agents: Agents,
    requests: Requests,
    /// How many status items there were.
    statuses: u64,
}

/// The ids of our requests: unique on a connection that others use as well.
#[derive(Debug, Default)]
struct Ids {
    prefix: String,
    last: u64,
}

impl Ids {
    fn next(&mut self) -> RpcId {
        self.last += 1;
        RpcId::Text(format!("{}.{}", self.prefix, self.last))
    }
}

/// What we asked of the server.
#[derive(Debug)]
pub(crate) enum Asked {
    Models,
    Account,
    Thread {
        resume: Option<Resume>,
        /// The thread to continue, or to copy.
        native: Option<String>,
        forks: bool,
        sandboxed: bool,
    },
    Settings,
    /// What begins a turn.
    Turn,
    /// Holds what was said, in case that the turn has ended meanwhile.
    Steer(Option<Prompt>, Vec<omniglot_schema::ContentPart>),
    Close,
    Other,
}

impl Codex {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Translator for Codex {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        match input {
            // Codex asks nothing of the machine; it does all itself.
            Input::Started { .. } | Input::Host { .. } => {}
            Input::Frame(frame) => self.frame(frame, out),
            Input::Sent(frame) => self.sent(frame, out),
            Input::Garbage { line, fault } => out.push(garbage(line, fault)),
            Input::Command(command) => self.command(command, out),
            // Ids, calls and messages of a server mean nothing to the next one.
            Input::Exited { .. } => *self = Self::default(),
        }
    }
}

/// The prompt that compacts a thread: one of the commands below.
pub const COMPACT: &str = "/compact";

/// The protocol has methods where Codex's own terminal has commands; these are ours for them.
fn commands() -> Vec<CommandInfo> {
    let info = |name: &str, description: &str, hint: Option<&str>| CommandInfo {
        name: name.to_owned(),
        description: description.to_owned(),
        hint: hint.map(str::to_owned),
    };
    vec![
        info("compact", "Summarise the conversation to make room", None),
        info("review", "Review the uncommitted changes, or what is asked for", Some("instructions")),
    ]
}

fn garbage(line: &[u8], fault: LineFault) -> Output {
    let error = match fault {
        LineFault::NotJson => "the line is not JSON".to_owned(),
        LineFault::NotUtf8 => "the line is not UTF-8".to_owned(),
        LineFault::TooLong(bytes) => format!("the line has {bytes} bytes, over the limit"),
    };
    let head: String = String::from_utf8_lossy(line).chars().take(200).collect();
    Output::Unparsed(unparsed("stdout", format!("{error}: {head}")))
}

/// Everything we send is plain data; only a path that is not UTF-8 cannot become JSON.
fn send(message: Option<Box<RawValue>>) -> Output {
    match message {
        Some(message) => Output::Send(message),
        None => Output::Unparsed(unparsed("stdin", "a message to the agent cannot be written as JSON")),
    }
}

fn dropped() -> Output {
    Output::Dropped { reason: DropReason::Internal }
}
