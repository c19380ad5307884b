//! OpenCode through its own server, `opencode serve`: HTTP requests and one event stream per directory.
//!
//! Transport: the messages of [`crate::http`], on a server that all sessions of one environment share.
//! Version recorded: 1.18.33; `tests/captures.rs` replays it. Events repeat whole records, so everything here
//! is told once by its id however often it comes: what a broken stream has missed is read again and passes
//! through the same functions.
//!
//! An `idle` after `busy` ends a turn, but not the one that comes while a failed message is still open (see
//! `idle`). An aborted turn ends when its abort is answered and its messages were read once more, because its
//! last words come after its first `idle`.

mod adapter;
mod background;
mod command;
mod diff;
mod failure;
mod idle;
mod launch;
mod link;
mod mcp;
mod merge;
mod message;
mod open;
mod outbound;
mod part;
mod permissions;
mod plan;
mod questions;
mod removed;
mod requests;
mod resync;
mod said;
mod settings;
mod step;
mod subagents;
mod tool;
mod tool_kinds;
mod translate;
mod turn;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use omniglot_schema::{Activity, MessageId};
use omniglot_timeline::ItemKey;
use serde_json::value::RawValue;

/// The prompt that makes OpenCode compact its context.
const COMPACT: &str = "/compact";

pub use adapter::ADAPTER;

use crate::contract::{DropReason, Input, LineFault, Output, SettingsRequest, Translator, Unparsed};
use crate::conversation::items::ItemCounter;
use crate::conversation::requests::OutboundRequests;
use message::Author;
use open::Opening;
use outbound::OutboundRequest;
use part::Part;
use plan::PlanFile;
use removed::Reverted;
use requests::Requests;
use resync::Reread;
use settings::Settings;
use subagents::Child;
use tool::Call;
use tool_kinds::Servers;
use turn::{Ending, Turn};
use wire::Event;

/// One session on the server. What is remembered lasts as long as the connection.
#[derive(Debug, Default)]
pub struct OpenCode {
    /// Our requests; the server's own are in `requests`.
    outbound: OutboundRequests<String, OutboundRequest>,
    opening: Option<Opening>,
    directory: Option<String>,
    session: Option<String>,
    requested: SettingsRequest,
    settings: Settings,
    authors: HashMap<String, Author>,
    /// The agents that messages of the user are for.
    addressed: HashMap<String, String>,
    /// How messages of the user begin.
    words: HashMap<String, String>,
    /// When the session was made, in milliseconds of the server's clock.
    born: Option<f64>,
    /// Messages that a fork has copied.
    copied: HashSet<String>,
    parts: HashMap<String, Part>,
    /// The newest text of each message of the assistant's: what its calls belong to.
    texts: HashMap<String, ItemKey>,
    calls: HashMap<String, Call>,
    /// The open step of each message.
    steps: HashMap<String, ItemKey>,
    /// The MCP servers whose tools it has.
    servers: Servers,
    /// Sessions of subagents, those of theirs among them.
    children: IndexMap<String, Child>,
    /// The cost of the session itself.
    cost: f64,
    /// It has reported changes in files.
    has_changes: bool,
    /// Events of background subagents since the last turn.
    untold: Vec<Event>,
    requests: Requests,
    /// The plan that was written last.
    plan: Option<PlanFile>,
    turn: Option<Turn>,
    /// How the last turn ended.
    ended_so: Ending,
    /// The point that the conversation was taken back to, and of when we know.
    reverted: Option<Reverted>,
    revert_known: f64,
    /// Messages whose prompts were built but not seen on the wire yet, by request id.
    commanded: HashMap<String, MessageId>,
    /// The newest message that is no news any more.
    floor: String,
    /// The reported activity beside the answer.
    activity: Option<Activity>,
    /// The event stream was cut, and what it missed is being read.
    rereads: Option<Reread>,
    /// The events read now were stored before: their beginning may have been missed.
    stored: bool,
    /// Ids of what is told only once and needs no other memory.
    once: HashSet<String>,
    statuses: ItemCounter,
}

impl OpenCode {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Translator for OpenCode {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>) {
        match input {
            Input::Started { .. } => {}
            Input::Frame(frame) => self.frame(frame, out),
            Input::Sent(frame) => self.sent(frame, out),
            Input::Garbage { line, fault } => out.push(garbage(line, fault)),
            Input::Command(command) => self.command(command, out),
            // It never asks anything of the machine through us.
            Input::Host { .. } => {}
            Input::Exited { .. } => *self = Self::default(),
        }
    }
}

/// The server's own chatter on stdout is no message; a broken event is.
fn garbage(line: &[u8], fault: LineFault) -> Output {
    let text = String::from_utf8_lossy(line);
    if fault == LineFault::NotJson && !text.starts_with("data:") {
        return Output::dropped(DropReason::Internal);
    }
    let head: String = text.chars().take(200).collect();
    Output::unparsed(unparsed("event", format!("{fault:?}: {head}")))
}

fn unparsed(location: &str, error: impl Into<String>) -> Unparsed {
    Unparsed { error: error.into(), location: location.to_owned(), raw_hash: None }
}

fn dropped(reason: DropReason) -> Output {
    Output::dropped(reason)
}

/// Everything we send is plain data and becomes JSON.
fn json<T: serde::Serialize>(value: &T) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(value).ok()
}
