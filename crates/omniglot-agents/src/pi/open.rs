//! The opening of a session: what is being opened stands on the command line, the rest `get_state` tells.
//!
//! The session is open when its state, models and commands are there, and our gate has said that it is in place and
//! has registered the session's MCP servers.

use omniglot_schema::{AgentModelInfo, CommandInfo, McpServers, Resume, StatePatch, StderrOutput};
use omniglot_timeline::SessionStarted;

use super::outgoing::Outgoing;
use super::settings::{self, model_id};
use super::wire::{Commands, ForkMessage, ForkMessages, Forked, Model, Models, Response, State};
use super::{COMPACT, Pi, dropped, mcp};
use crate::contract::{Draft, DropReason, Open, Output, Refusal, RefusalKind, decode};

#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The request to open the session, until it is open.
    pub(crate) open: Option<Open>,
    native: Option<String>,
    resume: Option<Resume>,
    told: bool,
    /// The gate has said that it is in place.
    pub(crate) gate_is_ready: bool,
    pub(crate) servers: McpServers,
    pub(crate) servers_are_registered: bool,
    /// Another session of Pi's own is about to take the place of this one; whether it remembers.
    changing: Option<bool>,
}

impl Session {
    pub(crate) fn started_with(&mut self, argv: &[String]) {
        let has = |flag: &str| argv.iter().any(|arg| arg == flag);
        let returns = has("--session") || has("--continue") || has("--fork");
        self.resume = returns.then_some(Resume::Native);
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the state has to be asked for again, when the gate has registered the servers.
    fn waits_for_servers(&self) -> bool {
        !self.servers.is_empty() && !self.servers_are_registered
    }

    pub(crate) fn changes(&mut self, remembers: bool) {
        self.changing = Some(remembers);
    }
}

impl Pi {
    pub(crate) fn open(&mut self, open: &Open, out: &mut Vec<Output>) {
        let usable = settings::check_mode(&open.requested).and_then(|()| mcp::to_wire(&open.mcp).map(drop));
        if let Err(refusal) = usable {
            return out.push(Output::refused(refusal));
        }
        self.session.servers.clone_from(&open.mcp);
        self.settings.permission_mode.clone_from(&open.requested.permission_mode);
        self.session.open = Some(open.clone());
        match open.fork_before {
            Some(_) => drop(self.send(Outgoing::GetForkMessages, out)),
            None => self.ask_what_is_open(out),
        }
    }

    fn ask_what_is_open(&mut self, out: &mut Vec<Output>) {
        for request in [Outgoing::GetAvailableModels, Outgoing::GetCommands, Outgoing::GetState] {
            self.send(request, out);
        }
    }

    /// The command line has made a copy of the whole session, which goes back to the message now.
    pub(crate) fn fork_messages_answered(&mut self, response: &Response<'_>, out: &mut Vec<Output>) {
        let open = self.session.open.as_ref();
        let Some(point) = open.and_then(|open| open.fork_before.clone()) else {
            return dropped(DropReason::Internal, out);
        };
        let list = match response.data.map(|data| decode::<ForkMessages>("get_fork_messages", data)) {
            Some(Ok(list)) => list.messages,
            Some(Err(fault)) => {
                let reason = format!("Pi listed messages that we cannot read: {}", fault.error);
                out.push(Output::unparsed(fault));
                return self.not_opened(reason, out);
            }
            None => return self.not_opened(response.words(), out),
        };
        // Pi lists the messages that its model got; one without words is not among them.
        let is_it = |message: &ForkMessage| !point.text.is_empty() && message.text.starts_with(&point.text);
        match list.into_iter().filter(is_it).nth(point.same_before) {
            Some(message) => drop(self.send(Outgoing::Fork { entry_id: message.entry_id }, out)),
            None => {
                self.session.open = None;
                out.push(Output::refused(Refusal::no_fork_point(&point.text)));
            }
        }
    }

    pub(crate) fn forked(&mut self, response: &Response<'_>, out: &mut Vec<Output>) {
        let forked = response.data.and_then(|data| serde_json::from_str::<Forked>(data.get()).ok());
        if forked.is_some_and(|forked| forked.cancelled) {
            return self.not_opened("an extension of Pi has cancelled the fork".to_owned(), out);
        }
        if response.success { self.ask_what_is_open(out) } else { self.not_opened(response.words(), out) }
    }

    pub(crate) fn models_answered(&mut self, _: &str, response: &Response<'_>, out: &mut Vec<Output>) {
        match response.data.map(|data| decode::<Models>("get_available_models", data)) {
            Some(Ok(list)) => {
                self.settings.models = list.models.into_iter().map(model_info).collect();
                let models = Some(Some(self.settings.models.clone().into()));
                self.state(StatePatch { models, ..StatePatch::default() }, out);
            }
            Some(Err(fault)) => out.push(Output::unparsed(fault)),
            None => dropped(DropReason::Internal, out),
        }
    }

    pub(crate) fn commands_answered(&mut self, _: &str, response: &Response<'_>, out: &mut Vec<Output>) {
        match response.data.map(|data| decode::<Commands>("get_commands", data)) {
            Some(Ok(list)) => {
                let own = CommandInfo {
                    name: COMPACT.trim_start_matches('/').to_owned(),
                    description: "Summarise the conversation to make room".to_owned(),
                    hint: Some("instructions".to_owned()),
                };
                let theirs = list.commands.into_iter().map(|command| CommandInfo {
                    name: command.name,
                    description: command.description.unwrap_or_default(),
                    hint: None,
                });
                let commands: Vec<_> = std::iter::once(own).chain(theirs).collect();
                let commands = Some(Some(commands.into()));
                self.state(StatePatch { commands, ..StatePatch::default() }, out);
            }
            Some(Err(fault)) => out.push(Output::unparsed(fault)),
            None => dropped(DropReason::Internal, out),
        }
    }

    pub(crate) fn state_answered(&mut self, response: &Response<'_>, out: &mut Vec<Output>) {
        let state = match response.data.map(|data| decode::<State>("get_state", data)) {
            Some(Ok(state)) => state,
            Some(Err(fault)) => return out.push(Output::unparsed(fault)),
            None => return self.not_opened(response.words(), out),
        };
        if self.session.is_opening() && !self.session.gate_is_ready {
            let message = "Omniglot's gate did not load, so nobody would be asked before Pi acts".to_owned();
            return self.not_opened(message, out);
        }
        if self.session.is_opening() && self.session.waits_for_servers() {
            return dropped(DropReason::Internal, out);
        }
        let requested = self.session.open.as_ref().map(|open| &open.requested);
        if let Some(Err(refusal)) = requested.map(|requested| self.settings.check_model(requested)) {
            self.session.open = None;
            return out.push(Output::refused(refusal));
        }
        if !self.session.told || self.session.changing.is_some() {
            self.opened(&state, out);
        }
        self.session_is(state, out);
        self.settings_told(out);
    }

    fn not_opened(&mut self, message: String, out: &mut Vec<Output>) {
        if self.session.open.take().is_none() {
            return dropped(DropReason::Internal, out);
        }
        let refusal = Refusal { kind: RefusalKind::Unavailable, message, hint: None };
        out.push(Output::refused(refusal));
    }

    fn opened(&mut self, state: &State, out: &mut Vec<Output>) {
        let changed = self.session.changing.take().map(|remembers| remembers.then_some(Resume::Native));
        self.session.native.clone_from(&state.session_id);
        self.session.open = None;
        let started = SessionStarted {
            native_session_id: state.session_id.clone(),
            resume: changed.unwrap_or_else(|| {
                // It may be told late, and then the turns before were of this session.
                self.session.resume.or_else(|| (self.turns.begun > 0).then_some(Resume::Native))
            }),
            ..SessionStarted::default()
        };
        out.push(Draft::SessionStarted(started).into());
        if !std::mem::replace(&mut self.session.told, true) {
            self.state(self.settings.offers(), out);
        }
    }

    fn session_is(&mut self, state: State, out: &mut Vec<Output>) {
        let known = state.model.filter(|model| model.provider != "unknown");
        self.settings.window = known.as_ref().and_then(|model| model.context_window);
        self.settings.model = known.map(|model| model_id(&model));
        self.settings.variant = state.thinking_level;
        let patch = StatePatch {
            model: Some(self.settings.model.clone()),
            variant: Some(self.settings.variant.clone()),
            title: state.session_name.map(Some),
            ..StatePatch::default()
        };
        self.state(patch, out);
    }

    /// An end before the session was open, as far as it can be explained.
    pub(crate) fn refused_by_exit(&self, stderr: &StderrOutput) -> Option<Refusal> {
        self.session.open.as_ref()?;
        let words = stderr.tail.as_deref().or(stderr.head.as_deref())?;
        let line = |sign: &str| words.lines().find(|line| line.contains(sign)).map(str::to_owned);
        if let Some(message) = line("No session found") {
            return Some(Refusal { kind: RefusalKind::Forgotten, message, hint: None });
        }
        if let Some(message) = line("Failed to load extension") {
            let hint = Some("repair the extension, or remove it from Pi's configuration".to_owned());
            return Some(Refusal { kind: RefusalKind::Unavailable, message, hint });
        }
        let message = line("not found")?;
        let hint = Some("`pi --list-models` lists the models".to_owned());
        Some(Refusal { kind: RefusalKind::BadMode, message, hint })
    }
}

fn model_info(model: Model) -> AgentModelInfo {
    let id = model_id(&model);
    let variants = settings::levels(model.reasoning);
    AgentModelInfo { id, name: model.name, variants: Some(variants), default_variant: None }
}
