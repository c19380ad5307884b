//! Dialogs: those of our gate are permissions, those of other extensions questions (T10, T12). Notes for the screen
//! need no answer.

use std::time::Duration;

use omniglot_schema::{ResolvedBy, StatePatch, StatusLabel};

use super::outgoing::{Outgoing, Sent};
use super::permissions::GATE_STATUS;
use super::questions::Question;
use super::wire::Dialog;
use super::{Pi, dropped, mcp, permissions, send};
use crate::contract::{Command, DropReason, Output};
use crate::conversation::requests::{InboundRequests, Reply, RequestDetails};
use crate::fault::unparsed;
use crate::host::{HostAsk, HostKey, HostOutcome, HostRequest};

pub(crate) type Requests = InboundRequests<String, Details>;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Details {
    Permission,
    /// With the timer of a question that Pi gives up by itself.
    Question(Question, Option<HostKey>),
}

impl RequestDetails for Details {
    fn is_question(&self) -> bool {
        matches!(self, Self::Question(..))
    }
}

impl Pi {
    pub(crate) fn dialog(&mut self, dialog: Dialog, out: &mut Vec<Output>) {
        match dialog.method.as_str() {
            "input" if dialog.title == mcp::TITLE => self.gate_asks_for_servers(&dialog.id, out),
            "select" | "confirm" | "input" | "editor" => match permissions::asked(&dialog.title) {
                Some(ask) => self.gate_asks(dialog.id, &ask, out),
                None => self.ask_question(dialog, out),
            },
            "notify" => {
                let label = match dialog.notify_type.as_deref() {
                    Some("warning" | "error") => StatusLabel::Warning,
                    _ => StatusLabel::ExtensionUi,
                };
                self.status(label, dialog.message.unwrap_or_default(), out);
            }
            "setStatus" if dialog.status_key.as_deref() == Some(GATE_STATUS) => self.gate_says(&dialog, out),
            "setTitle" => {
                self.state(StatePatch { title: Some(Some(dialog.title)), ..StatePatch::default() }, out)
            }
            "setStatus" | "setWidget" | "set_editor_text" => dropped(DropReason::Extension, out),
            other => {
                // Nobody may wait for us.
                send(&Sent { id: Some(dialog.id), body: Outgoing::dismissed() }, out);
                let fault = unparsed(format!("extension_ui_request.{other}"), "unknown method");
                out.push(Output::unparsed(fault));
            }
        }
    }

    /// An open dialog would keep Pi from stopping, so one that was resolved over its head is dismissed.
    pub(crate) fn reply(&mut self, command: &Command, out: &mut Vec<Output>) {
        let Some(open) = self.requests.reply(command) else { return };
        let body = match (open.details, &open.reply) {
            (Details::Permission, Some(Reply::Permission(reply, message))) => {
                permissions::answer(*reply, message.as_deref())
            }
            (Details::Question(question, _), Some(Reply::Answers(answers))) => {
                question.answer(answers.as_deref())
            }
            _ => Outgoing::dismissed(),
        };
        send(&Sent { id: Some(open.id.clone()), body }, out);
    }

    /// Sets the timer of a dialog that Pi gives up after this many milliseconds, without a word.
    pub(crate) fn start_timer(
        &mut self,
        milliseconds: Option<f64>,
        out: &mut Vec<Output>,
    ) -> Option<HostKey> {
        let time = Duration::try_from_secs_f64(milliseconds? / 1000.0).ok()?;
        self.timers += 1;
        let key = HostKey(self.timers);
        out.push(Output::host(HostAsk { key, request: HostRequest::Timer(time) }));
        Some(key)
    }

    /// Pi has given up a question, unless its answer is on its way.
    pub(crate) fn timer_elapsed(&mut self, key: HostKey, outcome: &HostOutcome, out: &mut Vec<Output>) {
        let given_up = |details| matches!(details, Details::Question(_, Some(timer)) if timer == key);
        let mut open = self.requests.open.iter().filter(|open| open.reply.is_none());
        let expired = open.find(|open| *outcome == HostOutcome::Elapsed && given_up(open.details));
        if let Some(id) = expired.map(|open| open.id.clone()) {
            out.extend(self.requests.take(&id).map(|open| open.rejected(ResolvedBy::Expiry).into()));
        }
    }

    /// An answer went to Pi: the request is resolved.
    pub(crate) fn answer_sent(&mut self, id: &str, body: &Outgoing, out: &mut Vec<Output>) {
        let Some(open) = self.requests.take(id) else { return };
        let by = open.answered_by();
        let draft = match (open.details, &open.reply) {
            (_, Some(Reply::Withdrawal)) => open.rejected(by),
            (Details::Permission, _) => open.permission(open.granted(permissions::status(body)), by, None),
            (Details::Question(..), Some(Reply::Answers(answers))) => open.question(answers.clone(), by),
            (Details::Question(..), _) => open.question(Question::read(body), by),
        };
        out.push(draft.into());
    }
}
