//! The tool calls of a session: what was said about each, and how far it has come (T5).
//!
//! A call is known from its first mention, whatever message that is in.

mod about;
mod grant;
mod result;

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{ToolCallStatus, ToolKind};
use omniglot_schema::{ContentPart, ToolPath};
use omniglot_timeline::{CallStart, ItemKey, Outcome, ToolCall};

use super::output::{Content, RawOutput};
use super::quirks::Quirks;
use super::terminal::Terminals;
use super::update::ToolFields;
use crate::about::About;
use crate::contract::{Draft, DropReason, Output, Unparsed};
use crate::fault::unparsed;
use crate::host::{HostKey, TerminalText};

#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// By native id: the newest call of that name.
    calls: HashMap<String, Tool>,
    /// How many turns have begun: an id that comes again in a later turn is another call.
    turn: u64,
    /// How many calls there were: keys stay unique when an agent repeats its ids.
    made: u64,
    /// A turn is running: the items of its calls may still grow.
    in_turn: bool,
    /// The directory of the session.
    pub(crate) directory: Option<String>,
    /// Those that we run for the agent; calls show them.
    pub(crate) terminals: Terminals,
}

/// How far a call has come; only forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Announced,
    /// The arguments are final.
    Called,
    Running,
    Done,
}

#[derive(Debug)]
struct Tool {
    quirks: &'static Quirks,
    number: u64,
    call: ItemKey,
    phase: Phase,
    turn: u64,
    /// The directory of the session.
    directory: Option<String>,
    title: Option<String>,
    name: Option<String>,
    kind: ToolKind,
    arguments: Option<String>,
    /// The files that it is about.
    locations: Vec<ToolPath>,
    content: Content,
    /// Content said before a call runs explains it and is not its output.
    content_is_output: bool,
    raw: RawOutput,
    terminal: String,
    /// Every terminal that it has shown; its content may be replaced.
    shown: Vec<String>,
    exit_code: Option<i64>,
    /// The output that went out as a preview.
    streamed: String,
}

/// The facts of a call that its permission request needs.
pub(crate) struct CallFacts {
    pub(crate) call: ItemKey,
    pub(crate) title: Option<String>,
    pub(crate) name: String,
    /// With the name, what an `always` covers.
    pub(crate) pattern: Option<String>,
    pub(crate) switches_mode: bool,
    /// The agent's explanation in words.
    pub(crate) detail: Option<String>,
    pub(crate) files: Vec<ContentPart>,
    pub(crate) about: About,
}

/// Where something was said about a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mention {
    Announcement,
    Update,
    Request,
}

impl Tools {
    pub(crate) fn turn_started(&mut self) {
        self.turn += 1;
        self.in_turn = true;
    }

    /// A command has written something: the call that shows its terminal passes it on.
    pub(crate) fn terminal_said(&mut self, key: HostKey, said: &TerminalText, out: &mut Vec<Output>) {
        let Some(terminal) = self.terminals.by_key(key) else { return };
        terminal.said(said);
        let Some(name) = self.terminals.name_of(key).map(str::to_owned) else { return };
        let shows = |tool: &&mut Tool| tool.turn == self.turn && tool.content.terminals.contains(&name);
        if let Some(tool) = self.calls.values_mut().find(shows).filter(|_| self.in_turn) {
            tool.preview(&mut self.terminals, out);
        }
    }

    /// Takes in what was said about a call and moves its items on.
    pub(crate) fn mention(
        &mut self,
        said: ToolFields,
        mention: Mention,
        quirks: &'static Quirks,
        out: &mut Vec<Output>,
    ) {
        if self.is_over(&said, mention) {
            out.push(Output::dropped(DropReason::Superseded));
            return;
        }
        let before = out.len();
        let id = said.id.clone();
        let known = self.calls.remove(&id).filter(|tool| tool.phase != Phase::Done);
        let mut tool = known.unwrap_or_else(|| self.announce(&said, quirks, out));
        let status = said.status;
        let mut faults = Vec::new();
        tool.learn(said, mention, &mut faults);
        tool.advance(status, mention, &mut self.terminals, out);
        self.calls.insert(id, tool);
        out.extend(faults.into_iter().map(Output::unparsed));
        if out.len() == before && mention != Mention::Request {
            // Understood and remembered: it shows when the call or its result is complete.
            out.push(Output::dropped(DropReason::Superseded));
        }
    }

    /// Whether this begins a call, rather than says more about a known one.
    pub(crate) fn is_new(&self, said: &ToolFields, mention: Mention) -> bool {
        match self.calls.get(&said.id) {
            Some(tool) => tool.phase == Phase::Done && !self.is_over(said, mention),
            None => true,
        }
    }

    /// A call that a permission request has just mentioned.
    pub(crate) fn asked(&self, id: &str) -> Option<CallFacts> {
        let tool = self.calls.get(id)?;
        Some(CallFacts {
            call: tool.call.clone(),
            title: tool.title.clone(),
            name: tool.name(),
            pattern: tool.pattern(),
            switches_mode: tool.switches_mode(),
            detail: tool.explanation(),
            files: tool.content.edits.clone(),
            about: tool.about(),
        })
    }

    /// The call item that spawned a subagent, by its native id.
    pub(crate) fn spawning(&self, id: Option<&str>) -> Option<ItemKey> {
        self.calls.get(id?).map(|tool| tool.call.clone())
    }

    /// At the end of a turn the arguments of every call are final.
    pub(crate) fn turn_ended(&mut self, out: &mut Vec<Output>) {
        let mut open: Vec<&mut Tool> =
            self.calls.values_mut().filter(|tool| tool.phase == Phase::Announced).collect();
        open.sort_by_key(|tool| tool.number);
        for tool in open {
            tool.complete_call(out);
        }
        self.in_turn = false;
        self.terminals.turn_ended();
    }

    /// Whether this is more talk about a call that has its result, rather than a new call.
    fn is_over(&self, said: &ToolFields, mention: Mention) -> bool {
        let Some(tool) = self.calls.get(&said.id) else { return false };
        tool.phase == Phase::Done
            && mention == Mention::Update
            && (tool.turn == self.turn || said.status.is_none())
    }

    fn announce(&mut self, said: &ToolFields, quirks: &'static Quirks, out: &mut Vec<Output>) -> Tool {
        self.made += 1;
        let spawning = said.meta.claude.parent_tool_use_id.as_deref();
        if let Some(spawning) = spawning.and_then(|id| self.calls.get_mut(id)) {
            // What it spawned is at work, so it runs.
            spawning.run(out);
        }
        let parent = self.spawning(said.meta.claude.parent_tool_use_id.as_deref());
        let mut tool = Tool::new(said, self.made, self.turn, quirks);
        tool.directory.clone_from(&self.directory);
        let (key, native_id) = (tool.call.clone(), Some(said.id.clone()));
        out.push(Draft::CallStarted(CallStart { key, native_id, parent, call: tool.described() }).into());
        tool
    }
}

impl Tool {
    fn new(said: &ToolFields, number: u64, turn: u64, quirks: &'static Quirks) -> Self {
        Self {
            quirks,
            number,
            call: ItemKey(format!("call:{number}:{}", said.id)),
            phase: Phase::Announced,
            turn,
            directory: None,
            title: said.title.clone(),
            name: name_of(said).or_else(|| quirks.tool_name(&said.id)),
            kind: said.kind.unwrap_or_default(),
            arguments: said.raw_input.clone(),
            locations: said.locations.clone().unwrap_or_default(),
            content: Content::default(),
            content_is_output: false,
            raw: RawOutput::default(),
            terminal: String::new(),
            shown: Vec::new(),
            exit_code: None,
            streamed: String::new(),
        }
    }

    fn learn(&mut self, mut said: ToolFields, mention: Mention, faults: &mut Vec<Unparsed>) {
        let is_request = mention == Mention::Request;
        if is_request {
            self.leave_out_known(&mut said);
        }
        let runs = self.phase >= Phase::Running
            || said.status.is_some_and(|status| status != ToolCallStatus::Pending)
            || said.meta.claude.tool_response.is_some();
        if let Some(name) = name_of(&said) {
            self.name = Some(name);
        }
        if let Some(content) = said.content {
            self.content = Content::read(content, faults);
            self.shown.extend_from_slice(&self.content.terminals);
            self.content_is_output = runs && !is_request;
        }
        self.locations = said.locations.unwrap_or_else(|| std::mem::take(&mut self.locations));
        if let Some(raw) = &said.raw_output {
            self.raw = RawOutput::read(raw);
        }
        if let Some(output) = said.meta.terminal_output.or(said.meta.terminal_output_delta) {
            self.terminal.push_str(&output.data);
        }
        self.exit_code = said.meta.terminal_exit.and_then(|exit| exit.exit_code).or(self.exit_code);
        self.title = said.title.or(self.title.take());
        self.kind = said.kind.unwrap_or(self.kind);
        self.arguments = said.raw_input.or(self.arguments.take());
        if is_request && self.arguments.is_none() {
            self.arguments = self.quirks.arguments_in(&self.content.text);
        }
    }

    /// Removes from a request what is known better from the call: codex-acp gives the
    /// arguments of its question, and claude-agent-acp none. But arguments that are still streamed it may know
    /// whole.
    fn leave_out_known(&self, said: &mut ToolFields) {
        let known = self.arguments.as_deref();
        let is_final =
            self.phase >= Phase::Called || known.is_some_and(|text| self.quirks.mcp_call(text).is_some());
        said.raw_input.take_if(|input| known.is_some() && (is_final || input == "{}"));
        said.content.take_if(|content| content.is_empty());
        said.locations.take_if(|locations| locations.is_empty());
    }

    fn advance(
        &mut self,
        status: Option<ToolCallStatus>,
        mention: Mention,
        terminals: &mut Terminals,
        out: &mut Vec<Output>,
    ) {
        if mention == Mention::Request {
            self.complete_call(out);
            return;
        }
        match status {
            Some(ToolCallStatus::Pending) | None => {
                // A command that has a terminal runs, whatever the call says.
                if self.terminals(terminals).next().is_some() {
                    self.run(out);
                }
                self.preview(terminals, out);
            }
            Some(ToolCallStatus::InProgress) => {
                self.run(out);
                self.preview(terminals, out);
            }
            Some(ToolCallStatus::Completed) => self.finish(Outcome::Completed, terminals, out),
            Some(ToolCallStatus::Failed) => self.finish(Outcome::Failed, terminals, out),
            Some(other) => {
                out.push(Output::unparsed(unparsed("tool_call.status", format!("unknown {other:?}"))))
            }
        }
    }

    fn complete_call(&mut self, out: &mut Vec<Output>) {
        if self.phase >= Phase::Called {
            return;
        }
        self.phase = Phase::Called;
        out.push(Draft::CallReady { key: self.call.clone(), call: Some(self.described()) }.into());
    }

    fn run(&mut self, out: &mut Vec<Output>) {
        self.complete_call(out);
        if self.phase >= Phase::Running {
            return;
        }
        self.phase = Phase::Running;
        out.push(self.says(String::new()));
    }

    fn described(&self) -> ToolCall {
        let (name, arguments) = (self.name(), self.name_and_arguments().1);
        let title = self.title.clone().filter(|title| *title != name);
        let call = self.about().call(name, arguments.unwrap_or_else(|| "{}".to_owned()));
        ToolCall { title, ..call }
    }

    /// Returns the agent's explanation of the call, without its output.
    fn explanation(&self) -> Option<String> {
        let text = self.content.text.trim();
        (!self.content_is_output && !text.is_empty()).then(|| text.to_owned())
    }

    fn name(&self) -> String {
        self.name_and_arguments().0.unwrap_or_else(|| kind_name(self.kind).to_owned())
    }

    /// The name is the tool's own, if it has one.
    fn name_and_arguments(&self) -> (Option<String>, Option<String>) {
        let arguments = self.arguments.clone();
        match (&self.name, &arguments) {
            (None, Some(text)) if let Some(call) = self.quirks.mcp_call(text) => {
                (Some(call.name()), Some(call.arguments))
            }
            (name, _) => (name.clone(), arguments),
        }
    }
}

fn name_of(said: &ToolFields) -> Option<String> {
    let told = [&said.name, &said.meta.claude.tool_name, &said.meta.tool_name];
    told.into_iter().find_map(Clone::clone)
}

fn kind_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        ToolKind::Other | _ => "other",
    }
}
