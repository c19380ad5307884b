//! Requests of the server to a person: which wait for an answer of ours, and those that nobody here answers any
//! more (T10).
//!
//! The turn of such a request is stopped, or somebody else has answered it while the event stream was cut. How,
//! OpenCode keeps nowhere; what came of the call tells it.

use std::collections::HashSet;

use omniglot_schema::{PermissionReply, PermissionStatus, ResolvedBy};
use omniglot_timeline::ItemKey;
use serde_json::json;

use super::failure::refused;
use super::plan::HANDS_IN;
use super::tool::Call;
use super::{OpenCode, json};
use crate::contract::{Command, Output};
use crate::conversation::requests::{InboundRequests, Reply, RequestDetails};
use crate::http::{Answer, Method};

pub(crate) type Requests = InboundRequests<String, Details>;

#[derive(Debug)]
pub(crate) struct Details {
    kind: Kind,
    /// The call that waits for it.
    call: Option<ItemKey>,
    /// It was answered by somebody else while nobody could listen.
    gone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Permission,
    Question,
}

impl Details {
    pub(crate) fn new(kind: Kind, call: Option<ItemKey>) -> Self {
        Self { kind, call, gone: false }
    }
}

impl RequestDetails for Details {
    fn is_question(&self) -> bool {
        self.kind == Kind::Question
    }
}

impl OpenCode {
    /// Sends the reply to the server. A request that nobody will answer is rejected, so that no tool waits for it.
    pub(crate) fn reply(&mut self, command: &Command, out: &mut Vec<Output>) {
        let Some(open) = self.requests.reply(command) else { return };
        let (path, body) = match (open.details.kind, &open.reply) {
            (Kind::Permission, reply) => {
                let body = match reply {
                    Some(Reply::Permission(PermissionReply::Once | PermissionReply::Always, _)) => {
                        json!({"reply": "once"})
                    }
                    Some(Reply::Permission(PermissionReply::Reject, Some(message))) => {
                        json!({"reply": "reject", "message": message})
                    }
                    _ => json!({"reply": "reject"}),
                };
                (format!("/permission/{}/reply", open.id), json(&body))
            }
            (Kind::Question, Some(Reply::Answers(Some(answers)))) => {
                (format!("/question/{}/reply", open.id), json(&json!({"answers": answers})))
            }
            (Kind::Question, _) => (format!("/question/{}/reject", open.id), None),
        };
        self.ask(Method::Post, &path, body, out);
    }

    /// The request that we withdraw is resolved already; the server may not even have it any more.
    pub(crate) fn withdrawal_sent(&mut self, id: &str) {
        if self.requests.get_mut(id).is_some_and(|open| open.reply == Some(Reply::Withdrawal)) {
            self.requests.take(id);
        }
    }

    /// Whether the server has taken the reply to an open request; if not, it still waits for one.
    pub(crate) fn is_taken(&mut self, id: &str, answer: &Answer, out: &mut Vec<Output>) -> bool {
        if let Some(open) = self.requests.get_mut(id).filter(|_| !answer.is_success()) {
            open.reply = None;
            out.push(Output::reply_refused(open.key.clone(), refused(answer).message));
        }
        answer.is_success()
    }

    /// The turn is stopped: nobody will answer.
    pub(crate) fn cancel_requests(&mut self, out: &mut Vec<Output>) {
        out.extend(self.requests.open.drain(..).map(|open| open.rejected(ResolvedBy::Cancel).into()));
    }

    /// Which requests of this kind the server still has; the others are gone.
    pub(crate) fn only_open(&mut self, kind: Kind, listed: &HashSet<String>) {
        for open in self.requests.open.iter_mut().filter(|open| open.details.kind == kind) {
            open.details.gone |= !listed.contains(&open.id);
        }
    }

    /// Resolves requests whose answer was missed: those of a call that has ended, or of all calls.
    pub(crate) fn resolve_gone(&mut self, call: Option<&ItemKey>, out: &mut Vec<Output>) {
        let is_of_call = |details: &Details| call.is_none() || details.call.as_ref() == call;
        let gone = self.requests.open.iter().filter(|open| open.details.gone && is_of_call(&open.details));
        let known = gone.filter_map(|open| Some((open.id.clone(), self.answers_by_call(&open.details)?)));
        for (id, answers) in known.collect::<Vec<_>>() {
            let Some(open) = self.requests.take(&id) else { continue };
            let by = ResolvedBy::Agent;
            out.push(match answers {
                Some(_) if open.details.kind == Kind::Permission => {
                    open.permission(PermissionStatus::Accept, by, None).into()
                }
                Some(answers) => open.question(Some(answers), by).into(),
                None => open.rejected(by).into(),
            });
        }
    }

    /// Returns the answers that the call of a request shows, `Some(None)` for a rejection; `None` as long as the
    /// call shows nothing.
    fn answers_by_call(&self, details: &Details) -> Option<Option<Vec<Vec<String>>>> {
        let key = details.call.as_ref();
        let call = key.and_then(|key| self.calls.values().find(|call| call.key == *key));
        match (details.kind, call) {
            (_, None) => Some(None),
            (_, Some(call)) if call.has_failed() => Some(None),
            (Kind::Permission, Some(_)) => Some(Some(vec![])),
            // Its answers come with its end.
            (Kind::Question, Some(call)) if !call.is_done() => None,
            (Kind::Question, Some(call)) => Some(call.answers.clone().or_else(|| approval(call))),
        }
    }
}

/// A plan is handed in by a question, and accepted in one way.
fn approval(call: &Call) -> Option<Vec<Vec<String>>> {
    (call.name == HANDS_IN).then(|| vec![vec!["Yes".to_owned()]])
}
