//! Any agent that speaks the Agent Client Protocol, version 1, over stdio.
//!
//! Transport: JSON-RPC 2.0, one object per line, requests in both directions. Versions recorded:
//! gemini-cli 0.61, claude-agent-acp 0.99 and codex-acp 2.6; `tests/captures.rs` replays them. What an
//! agent does beside the protocol is in `quirks`, or beside the field it changes.
//!
//! The answer to `session/prompt` is the only end of a turn. Requests that we do not serve are refused
//! at once, and nothing that we do not serve is advertised.

mod adapter;
mod attach;
mod auth;
mod command;
mod compaction;
mod diff;
mod failure;
mod host;
pub mod launch;
mod mcp;
mod open;
mod output;
mod permissions;
mod plain;
mod questions;
pub mod quirks;
mod requests;
mod settings;
mod settings_change;
mod settle;
mod state;
mod terminal;
mod text;
mod tool;
mod tool_kinds;
mod translate;
mod turn;
pub mod unverified;
mod update;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

use omniglot_schema::Resume;

pub(crate) use adapter::with_quirks;
pub use adapter::{MOCK, PLAIN, PROTOCOL};
pub use compaction::compact_prompt;
pub use launch::{custom, mock};
pub use settings_change::preview_settings;

use crate::contract::{Input, Open, Output, Translator};
use crate::conversation::cost::Account;
use crate::conversation::items::ItemCounter;
use crate::conversation::requests::OutboundRequests;
use crate::fault::garbage;
use crate::rpc::RpcId;
use compaction::Compactions;
use host::Duties;
use open::{Agent, Session};
use quirks::Quirks;
use requests::Requests;
use settle::Settling;
use text::Texts;
use tool::Tools;
use turn::Turns;

/// One session with an ACP agent. What is remembered lasts as long as the agent's process, but for what it cost.
#[derive(Debug, Default)]
pub struct Acp {
    /// The set of quirks that was chosen for the agent; without one its own name decides.
    quirks: Option<&'static Quirks>,
    /// Our requests; the agent's own are in `requests` and `duties`.
    calls: OutboundRequests<RpcId, OutboundRequest>,
    /// The request to open the session, until it is open.
    open: Option<Open>,
    agent: Agent,
    session: Session,
    settling: Option<Settling>,
    turns: Turns,
    texts: Texts,
    tools: Tools,
    requests: Requests,
    duties: Duties,
    compactions: Compactions,
    statuses: ItemCounter,
}

/// A request of ours that the agent has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutboundRequest {
    Initialize,
    /// `native` is the id of the session to bring back.
    OpenSession {
        resume: Option<Resume>,
        native: Option<String>,
    },
    Prompt,
    SetMode(String),
    SetModel(String),
    SetOption(String),
    /// Whether anything of the past is still on its way.
    Replayed,
    Close,
    Other,
}

impl Acp {
    pub fn new() -> Self {
        Self::default()
    }

    /// Ids, calls and messages of a process mean nothing to the next one.
    fn exited(&mut self) {
        *self = Self::with(self.quirks);
    }

    /// A session with an agent that is known to have these quirks.
    pub fn with(quirks: Option<&'static Quirks>) -> Self {
        Self { quirks, agent: Agent::unheard(quirks), ..Self::default() }
    }
}

impl Translator for Acp {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        match input {
            Input::Started { carryover, .. } => {
                self.turns.account = Account::having_spent(carryover.cost_usd)
            }
            Input::Frame(frame) => self.frame(frame, out),
            Input::Sent(frame) => self.sent(frame, out),
            Input::Garbage { line, fault } => out.push(garbage(line, fault)),
            Input::Command(command) => self.command(command, out),
            Input::Host { key, outcome } => self.host_outcome(key, outcome, out),
            Input::Exited { .. } => self.exited(),
        }
    }
}
