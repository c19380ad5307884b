//! The handshake and the opening of a session: new, resumed, loaded or forked.
//!
//! Its mode and model are left to `settle`, which calls back when they are as asked for.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::AgentCapabilities;
use omniglot_schema::{AuthStatus, Resume, StatePatch};
use omniglot_timeline::SessionStarted;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::auth::AuthMethod;
use super::failure::message;
use super::mcp;
use super::quirks::Quirks;
use super::settings::{SessionAnswer, Settings};
use super::wire::{entries, field};
use super::{Acp, OutboundRequest};
use crate::contract::{Draft, DropReason, Open, Output, Refusal, RefusalKind, Unparsed, decode};
use crate::rpc::RpcError;

/// The one version that we speak. Asked for another, some agents answer with a draft of it.
pub(crate) const PROTOCOL_VERSION: u64 = 1;

/// The agent's description of itself.
#[derive(Debug, Default)]
pub(crate) struct Agent {
    pub(crate) quirks: &'static Quirks,
    version: Option<String>,
    pub(crate) capabilities: AgentCapabilities,
    pub(crate) auth_methods: Vec<AuthMethod>,
}

/// The session as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) id: Option<String>,
    /// The session that is being loaded; its history arrives before we know that it exists.
    pub(crate) loading: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) started: bool,
    /// From the load until the next prompt, messages and calls are history. The answer to the load
    /// is no end of it: gemini answers while it still replays.
    pub(crate) replaying: bool,
    /// How much of it came.
    pub(crate) replayed: u64,
    /// State patches that came before the session was open.
    early: Vec<StatePatch>,
    pub(crate) cwd: PathBuf,
    /// The permission mode that was asked for, or what became of it since.
    pub(crate) permission_mode: Option<String>,
    /// Warnings about the request to open, sent once the session is open.
    pub(crate) warnings: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InitializeAnswer<'a> {
    protocol_version: Option<u64>,
    #[serde(borrow)]
    agent_capabilities: Option<&'a RawValue>,
    #[serde(borrow)]
    auth_methods: Option<&'a RawValue>,
    #[serde(borrow)]
    agent_info: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AgentInfo {
    name: String,
    version: Option<String>,
}

impl Agent {
    fn read(
        answer: &InitializeAnswer<'_>,
        chosen: Option<&'static Quirks>,
        faults: &mut Vec<Unparsed>,
    ) -> Self {
        let info: AgentInfo = field("initialize.agentInfo", answer.agent_info, faults).unwrap_or_default();
        Self {
            quirks: chosen.unwrap_or_else(|| Quirks::of_agent(&info.name)),
            version: info.version,
            capabilities: field("initialize.agentCapabilities", answer.agent_capabilities, faults)
                .unwrap_or_default(),
            auth_methods: entries("initialize.authMethods", answer.auth_methods, faults).unwrap_or_default(),
        }
    }

    /// Before it has said a word.
    pub(crate) fn unheard(quirks: Option<&'static Quirks>) -> Self {
        Self { quirks: quirks.unwrap_or_default(), ..Self::default() }
    }
}

impl Acp {
    pub(crate) fn initialized(&mut self, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        let raw = match result {
            Ok(raw) => raw,
            Err(error) => {
                let reason = format!("the agent refused the handshake: {}", message(&error));
                return self.refuse(unavailable(reason, None), out);
            }
        };
        let mut faults = Vec::new();
        let answer: InitializeAnswer<'_> = field("initialize", Some(raw), &mut faults).unwrap_or_default();
        self.agent = Agent::read(&answer, self.quirks, &mut faults);
        out.extend(faults.into_iter().map(Output::unparsed));
        if answer.protocol_version != Some(PROTOCOL_VERSION) {
            let version = answer.protocol_version.map_or_else(|| "unknown".to_owned(), |v| v.to_string());
            let reason = format!("the agent speaks ACP version {version}, not {PROTOCOL_VERSION}");
            let refusal = unavailable(reason, Some("use a version of the agent that speaks ACP 1"));
            return self.refuse(Refusal { kind: RefusalKind::Protocol, ..refusal }, out);
        }
        match self.open.clone() {
            Some(open) => out.push(self.session_request(&open)),
            None => out.push(Output::dropped(DropReason::Internal)),
        }
    }

    /// Returns the session request: a new session is refused what it cannot have, a resumed one goes on without.
    fn session_request(&mut self, open: &Open) -> Output {
        let capabilities = &self.agent.capabilities;
        let (_, problems) = mcp::to_wire(&open.mcp, &capabilities.mcp_capabilities);
        match open.resume.clone() {
            id if !problems.is_empty() && (id.is_none() || open.fork) => {
                self.open = None;
                let message = problems.join("; ");
                Output::refused(Refusal { kind: RefusalKind::BadRequest, message, hint: None })
            }
            Some(_) if open.fork && capabilities.session_capabilities.fork.is_none() => {
                self.open = None;
                Output::refused(Refusal {
                    kind: RefusalKind::BadMode,
                    message: "the agent cannot fork a session".to_owned(),
                    hint: Some("begin a new session instead".to_owned()),
                })
            }
            Some(_) if open.fork_before.is_some() => {
                self.open = None;
                Output::refused(Refusal::copies_whole())
            }
            Some(id) if open.fork => self.fork_session(id, open),
            Some(id) if capabilities.session_capabilities.resume.is_some() => self.resume_session(id, open),
            Some(id) if capabilities.load_session => self.load_session(id, open),
            _ => self.new_session(open),
        }
    }

    /// The answer to `session/new`, `session/load`, `session/resume` or `session/fork`.
    pub(crate) fn session_answered(
        &mut self,
        (resume, native): (Option<Resume>, Option<String>),
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        self.session.loading = None;
        match result {
            Ok(raw) => self.session_opened(resume, native, raw, out),
            Err(error) if native.is_some() => self.session_is_gone(&error, out),
            Err(error) if error.code == RpcError::AUTH_REQUIRED => self.refuse_for_auth(&error, out),
            Err(error) => {
                let reason = format!("the agent opened no session: {}", message(&error));
                self.refuse(unavailable(reason, Some("see what the agent wrote to stderr")), out);
            }
        }
    }

    /// The agent cannot bring the old session back: it starts anew, and everybody is told so.
    fn session_is_gone(&mut self, error: &RpcError, out: &mut Vec<Output>) {
        self.session.replaying = false;
        self.session.early.clear();
        match self.open.clone() {
            Some(_) if error.code == RpcError::AUTH_REQUIRED => self.refuse_for_auth(error, out),
            Some(open) => out.push(self.new_session(&open)),
            None => out.push(Output::dropped(DropReason::Internal)),
        }
    }

    fn session_opened(
        &mut self,
        resume: Option<Resume>,
        native: Option<String>,
        raw: &RawValue,
        out: &mut Vec<Output>,
    ) {
        let mut faults = Vec::new();
        // The answer to a load may be null: then everything stays as it was.
        let answer: Option<SessionAnswer<'_>> =
            field::<Option<SessionAnswer<'_>>>("session/new", Some(raw), &mut faults).flatten();
        let answer = answer.unwrap_or_default();
        let Some(id) = answer.session_id.clone().or(native) else {
            out.extend(faults.into_iter().map(Output::unparsed));
            return self.refuse(unavailable("the agent gave its session no id".to_owned(), None), out);
        };
        self.session.id = Some(id.clone());
        self.session.settings = Settings::read(&answer, &mut faults);
        out.extend(faults.into_iter().map(Output::unparsed));
        self.turns.account.session_opened(!matches!(resume, Some(Resume::Native | Resume::Load)));
        let started = SessionStarted {
            native_session_id: Some(id),
            agent_version: self.agent.version.clone(),
            resume,
            capabilities: Some(self.capabilities()),
        };
        self.settle_opened(started, out);
    }

    /// Returns the capabilities of this session, as far as the handshake and the session's lists tell them.
    fn capabilities(&self) -> omniglot_schema::AgentCapabilities {
        let (told, base) = (&self.agent.capabilities, self.agent.quirks.capabilities);
        omniglot_schema::AgentCapabilities {
            images: told.prompt_capabilities.image,
            session_lifecycle: told.load_session || told.session_capabilities.resume.is_some(),
            plan_mode: self.session.settings.mode.as_ref().is_some_and(|mode| mode.lists("plan")),
            mcp_tools: base.mcp_tools || told.mcp_capabilities.http || told.mcp_capabilities.sse,
            mcp_http: told.mcp_capabilities.http,
            mcp_sse: told.mcp_capabilities.sse,
            ..base
        }
    }

    /// The session is open, with all its settings.
    pub(crate) fn start(&mut self, started: SessionStarted, out: &mut Vec<Output>) {
        out.push(Draft::SessionStarted(started).into());
        self.session.started = true;
        if self.session.permission_mode.is_some() {
            let permission_mode = Some(self.session.permission_mode.clone());
            self.state(StatePatch { permission_mode, ..StatePatch::default() }, out);
        }
        for patch in std::mem::take(&mut self.session.early) {
            self.state(patch, out);
        }
        let mut patch = self.session.settings.patch();
        if !self.agent.auth_methods.is_empty() {
            patch.auth = Some(Some(self.agent.auth(AuthStatus::Unknown)));
        }
        self.state(patch, out);
    }

    /// Tells what is now; before the session is open it is kept for then.
    pub(crate) fn state(&mut self, patch: StatePatch, out: &mut Vec<Output>) {
        if patch.is_empty() {
            return;
        }
        if self.session.started {
            out.push(Draft::State(Box::new(patch)).into());
        } else {
            self.session.early.push(patch);
        }
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal, out: &mut Vec<Output>) {
        self.open = None;
        out.push(Output::refused(refusal));
    }
}

pub(crate) fn unavailable(message: String, hint: Option<&str>) -> Refusal {
    Refusal { kind: RefusalKind::Unavailable, message, hint: hint.map(str::to_owned) }
}

impl Acp {
    /// Returns the kind of session request that was sent, read from the wire.
    pub(crate) fn session_sent(&mut self, method: &str, params: &RawValue) -> OutboundRequest {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            #[serde(default)]
            session_id: Option<String>,
            #[serde(default)]
            cwd: Option<String>,
        }
        let params = decode::<Params>(method, params).ok();
        let (mut native, directory) = params.map_or((None, None), |params| (params.session_id, params.cwd));
        self.tools.directory = directory;
        let resume = match method {
            "session/fork" => {
                // The copy has an id of its own, and nothing takes its place if it cannot be made.
                native = None;
                Some(Resume::Native)
            }
            "session/load" => {
                self.session.replaying = true;
                self.session.loading.clone_from(&native);
                Some(Resume::Load)
            }
            "session/resume" => Some(Resume::Native),
            _ => self.open.as_ref().and_then(|open| open.resume.as_ref()).map(|_| Resume::None),
        };
        OutboundRequest::OpenSession { resume, native }
    }
}

#[cfg(test)]
mod tests {
    use super::super::quirks::GEMINI;
    use super::*;

    #[test]
    fn an_agent_that_nobody_has_tested_can_do_what_its_handshake_tells() {
        let can = |quirks, told: &str| {
            let mut acp = Acp::with(quirks);
            acp.agent.capabilities = serde_json::from_str(told).unwrap();
            acp.capabilities()
        };
        let silent = can(None, "{}");
        assert!(silent.text_messages && !silent.images && !silent.session_lifecycle && !silent.mcp_tools);
        let told =
            r#"{"loadSession":true,"promptCapabilities":{"image":true},"mcpCapabilities":{"http":true}}"#;
        let told = can(None, told);
        assert!(
            told.images && told.session_lifecycle && told.mcp_tools && !told.permissions && !told.reasoning
        );
        let tested = can(Some(&GEMINI), "{}");
        assert!(tested.permissions && tested.mcp_tools && !tested.images);
    }
}
