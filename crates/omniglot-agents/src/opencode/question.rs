//! Permissions and questions, and our answers to them (T10 to T12).
//!
//! OpenCode is never answered `always`: its grant would hold for every session of the server.

mod gone;

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use omniglot_schema::{
    PermissionOption, PermissionReply, PermissionStatus, QuestionInfo, QuestionOption, ResolvedBy,
};
use omniglot_timeline::{ItemKey, PermissionAsk, QuestionAsk};
use serde_json::json;

use super::diff::file_change;
use super::plan::HANDS_IN;
use super::translate::Whose;
use super::wire::{self, PermissionAsked, PermissionReplied, QuestionAsked, Reply};
use super::{OpenCode, dropped, json};
use crate::contract::{Draft, DropReason, Output, RequestKey};
use crate::http::Method;

/// The requests that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: IndexMap<String, Request>,
    /// The person's reply, until the answer is sent.
    replies: HashMap<String, (PermissionReply, Option<String>)>,
    /// Answered over the agent's head.
    withdrawn: Vec<String>,
    /// Answered by somebody else while nobody could listen.
    gone: HashSet<String>,
}

#[derive(Debug)]
struct Request {
    kind: Kind,
    /// The call that waits for it.
    call: Option<ItemKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Permission,
    Question,
}

impl Requests {
    /// The server forgets to take back what an abort has left.
    pub(crate) fn turn_ended(&mut self) {
        self.open.clear();
        self.replies.clear();
        self.withdrawn.clear();
        self.gone.clear();
    }

    fn kind(&self, id: &str) -> Option<Kind> {
        self.open.get(id).map(|request| request.kind)
    }
}

impl OpenCode {
    pub(crate) fn permission_asked(&mut self, asked: PermissionAsked, out: &mut Vec<Output>) {
        if self.whose(&asked.session) == Whose::Other {
            return;
        }
        // An abort leaves dead requests in the server's list, and what we have answered may still stand there.
        if !self.once.insert(asked.id.clone()) {
            return out.push(dropped(DropReason::Duplicate));
        }
        let call = asked.tool.as_ref().and_then(|tool| self.call_named(&tool.call)).map(|call| {
            asked.metadata.diff.iter().for_each(|diff| call.propose(diff));
            call.key.clone()
        });
        self.requests.open.insert(asked.id.clone(), Request { kind: Kind::Permission, call: call.clone() });
        let subject = asked.metadata.command.clone().or_else(|| asked.metadata.filepath.clone());
        let subject = subject.unwrap_or_else(|| asked.patterns.join(", "));
        let files = match (&asked.metadata.filepath, &asked.metadata.diff) {
            (Some(path), Some(diff)) => vec![file_change(path.clone(), diff, false)],
            _ => vec![],
        };
        let about = self.servers.about_request(&asked.permission, &asked.metadata);
        let ask = PermissionAsk {
            key: RequestKey(asked.id.clone()),
            native_id: Some(asked.id.into()),
            action: format!("{}: {subject}", asked.permission),
            call,
            tool: Some(asked.permission),
            pattern: (!asked.always.is_empty()).then(|| asked.always.join(", ")),
            options: options(),
            files,
            detail: None,
            kind: Some(about.kind),
            subject: about.subject.boxed(),
        };
        out.push(Draft::PermissionRequested(ask).into());
    }

    pub(crate) fn question_asked(&mut self, asked: QuestionAsked, out: &mut Vec<Output>) {
        if self.whose(&asked.session) == Whose::Other {
            return;
        }
        if !self.once.insert(asked.id.clone()) {
            return out.push(dropped(DropReason::Duplicate));
        }
        let call = asked.tool.as_ref().and_then(|tool| self.call_named(&tool.call));
        let is_about_plan = call.as_ref().is_some_and(|call| call.name == HANDS_IN);
        let call = call.map(|call| call.key.clone());
        self.requests.open.insert(asked.id.clone(), Request { kind: Kind::Question, call: call.clone() });
        let mut questions: Vec<QuestionInfo> = asked.questions.into_iter().map(shown).collect();
        if is_about_plan {
            self.show_plan(&mut questions, out);
        }
        let key = RequestKey(asked.id.clone());
        let ask = QuestionAsk { key, native_id: Some(asked.id.into()), call, questions };
        out.push(Draft::QuestionRequested(ask).into());
    }

    pub(crate) fn reply_permission(
        &mut self,
        key: &RequestKey,
        reply: PermissionReply,
        message: Option<String>,
        out: &mut Vec<Output>,
    ) {
        if self.requests.kind(&key.0) != Some(Kind::Permission) {
            return;
        }
        let wire = match reply {
            PermissionReply::Once | PermissionReply::Always => "once",
            PermissionReply::Reject => "reject",
        };
        let body = match message.as_ref().filter(|_| reply == PermissionReply::Reject) {
            Some(message) => json!({"reply": wire, "message": message}),
            None => json!({"reply": wire}),
        };
        self.requests.replies.insert(key.0.clone(), (reply, message));
        self.ask(Method::Post, &format!("/permission/{}/reply", key.0), json(&body), out);
    }

    pub(crate) fn reply_question(
        &mut self,
        key: &RequestKey,
        answers: Option<&Vec<Vec<String>>>,
        out: &mut Vec<Output>,
    ) {
        if self.requests.kind(&key.0) != Some(Kind::Question) {
            return;
        }
        match answers {
            Some(answers) => {
                let body = json(&json!({"answers": answers}));
                self.ask(Method::Post, &format!("/question/{}/reply", key.0), body, out);
            }
            None => {
                self.ask(Method::Post, &format!("/question/{}/reject", key.0), None, out);
            }
        }
    }

    /// Nobody will answer: the tool must not wait for it.
    pub(crate) fn withdraw(&mut self, key: &RequestKey, out: &mut Vec<Output>) {
        let path = match self.requests.kind(&key.0) {
            Some(Kind::Permission) => format!("/permission/{}/reply", key.0),
            Some(Kind::Question) => format!("/question/{}/reject", key.0),
            None => return,
        };
        let body = path.starts_with("/permission").then(|| json(&json!({"reply": "reject"}))).flatten();
        self.requests.withdrawn.push(key.0.clone());
        self.ask(Method::Post, &path, body, out);
    }

    /// An answer went to the server: the request is resolved.
    pub(crate) fn permission_answered(
        &mut self,
        id: &str,
        wire: Option<Reply>,
        message: Option<String>,
        out: &mut Vec<Output>,
    ) {
        if self.requests.open.shift_remove(id).is_none() {
            return;
        }
        let said = self.requests.replies.remove(id);
        let by = self.resolved_by(id);
        let status = match (&said, wire) {
            (Some((PermissionReply::Always, _)), _) | (None, Some(Reply::Always)) => {
                PermissionStatus::AcceptForSession
            }
            (Some((PermissionReply::Once, _)), _) | (None, Some(Reply::Once)) => PermissionStatus::Accept,
            (Some((PermissionReply::Reject, _)), _) | (None, Some(Reply::Reject) | None) => {
                PermissionStatus::Reject
            }
        };
        let message = said.and_then(|(_, message)| message).or(message);
        out.push(Draft::PermissionResolved { key: RequestKey(id.to_owned()), status, by, message }.into());
    }

    pub(crate) fn question_answered(
        &mut self,
        id: &str,
        answers: Option<Vec<Vec<String>>>,
        out: &mut Vec<Output>,
    ) {
        if self.requests.open.shift_remove(id).is_some() {
            let by = self.resolved_by(id);
            out.push(Draft::QuestionResolved { key: RequestKey(id.to_owned()), answers, by }.into());
        }
    }

    fn resolved_by(&mut self, id: &str) -> ResolvedBy {
        let before = self.requests.withdrawn.len();
        self.requests.withdrawn.retain(|withdrawn| withdrawn != id);
        if before == self.requests.withdrawn.len() { ResolvedBy::Person } else { ResolvedBy::Cancel }
    }

    /// Handles a permission's resolution: the echo of our own answer, or the answer of another client.
    pub(crate) fn permission_replied(&mut self, event: &PermissionReplied, out: &mut Vec<Output>) {
        if self.requests.open.shift_remove(&event.request).is_none() {
            return out.push(dropped(DropReason::Echo));
        }
        let status = match event.reply {
            Reply::Once => PermissionStatus::Accept,
            Reply::Always => PermissionStatus::AcceptForSession,
            Reply::Reject => PermissionStatus::Reject,
        };
        let (key, by) = (RequestKey(event.request.clone()), ResolvedBy::Agent);
        out.push(Draft::PermissionResolved { key, status, by, message: None }.into());
    }

    pub(crate) fn question_resolved(
        &mut self,
        id: &str,
        answers: Option<Vec<Vec<String>>>,
        out: &mut Vec<Output>,
    ) {
        if self.requests.open.shift_remove(id).is_none() {
            return out.push(dropped(DropReason::Echo));
        }
        let (key, by) = (RequestKey(id.to_owned()), ResolvedBy::Agent);
        out.push(Draft::QuestionResolved { key, answers, by }.into());
    }
}

fn options() -> Vec<PermissionOption> {
    [
        ("once", "Allow once", "allow_once"),
        ("always", "Allow always", "allow_always"),
        ("reject", "Reject", "reject_once"),
    ]
    .map(|(id, name, kind)| PermissionOption { id: id.into(), name: name.into(), kind: kind.into() })
    .into()
}

fn shown(question: wire::Question) -> QuestionInfo {
    let option =
        |choice: wire::Choice| QuestionOption { label: choice.label, description: choice.description };
    QuestionInfo {
        prompt: question.question,
        header: question.header,
        options: question.options.into_iter().map(option).collect(),
        multi_select: question.multiple,
        free_text: question.custom != Some(false),
        ..QuestionInfo::default()
    }
}
