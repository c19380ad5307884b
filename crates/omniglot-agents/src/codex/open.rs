//! The opening of a session: a new thread, a resumed one, or a copy.
//!
//! Models and account are asked for first, so that a settings request which cannot be is refused before anything is opened.
//! The handshake of the connection is the link's.

use std::path::PathBuf;

use omniglot_schema::{AuthMethodInfo, AuthState, AuthStatus, Resume, StatePatch, StatusLabel, SystemPrompt};
use omniglot_timeline::SessionStarted;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::launch::START;
use super::modes::Collaboration;
use super::settings::{Choice, Purpose, Settings};
use super::wire::{
    AccountAnswer, AccountParams, ListedTurn, ModelList, ModelListParams, OpenThread, ReadThread, SkillRoots,
    ThreadAnswer, ThreadTurns,
};
use super::{Codex, OutboundRequest, commands, dropped, mcp};
use crate::contract::{Draft, Open, Output, Refusal, RefusalKind, decode};
use crate::rpc::{RpcError, request, send};

/// Sets the further folders with skills of the server, which has no other thread.
pub(crate) const SKILL_ROOTS: &str = "skills/extraRoots/set";

/// Reads a thread without opening it.
pub(crate) const READ: &str = "thread/read";

/// A thread that is being opened.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    open: Open,
    /// The answers that are waited for before the thread is asked for.
    waiting: u32,
    /// The account was asked for a second time.
    asked_again: bool,
    choice: Choice,
    /// The last turn that a copy has, where it has not all.
    last_turn: Option<String>,
    /// The name of the thread as it was opened.
    name: Option<String>,
    started: Option<SessionStarted>,
}

/// The thread that is the session.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) id: Option<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) started: bool,
    auth: Option<AuthStatus>,
    /// State patches that came before the thread was open.
    early: Vec<StatePatch>,
    /// Status items that came before.
    pub(crate) unsaid: Vec<(StatusLabel, Option<String>)>,
}

impl Codex {
    pub(crate) fn open(&mut self, open: &Open, out: &mut Vec<Output>) {
        if open.cwd.to_str().is_none() {
            let message = "the name of the working directory is not UTF-8, which Codex cannot take";
            return out.push(Output::refused(unavailable(message.to_owned(), Some("use another directory"))));
        }
        self.calls.number_anew(&open.new_id);
        self.thread.cwd.clone_from(&open.cwd);
        let opening = Opening { open: open.clone(), waiting: 2, ..Opening::default() };
        self.opening = Some(opening);
        if let Some(skills) = &open.skills {
            let roots = SkillRoots { extra_roots: vec![skills.folder()] };
            out.push(self.calls.request(SKILL_ROOTS, &roots).1);
        }
        out.push(self.calls.request("model/list", &ModelListParams { limit: 200 }).1);
        out.push(self.ask_account());
    }

    pub(crate) fn skills_answered(&mut self, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        if let Err(error) = result {
            let words = format!("Codex did not take the skills: {}", error.shown());
            self.thread.unsaid.push((StatusLabel::Warning, Some(words)));
        }
        out.push(dropped());
    }

    pub(crate) fn models_answered(&mut self, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        match result.map(|raw| decode::<ModelList>("model/list", raw)) {
            Ok(Ok(list)) => self.thread.settings.list(list.data),
            Ok(Err(fault)) => out.push(Output::unparsed(fault)),
            // Without a list every model is taken, and nobody is warned.
            Err(_) => {}
        }
        self.asked_before(out);
    }

    pub(crate) fn account_answered(&mut self, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        match result.map(|raw| decode::<AccountAnswer>("account/read", raw)) {
            Ok(Ok(answer)) => {
                let ready = answer.account.is_some() || !answer.requires_openai_auth;
                self.auth_is(if ready { AuthStatus::Ready } else { AuthStatus::Required }, out);
            }
            Ok(Err(fault)) => out.push(Output::unparsed(fault)),
            Err(_) => {
                // Codex refuses to tell while a login is being taken over.
                let again = self.opening.as_mut().filter(|opening| !opening.asked_again);
                if let Some(opening) = again {
                    opening.asked_again = true;
                    return out.push(self.ask_account());
                }
            }
        }
        self.asked_before(out);
    }

    fn ask_account(&mut self) -> Output {
        self.calls.request("account/read", &AccountParams { refresh_token: false }).1
    }

    pub(crate) fn auth_is(&mut self, status: AuthStatus, out: &mut Vec<Output>) {
        self.thread.auth = Some(status);
        let auth = Some(Some(AuthState { state: status, methods: auth_methods() }));
        self.state(StatePatch { auth, ..StatePatch::default() }, out);
    }

    /// One of the two answers that the thread waits for is there.
    fn asked_before(&mut self, out: &mut Vec<Output>) {
        let Some(opening) = &mut self.opening else { return out.push(dropped()) };
        opening.waiting = opening.waiting.saturating_sub(1);
        if opening.waiting > 0 {
            return out.push(dropped());
        }
        let open = opening.open.clone();
        let resume = open.resume.clone();
        match Choice::of(&open.requested, &self.thread.settings.models, None) {
            Ok(_) if self.thread.auth == Some(AuthStatus::Required) => self.refuse_for_auth(out),
            Ok(choice) => {
                opening.choice = choice;
                match (&open.fork_before, resume) {
                    (Some(_), Some(thread_id)) => {
                        let read = ReadThread { thread_id, include_turns: true };
                        out.push(self.calls.request(READ, &read).1);
                    }
                    (_, resume) => self.open_thread(&open, resume, out),
                }
            }
            Err(refusal) => self.refuse(refusal, out),
        }
    }

    /// Codex would open a thread and fail with its first request. It looks at its file of credentials about once a
    /// second, so that nothing has to be restarted after a login.
    fn refuse_for_auth(&mut self, out: &mut Vec<Output>) {
        let early = std::mem::take(&mut self.thread.early);
        out.extend(early.into_iter().map(|patch| Draft::State(Box::new(patch)).into()));
        let message = "Codex is not logged in".to_owned();
        let hint = Some(format!("run `{}`", START.login));
        self.refuse(Refusal { kind: RefusalKind::Auth, message, hint }, out);
    }

    /// Codex copies up to a turn of its own, which is found by the message that began the next one.
    pub(crate) fn thread_read(&mut self, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        let Some(opening) = &mut self.opening else { return out.push(dropped()) };
        let open = opening.open.clone();
        let Some(point) = &open.fork_before else { return out.push(dropped()) };
        let turns = match result.map(|raw| decode::<ThreadTurns>(READ, raw)) {
            Ok(Ok(answer)) => answer.thread.turns,
            Ok(Err(fault)) => {
                let reason = format!("Codex read a thread that we cannot: {}", fault.error);
                out.push(Output::unparsed(fault));
                return self.refuse(unavailable(reason, None), out);
            }
            Err(error) => {
                let reason = format!("Codex did not read the thread: {}", error.shown());
                return self.refuse(unavailable(reason, None), out);
            }
        };
        let has_message = |turn: &ListedTurn| {
            point.native_id.is_some() && turn.items.iter().any(|item| item.id == point.native_id)
        };
        let place = turns.iter().position(has_message).and_then(|place| place.checked_sub(1));
        let Some(last) = place.and_then(|place| turns.get(place)) else {
            return self.refuse(Refusal::no_fork_point(&point.text), out);
        };
        opening.last_turn = Some(last.id.clone());
        self.open_thread(&open, open.resume.clone(), out);
    }

    fn open_thread(&mut self, open: &Open, resume: Option<String>, out: &mut Vec<Output>) {
        let method = match (&resume, open.fork) {
            (Some(_), true) => "thread/fork",
            (Some(_), false) => "thread/resume",
            (None, _) => "thread/start",
        };
        let Some(opening) = &self.opening else { return };
        let (choice, last_turn_id) = (opening.choice.clone(), opening.last_turn.clone());
        let id = self.calls.next_id();
        let params = |open: &Open| {
            let params = open_params(open, resume.clone(), &choice)?;
            Ok(request(&id, method, &OpenThread { last_turn_id: last_turn_id.clone(), ..params }))
        };
        match params(open) {
            Err(refusal) => self.refuse(refusal, out),
            Ok(None) => out.push(send(None)),
            Ok(Some(message)) => {
                let servers = open.mcp.iter();
                let shown = servers.map(|(name, server)| (name.clone(), server.clone().redacted())).collect();
                // What the sent message shows is what is kept of it; the values of servers may be secrets.
                let shown = params(&Open { mcp: shown, ..open.clone() }).ok().flatten();
                out.push(match shown {
                    Some(shown) if !open.mcp.is_empty() => Output::send_secret(message, shown),
                    _ => Output::send(message),
                });
            }
        }
    }

    /// Returns the kind of opening request that was sent, read from the wire.
    pub(crate) fn thread_sent(&mut self, method: &str, params: &RawValue) -> OutboundRequest {
        let params: OpenThread = serde_json::from_str(params.get()).unwrap_or_default();
        let came_back = self.opening.as_ref().is_some_and(|opening| opening.open.resume.is_some());
        let resume = match method {
            "thread/start" => came_back.then_some(Resume::None),
            _ => Some(Resume::Native),
        };
        if let Some(cwd) = params.cwd {
            self.thread.cwd = cwd.into();
        }
        let (forks, sandboxed) = (method == "thread/fork", params.sandbox.is_some());
        OutboundRequest::Thread { resume, native: params.thread_id, forks, sandboxed }
    }

    pub(crate) fn thread_answered(
        &mut self,
        (resume, native, forks, sandboxed): (Option<Resume>, Option<String>, bool, bool),
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        match result {
            Ok(raw) => match decode::<ThreadAnswer>("thread/start", raw) {
                Ok(answer) => self.thread_opened(resume, sandboxed, answer, out),
                Err(fault) => {
                    let reason = format!("Codex opened a thread that we cannot read: {}", fault.error);
                    out.push(Output::unparsed(fault));
                    self.refuse(unavailable(reason, None), out);
                }
            },
            Err(error) if native.is_some() && !forks && is_gone(&error) => self.start_anew(out),
            Err(error) => {
                let reason = format!("Codex opened no thread: {}", error.shown());
                self.refuse(unavailable(reason, None), out);
            }
        }
    }

    /// The thread had no first turn, or was deleted: there is nothing to come back to.
    fn start_anew(&mut self, out: &mut Vec<Output>) {
        match self.opening.as_ref().map(|opening| opening.open.clone()) {
            Some(open) => self.open_thread(&open, None, out),
            None => out.push(dropped()),
        }
    }

    fn thread_opened(
        &mut self,
        resume: Option<Resume>,
        sandboxed: bool,
        answer: ThreadAnswer,
        out: &mut Vec<Output>,
    ) {
        let choice = self.opening.as_ref().map(|opening| opening.choice.clone()).unwrap_or_default();
        self.thread.settings.opened(&answer, choice.permission, sandboxed);
        self.thread.id = Some(answer.thread.id.clone());
        self.turns.thread_opened(resume != Some(Resume::Native));
        if let Err(refusal) = self.check_effort() {
            return self.refuse(refusal, out);
        }
        let name = answer.thread.name;
        let title = name.clone().map(Some);
        self.state(StatePatch { title, ..StatePatch::default() }, out);
        let started = SessionStarted {
            native_session_id: Some(answer.thread.id),
            agent_version: answer.thread.cli_version,
            resume,
            capabilities: None,
        };
        let opening = self.opening.get_or_insert_default();
        opening.started = Some(started);
        opening.name = name;
        match choice.collaboration {
            // A thread begins in the mode that builds, also one that comes back.
            Some(Collaboration::Plan) => {
                let plan = Choice { collaboration: Some(Collaboration::Plan), ..Choice::default() };
                let settling = self.settle(plan, Purpose::Open);
                out.push(settling);
            }
            Some(Collaboration::Build) | None => self.start(out),
        }
    }

    /// Only now it is known which model a new thread has when nobody has chosen one.
    fn check_effort(&self) -> Result<(), Refusal> {
        let is_new = |opening: &&Opening| opening.open.resume.is_none();
        let Some(opening) = self.opening.as_ref().filter(is_new) else { return Ok(()) };
        let settings = &self.thread.settings;
        Choice::of(&opening.open.requested, &settings.models, settings.model.as_deref()).map(drop)
    }

    /// The thread is open, with all its settings.
    pub(crate) fn start(&mut self, out: &mut Vec<Output>) {
        let Some(opening) = self.opening.take() else { return };
        let Some(started) = opening.started else { return };
        out.push(Draft::SessionStarted(started).into());
        self.thread.started = true;
        for patch in std::mem::take(&mut self.thread.early) {
            self.state(patch, out);
        }
        let mut patch = self.thread.settings.patch();
        patch.modes = Some(Some(Collaboration::list().into()));
        patch.commands = Some(Some(commands().into()));
        if !self.thread.settings.models.is_empty() {
            patch.models = Some(Some(self.thread.settings.models.clone().into()));
        }
        self.state(patch, out);
        let happened = std::mem::take(&mut self.thread.unsaid);
        let warnings = opening.choice.warnings.into_iter().map(|text| (StatusLabel::Warning, Some(text)));
        for (label, detail) in happened.into_iter().chain(warnings) {
            self.status(label, detail, out);
        }
        let title = opening.open.title.filter(|title| opening.name.as_ref() != Some(title));
        out.extend(title.and_then(|title| self.rename(&title)).map(|(_, request)| request));
    }

    /// Tells what is now; before the session is open it is kept for then.
    pub(crate) fn state(&mut self, patch: StatePatch, out: &mut Vec<Output>) {
        if patch.is_empty() {
            return;
        }
        if self.thread.started {
            out.push(Draft::State(Box::new(patch)).into());
        } else {
            self.thread.early.push(patch);
        }
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal, out: &mut Vec<Output>) {
        self.opening = None;
        out.push(Output::refused(refusal));
    }
}

/// The sandbox is said again on every opening: a thread that comes back has forgotten it. So are all retries
/// bounded: by itself Codex tries for ever when it finds no network.
fn open_params(open: &Open, resume: Option<String>, choice: &Choice) -> Result<OpenThread, Refusal> {
    let mut config = Map::new();
    if let Some(servers) = mcp::to_config(&open.mcp)? {
        config.insert("mcp_servers".to_owned(), servers);
    }
    if let Some(effort) = &choice.effort {
        config.insert("model_reasoning_effort".to_owned(), effort.clone().into());
    }
    config.insert("features.unbounded_connection_retries".to_owned(), false.into());
    let (base_instructions, developer_instructions) = match open.system_prompt.clone() {
        Some(SystemPrompt::Replace(text)) => (Some(text), None),
        Some(SystemPrompt::Append(text)) => (None, Some(text)),
        None => (None, None),
    };
    Ok(OpenThread {
        exclude_turns: resume.is_some().then_some(true),
        thread_id: resume,
        cwd: open.cwd.to_str().map(str::to_owned),
        model: choice.model.clone(),
        approval_policy: choice.permission.map(|mode| Value::from(mode.approval)),
        sandbox: choice.permission.and_then(|mode| mode.sandbox).map(|sandbox| sandbox.mode().to_owned()),
        base_instructions,
        developer_instructions,
        config: Some(config),
        last_turn_id: None,
    })
}

/// A thread that another process holds is there, and must not be begun anew.
fn is_gone(error: &RpcError) -> bool {
    !error.message.contains("active writer")
}

fn auth_methods() -> Vec<AuthMethodInfo> {
    vec![AuthMethodInfo {
        id: "codex-login".to_owned(),
        name: "codex login".to_owned(),
        description: Some("Log in with ChatGPT or an API key in a terminal".to_owned()),
    }]
}

pub(crate) fn unavailable(message: String, hint: Option<&str>) -> Refusal {
    Refusal { kind: RefusalKind::Unavailable, message, hint: hint.map(str::to_owned) }
}
