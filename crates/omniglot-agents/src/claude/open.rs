//! The opening of a session: the handshake, and what it tells about the CLI.
//!
//! Which session is opened, and with which settings, stands on the command line, where a recording has it too.

use std::collections::HashSet;

use omniglot_schema::{
    AgentModelInfo, AuthMethodInfo, AuthState, AuthStatus, Resume, StatusLabel, StderrOutput,
};
use omniglot_timeline::SessionStarted;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Claude;
use super::launch::MAY_BYPASS;
use super::settings::{self, Settings};
use super::system::commands;
use super::wire::{CommandEntry, InitLine, Request, TurnResult};
use crate::contract::{Draft, Open, Output, Refusal, RefusalKind, decode};

/// The session as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The request to open the session, until it is open.
    pub(crate) open: Option<Open>,
    native: Option<String>,
    resumed: bool,
    version: Option<String>,
    told: bool,
    pub(crate) settings: Settings,
    /// The full name of the model, as the last turn began with it.
    pub(crate) model_in_use: Option<String>,
    auth: Option<AuthState>,
    commands: Vec<CommandEntry>,
    /// MCP servers whose failure was told.
    failed_servers: HashSet<String>,
}

#[derive(Deserialize)]
struct InitializeAnswer {
    #[serde(default)]
    commands: Vec<CommandEntry>,
    #[serde(default)]
    models: Vec<WireModel>,
    #[serde(default)]
    account: Account,
    #[serde(default)]
    claude_code_version: Option<String>,
    #[serde(default)]
    current_permission_mode: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireModel {
    value: String,
    /// The full name of the model that the value stands for now.
    #[serde(default)]
    resolved_model: Option<String>,
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    supported_effort_levels: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Account {
    token_source: Option<String>,
    api_key_source: Option<String>,
    api_provider: Option<String>,
    /// Told in place of a source for a login of `claude /login`.
    subscription_type: Option<String>,
    email: Option<String>,
}

impl Session {
    /// Learns from the command line what is being opened.
    pub(crate) fn started_with(&mut self, argv: &[String]) {
        let value = |flag: &str| {
            let place = argv.iter().position(|arg| arg == flag)?;
            argv.get(place + 1).cloned()
        };
        let forked = argv.iter().any(|arg| arg == "--fork-session");
        let resumed = value("--resume");
        self.resumed = resumed.is_some() || argv.iter().any(|arg| arg == "--continue");
        self.native = value("--session-id").or(resumed.filter(|_| !forked));
        self.settings.model = value("--model");
        self.settings.variant = value("--effort");
        let skips = argv.iter().any(|arg| arg == "--dangerously-skip-permissions");
        self.settings.mode = value("--permission-mode").or(skips.then(|| "bypassPermissions".to_owned()));
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.open.is_some()
    }
}

impl Account {
    /// Another provider has credentials of its own kind, which the CLI does not look for. That there are none of
    /// its own vendor it says in so many words; an older CLI says nothing, so that what was found decides.
    fn status(&self, lacks_credentials: bool) -> AuthStatus {
        let sources = [self.token_source.as_deref(), self.api_key_source.as_deref()];
        let has_source = sources.into_iter().flatten().any(|source| source != "none");
        let has_login = self.subscription_type.is_some() || self.email.is_some();
        let other_provider = self.api_provider.as_deref().is_some_and(|provider| provider != "firstParty");
        if has_source || has_login || other_provider {
            return AuthStatus::Ready;
        }
        match self.token_source {
            Some(_) => AuthStatus::Required,
            None if lacks_credentials => AuthStatus::Required,
            None => AuthStatus::Unknown,
        }
    }

    fn auth(&self, lacks_credentials: bool) -> AuthState {
        let state = self.status(lacks_credentials);
        let method = |id: &str, name: &str| AuthMethodInfo {
            id: id.to_owned(),
            name: name.to_owned(),
            description: None,
        };
        let methods = vec![
            method("api_key", "set ANTHROPIC_API_KEY"),
            method("login", "run `claude /login` in a terminal"),
        ];
        AuthState { state, methods }
    }
}

impl Claude {
    pub(crate) fn initialized(&mut self, answer: Result<Option<&RawValue>, String>, out: &mut Vec<Output>) {
        let body = match answer {
            Ok(Some(body)) => body,
            Ok(None) => {
                return out.push(Output::refused(unavailable("it answered the handshake with nothing")));
            }
            Err(words) => return out.push(Output::refused(unavailable(&words))),
        };
        let answer = match decode::<InitializeAnswer>("initialize", body) {
            Ok(answer) => answer,
            Err(fault) => {
                out.push(Output::refused(unavailable(&fault.error)));
                return out.push(Output::unparsed(fault));
            }
        };
        self.session.learn(answer);
        if self.session.told {
            return self.show_offers(out);
        }
        if let Some(output) = self.before_opened() {
            return out.push(output);
        }
        self.opened(out);
    }

    /// Returns the next request, or the refusal, before the session is open.
    fn before_opened(&mut self) -> Option<Output> {
        let open = self.session.open.clone()?;
        if let Err(refusal) = self.session.settings.check_model(&open.requested) {
            return Some(Output::refused(refusal));
        }
        let returns = open.resume.is_some() && !open.fork;
        if let Some(variant) = open.requested.variant.as_deref().filter(|_| !returns)
            && let Err(refusal) =
                self.session.settings.check_variant(open.requested.model.as_deref(), variant)
        {
            return Some(Output::refused(refusal));
        }
        match self.give_servers(&open.mcp) {
            Ok(request) => request,
            Err(refusal) => Some(Output::refused(refusal)),
        }
    }

    /// The session is open: tells so, with all that is known.
    pub(crate) fn opened(&mut self, out: &mut Vec<Output>) {
        let open = self.session.open.take();
        self.session_started(out);
        self.show_offers(out);
        let warning = open.and_then(|open| self.session.settings.check_model(&open.requested).ok()?);
        if let Some(warning) = warning {
            self.status(StatusLabel::Warning, warning, out);
        }
    }

    /// A session that is read from disk is open when it is read.
    pub(crate) fn kept(&mut self, native: Option<String>, version: Option<String>, out: &mut Vec<Output>) {
        (self.session.native, self.session.version) = (native, version);
        self.session_started(out);
    }

    fn session_started(&mut self, out: &mut Vec<Output>) {
        self.session.told = true;
        let started = SessionStarted {
            native_session_id: self.session.native.clone(),
            agent_version: self.session.version.clone(),
            resume: self.session.resumed.then_some(Resume::Native),
            capabilities: None,
        };
        out.push(Draft::SessionStarted(started).into());
    }

    fn show_offers(&mut self, out: &mut Vec<Output>) {
        let settings = &self.session.settings;
        let mut patch = settings::mode_patch(settings.mode.as_deref().unwrap_or("default"));
        patch.modes = Some(Some(settings::modes()));
        patch.models = Some(Some(settings.models.clone().into()));
        patch.model = settings.model.clone().map(Some);
        patch.variant = settings.variant.clone().map(Some);
        patch.auth = Some(self.session.auth.clone());
        patch.commands = Some(Some(commands(std::mem::take(&mut self.session.commands))));
        self.state(patch, out);
    }

    /// The line that begins every turn.
    pub(crate) fn turn_begins(&mut self, init: InitLine, out: &mut Vec<Output>) {
        self.session.version = init.claude_code_version.or(self.session.version.take());
        self.session_is(init.session_id, out);
        self.session.model_in_use.clone_from(&init.model);
        self.turn_goes_on(out);
        if let Some(model) = &init.model {
            self.model_is(model, out);
        }
        if let Some(mode) = &init.permission_mode {
            self.mode_is(mode, out);
        }
        for server in init.mcp_servers {
            let failed = server.status.as_deref() == Some("failed");
            if failed && self.session.failed_servers.insert(server.name.clone()) {
                let words = format!("the MCP server {} could not be started", server.name);
                self.status(StatusLabel::Warning, words, out);
            }
        }
    }

    /// `/clear` begins another session within the process: the agent has forgotten, and the Timeline says so.
    fn session_is(&mut self, id: String, out: &mut Vec<Output>) {
        let known = self.session.native.replace(id.clone());
        if !self.session.told {
            return self.session_started(out);
        }
        if known.as_ref() == Some(&id) {
            return;
        }
        let resume = known.is_none().then_some(Resume::Native);
        let native_session_id = Some(id);
        let started = SessionStarted { native_session_id, resume, ..SessionStarted::default() };
        out.push(Draft::SessionStarted(started).into());
    }

    /// A result that comes instead of the handshake: the session to resume is not there. The CLI may have exited
    /// before it could read the handshake, and a recording has the handshake alone.
    pub(crate) fn refused_by_result(&self, result: &TurnResult) -> Option<Refusal> {
        let handshake = |request: &Request| matches!(request, Request::Initialize { .. });
        let asked = self.session.open.is_some() || self.calls.purposes().any(handshake);
        if self.session.told || !asked || !result.is_error {
            return None;
        }
        let kind = if self.session.resumed { RefusalKind::Forgotten } else { RefusalKind::Unavailable };
        Some(Refusal { kind, message: result.errors.join("; "), hint: None })
    }

    /// An end before the session was open, as far as it can be explained.
    pub(crate) fn refused_by_exit(&self, stderr: &StderrOutput) -> Option<Refusal> {
        self.session.open.as_ref()?;
        let words = stderr.tail.as_deref().or(stderr.head.as_deref())?;
        // A version that does not know the switch names it.
        let as_root = words.contains("root/sudo") || words.contains(MAY_BYPASS);
        as_root.then(|| Refusal {
            kind: RefusalKind::Privileged,
            message: "Claude Code does not skip permissions as root, unless it is told that it runs in a \
                      sandbox"
                .to_owned(),
            hint: Some("choose another permission mode; or, in a sandbox, set sandbox = true".to_owned()),
        })
    }
}

impl Session {
    fn learn(&mut self, answer: InitializeAnswer) {
        self.version = answer.claude_code_version.or(self.version.take());
        self.settings.mode = answer.current_permission_mode.or(self.settings.mode.take());
        let lacks_credentials = self.open.as_ref().is_some_and(|open| open.lacks_credentials);
        self.auth = Some(answer.account.auth(lacks_credentials));
        self.commands = answer.commands;
        let full_name = |model: &WireModel| Some((model.value.clone(), model.resolved_model.clone()?));
        self.settings.full_names = answer.models.iter().filter_map(full_name).collect();
        let model = |model: WireModel| AgentModelInfo {
            id: model.value,
            name: model.display_name,
            variants: model.supported_effort_levels,
            default_variant: None,
        };
        self.settings.models = answer.models.into_iter().map(model).collect();
    }
}

fn unavailable(message: &str) -> Refusal {
    Refusal { kind: RefusalKind::Unavailable, message: message.to_owned(), hint: None }
}
