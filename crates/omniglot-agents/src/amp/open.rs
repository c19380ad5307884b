//! The opening of a session. There is no handshake: Amp is silent until it has a prompt, and tells its thread then.

use omniglot_schema::{Resume, StatePatch, StatusLabel};
use omniglot_timeline::SessionStarted;

use super::wire::Init;
use super::{Amp, dropped, settings};
use crate::contract::{Draft, DropReason, Open, Output, Refusal, RefusalKind};

#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The thread that the process was started with.
    thread: Option<String>,
    told: bool,
    pub(crate) permission_mode: Option<String>,
    /// The session's directory.
    pub(crate) cwd: Option<String>,
}

impl Amp {
    pub(crate) fn started(&mut self, argv: &[String], out: &mut Vec<Output>) {
        let after = |flag: &str| argv.iter().skip_while(move |arg| *arg != flag).nth(1);
        self.session.thread = after("continue").cloned();
        // A recording may have its prompt on the command line.
        if let Some(prompt) = after("--execute").filter(|prompt| !prompt.starts_with("--")) {
            self.tell_session(out);
            self.prompt_was_argument(prompt, out);
        }
    }

    pub(crate) fn open(&mut self, open: &Open, out: &mut Vec<Output>) {
        if let Err(refusal) = settings::check(&open.requested) {
            return out.push(Output::refused(refusal));
        }
        if open.fork {
            let message = "Amp cannot copy a thread".to_owned();
            return out.push(Output::refused(Refusal { kind: RefusalKind::BadRequest, message, hint: None }));
        }
        self.session.permission_mode.clone_from(&open.requested.permission_mode);
        self.session.cwd = Some(open.cwd.to_string_lossy().into_owned());
        self.tell_session(out);
        self.state(settings::offers(&open.requested), out);
    }

    pub(crate) fn tell_session(&mut self, out: &mut Vec<Output>) {
        if std::mem::replace(&mut self.session.told, true) {
            return;
        }
        let native_session_id = self.session.thread.clone();
        let resume = native_session_id.as_ref().map(|_| Resume::Native);
        let started = SessionStarted { native_session_id, resume, ..SessionStarted::default() };
        out.push(Draft::SessionStarted(started).into());
    }

    /// The thread is known now. A process that was stopped without a prompt has made one that nobody needs.
    pub(crate) fn initialised(&mut self, init: Init, out: &mut Vec<Output>) {
        if !self.turns.is_running() {
            return dropped(DropReason::Internal, out);
        }
        self.session.told = true;
        let resume = self.session.thread.as_ref().map(|_| Resume::Native);
        let native_session_id = Some(init.session_id);
        let started = SessionStarted { native_session_id, resume, ..SessionStarted::default() };
        out.push(Draft::SessionStarted(started).into());
        self.session.cwd = self.session.cwd.take().or(init.cwd);
        self.state(StatePatch { variant: Some(init.agent_mode), ..StatePatch::default() }, out);
        for server in init.mcp_servers.iter().filter(|server| !is_well(&server.status)) {
            let words = format!("the MCP server {} is {}", server.name, server.status);
            self.status(StatusLabel::Warning, words, out);
        }
    }
}

fn is_well(status: &str) -> bool {
    matches!(status, "connected" | "connecting")
}
