//! Codex through `codex app-server`: JSON-RPC over stdio, one server for all sessions, one thread for each.
//!
//! Recorded with codex-cli 0.166.0; `tests/captures.rs` replays it. `link` is the shared connection,
//! [`Codex`] one session on it: its thread, and the threads of the child agents that it starts.
//!
//! Behaviour of Codex that its schema does not describe, and the module that handles it:
//! - the deltas of a command's output miss its beginning: the final output is the truth (`tool`);
//! - items stay open after an interrupt: the Timeline closes them with the turn. A message whose stream broke off
//!   ends with the retry (`retry`), and the first of a review, which never says a word, is not told (`text`);
//! - a command outlives its turn, and what it still says is late (`tool`);
//! - `turn/interrupt` may never be answered, and does not end a running command (`command`); of one that is just
//!   being started Codex may tell afterwards (`items`), or know nothing itself any more (`TransportOutput::Orphans`);
//! - without a network it would try for ever (`open`);
//! - a resumed thread has forgotten its sandbox, and one without a turn cannot be resumed (`open`);
//! - `turn/start` during a turn steers it (`turn`);
//! - question, permission and plan tools have no item (`requests`, `todos`), child threads no announcement
//!   (`subagents`);
//! - a message may come from a queue of Codex's own (`echo`).

pub(crate) mod adapter;
mod command;
mod diff;
mod echo;
mod failure;
mod input;
mod items;
mod launch;
mod link;
mod mcp;
mod modes;
mod name;
mod open;
mod permissions;
mod questions;
mod requests;
mod retry;
mod settings;
mod step;
mod subagents;
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

use std::collections::HashMap;

use omniglot_schema::{CommandInfo, Resume};

pub use adapter::ADAPTER;

use crate::contract::{DropReason, Input, Output, Prompt, Translator};
use crate::conversation::items::ItemCounter;
use crate::conversation::requests::OutboundRequests;
use crate::fault::garbage;
use crate::rpc::RpcId;
use open::{Opening, Thread};
use requests::Requests;
use settings::Settling;
use subagents::Agents;
use text::Texts;
use tool::Tools;
use turn::Turns;

/// One session with Codex. What is remembered lasts as long as the server.
#[derive(Debug, Default)]
pub struct Codex {
    /// Our requests; the server's own are in `requests`.
    calls: OutboundRequests<RpcId, OutboundRequest>,
    opening: Option<Opening>,
    settling: HashMap<RpcId, Settling>,
    thread: Thread,
    turns: Turns,
    texts: Texts,
    tools: Tools,
    agents: Agents,
    requests: Requests,
    statuses: ItemCounter,
    steps: ItemCounter,
}

/// A request of ours that the server has not answered.
#[derive(Debug)]
pub(crate) enum OutboundRequest {
    Models,
    Account,
    Skills,
    ReadThread,
    Thread {
        resume: Option<Resume>,
        /// The thread to continue, or to copy.
        native: Option<String>,
        forks: bool,
        sandboxed: bool,
    },
    Settings,
    /// The request that starts a turn.
    Turn,
    /// The title of a person.
    Name,
    /// `/rename`, which is a turn.
    Rename,
    /// Holds what was said, in case that the turn has ended meanwhile.
    Steer(Option<Prompt>),
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
const COMPACT: &str = "/compact";

/// The protocol has methods where Codex's own terminal has commands; these are ours for them.
fn commands() -> Vec<CommandInfo> {
    let info = |name: &str, description: &str, hint: Option<&str>| CommandInfo {
        name: name.to_owned(),
        description: description.to_owned(),
        hint: hint.map(str::to_owned),
    };
    vec![
        info("compact", "Summarise the conversation to make room", None),
        info("rename", "Give the session a title", Some("title")),
        info("review", "Review the uncommitted changes, or what is asked for", Some("instructions")),
    ]
}

fn dropped() -> Output {
    Output::dropped(DropReason::Internal)
}
