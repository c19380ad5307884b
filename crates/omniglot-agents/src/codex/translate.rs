//! Frames of both directions to drafts: the tables of methods, answers and notifications.
//!
//! The work behind each arm is in the module named after its subject.

use omniglot_schema::{AuthStatus, StatePatch, StatusLabel};
use serde_json::value::RawValue;

use super::items::Phase;
use super::open::{READ, SKILL_ROOTS};
use super::text::Voice;
use super::wire::{AtThread, Delta, HookRun, McpStartup, Notice, TurnNotice};
use super::{Codex, OutboundRequest, dropped};
use crate::contract::Output;
use crate::conversation::items::whole;
use crate::fault::unparsed;
use crate::rpc::{Message, RpcError, RpcId};

impl Codex {
    /// One message of the server; it always leaves at least one output.
    pub(crate) fn frame(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        let before = out.len();
        match Message::parse(frame) {
            Ok(Message::Request { id, method, params }) => self.requested(id, &method, params, out),
            Ok(Message::Notification { method, params }) => self.notified(&method, params, out),
            Ok(Message::Answer { id, result }) => self.answered(&id, result, out),
            Err(fault) => out.push(Output::unparsed(fault)),
        }
        if out.len() == before {
            out.push(dropped());
        }
    }

    /// One message that really went to the server.
    pub(crate) fn sent(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        match Message::parse(frame) {
            Ok(Message::Request { id, method, params }) => self.request_sent(id, &method, params, out),
            Ok(Message::Answer { id, result }) => self.answer_sent(&id, result, out),
            // What we wrote ourselves and do not understand concerns nobody.
            Ok(Message::Notification { .. }) | Err(_) => {}
        }
    }

    fn request_sent(&mut self, id: RpcId, method: &str, params: &RawValue, out: &mut Vec<Output>) {
        let asked = match method {
            "model/list" => OutboundRequest::Models,
            "account/read" => OutboundRequest::Account,
            SKILL_ROOTS => OutboundRequest::Skills,
            READ => OutboundRequest::ReadThread,
            "thread/start" | "thread/resume" | "thread/fork" => self.thread_sent(method, params),
            "thread/settings/update" => OutboundRequest::Settings,
            "turn/start" | "review/start" | "thread/compact/start" => {
                self.turn_sent(id.clone(), method, params, out)
            }
            "thread/name/set" => self.name_sent(id.clone(), method, params, out),
            "turn/steer" => self.steer_sent(&id, params, out),
            "turn/interrupt" => {
                let at: Option<AtThread> = serde_json::from_str(params.get()).ok();
                if at.is_some_and(|at| !self.is_child(&at.thread_id)) {
                    self.turns.interrupt_sent();
                }
                OutboundRequest::Other
            }
            "thread/unsubscribe" => OutboundRequest::Close,
            _ => OutboundRequest::Other,
        };
        self.calls.sent(id, asked);
    }

    fn answered(&mut self, id: &RpcId, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        match self.calls.answered(id) {
            Some(OutboundRequest::Models) => self.models_answered(result, out),
            Some(OutboundRequest::Account) => self.account_answered(result, out),
            Some(OutboundRequest::Skills) => self.skills_answered(result, out),
            Some(OutboundRequest::ReadThread) => self.thread_read(result, out),
            Some(OutboundRequest::Thread { resume, native, forks, sandboxed }) => {
                self.thread_answered((resume, native, forks, sandboxed), result, out);
            }
            Some(OutboundRequest::Settings) => self.settings_answered(id, result, out),
            Some(OutboundRequest::Turn) => self.turn_answered(id, result, out),
            Some(OutboundRequest::Name) => self.name_answered(result, out),
            Some(OutboundRequest::Rename) => self.rename_answered(id, result, out),
            Some(OutboundRequest::Steer(prompt)) => self.steer_answered(prompt, result, out),
            Some(OutboundRequest::Close) => {
                out.extend(self.orphans(vec![], true));
                out.push(Output::closed());
            }
            // An interrupt may be answered long after, or never: nobody waits for it.
            Some(OutboundRequest::Other) => out.push(dropped()),
            None => out.push(Output::unparsed(unparsed(
                "json-rpc",
                format!("an answer to no request of ours: {id}"),
            ))),
        }
    }

    fn notified(&mut self, method: &str, params: &RawValue, out: &mut Vec<Output>) {
        match Notice::parse(method, params) {
            Ok(notice) => self.notice(method, notice, out),
            Err(fault) => out.push(Output::unparsed(fault)),
        }
    }

    fn notice(&mut self, method: &str, notice: Notice<'_>, out: &mut Vec<Output>) {
        match notice {
            Notice::TurnStarted(TurnNotice { thread_id, turn }) if self.is_child(&thread_id) => {
                self.child_turn_started(&thread_id, turn, out);
            }
            Notice::TurnStarted(news) => self.own_turn_started(news, out),
            Notice::TurnCompleted(TurnNotice { thread_id, turn }) if self.is_child(&thread_id) => {
                self.child_turn_completed(&thread_id, turn, out);
            }
            Notice::TurnCompleted(news) => self.turn_completed(news.turn, out),
            Notice::TurnPlan(plan) => self.plan_updated(plan, out),
            Notice::ItemStarted(news) => self.item(&news, Phase::Started, out),
            Notice::ItemCompleted(news) => self.item(&news, Phase::Completed, out),
            Notice::TextDelta(delta) => self.text_delta(Voice::Answer, delta, out),
            Notice::SummaryDelta(delta) => self.text_delta(Voice::Summary, delta, out),
            Notice::ThoughtDelta(delta) => self.text_delta(Voice::Thought, delta, out),
            Notice::SummaryPart(part) => {
                let spot = self.spot(&part.thread_id, &part.item_id);
                self.texts.part(&spot, part.summary_index, out);
            }
            Notice::CommandOutput(Delta { thread_id, item_id, delta }) => {
                let spot = self.spot(&thread_id, &item_id);
                self.tools.output(&spot, delta, out);
            }
            Notice::McpProgress(progress) => {
                let spot = self.spot(&progress.thread_id, &progress.item_id);
                self.tools.output(&spot, format!("{}\n", progress.message), out);
            }
            Notice::TerminalInteraction(typed) => self.typed(typed, out),
            Notice::TokenUsage(news) if self.is_child(&news.thread_id) => {
                self.child_usage(&news.thread_id, &news.token_usage, out);
            }
            Notice::TokenUsage(news) => self.token_usage(&news.token_usage, out),
            Notice::Error(news) => self.error(news, out),
            Notice::Settings(news) if self.is_child(&news.thread_id) => out.push(dropped()),
            Notice::Settings(news) => self.settings_told(&news.thread_settings, out),
            Notice::Name(news) if self.is_child(&news.thread_id) => out.push(dropped()),
            Notice::Name(news) => {
                self.state(StatePatch { title: Some(news.thread_name), ..StatePatch::default() }, out);
            }
            Notice::Resolved(resolved) => self.request_resolved(&resolved.request_id, out),
            Notice::McpStartup(startup) => self.mcp_startup(startup, out),
            Notice::Warning(warning) => self.status(StatusLabel::Warning, Some(warning.message), out),
            Notice::ConfigWarning(warning) => {
                let details = warning.details.map(|details| format!(": {details}")).unwrap_or_default();
                self.status(StatusLabel::Warning, Some(format!("{}{details}", warning.summary)), out);
            }
            Notice::Hook(news) => self.hook(news.run, out),
            Notice::Rerouted(news) => {
                let detail = format!("Codex used {} instead of {}", news.to_model, news.from_model);
                self.status(StatusLabel::Warning, Some(detail), out);
            }
            Notice::Reverted(at) if self.is_child(&at.thread_id) => out.push(dropped()),
            Notice::Reverted(_) => {
                let detail = "earlier messages were taken back".to_owned();
                self.status(StatusLabel::Removed, Some(detail), out);
            }
            Notice::AccountUpdated(account) => {
                let known = account.auth_mode.is_some();
                self.auth_is(if known { AuthStatus::Ready } else { AuthStatus::Unknown }, out);
            }
            Notice::LoginCompleted(login) if login.success => self.auth_is(AuthStatus::Ready, out),
            Notice::LoginCompleted(_) => out.push(dropped()),
            Notice::Ignored(reason) => out.push(Output::dropped(reason)),
            Notice::Unknown => out.push(Output::unparsed(unparsed(method, "unknown notification"))),
        }
    }

    fn own_turn_started(&mut self, news: TurnNotice, out: &mut Vec<Output>) {
        self.turn_started(news.turn, out);
        self.texts.turn_started(self.turns.begun);
        self.tools.turn_started(self.turns.begun);
    }

    fn text_delta(&mut self, voice: Voice, delta: Delta, out: &mut Vec<Output>) {
        let Delta { thread_id, item_id, delta } = delta;
        self.progress(out);
        let spot = self.spot(&thread_id, &item_id);
        self.texts.extend(&spot, voice, delta, out);
    }

    fn mcp_startup(&mut self, startup: McpStartup, out: &mut Vec<Output>) {
        match (startup.status.as_str(), startup.error) {
            ("failed", error) => {
                let reason = error.map(|error| format!(": {error}")).unwrap_or_default();
                let detail = format!("the MCP server {} did not start{reason}", startup.name);
                self.status(StatusLabel::Warning, Some(detail), out);
            }
            _ => out.push(dropped()),
        }
    }

    fn hook(&mut self, run: HookRun, out: &mut Vec<Output>) {
        let message = run.status_message.map(|message| format!(": {message}")).unwrap_or_default();
        let detail = format!("{} {}{message}", run.event_name, run.status);
        self.status(StatusLabel::Hook, Some(detail), out);
    }

    /// Before the session is open there is no place for it, such as a warning about the user's configuration:
    /// it is kept for then.
    pub(crate) fn status(&mut self, label: StatusLabel, detail: Option<String>, out: &mut Vec<Output>) {
        if !self.thread.started {
            return self.thread.unsaid.push((label, detail));
        }
        whole(self.statuses.status(label, detail), self.turns.is_running(), out);
    }
}
