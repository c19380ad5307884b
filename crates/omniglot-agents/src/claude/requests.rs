//! The CLI's own requests: which wait for an answer of ours, and what became of each (T10, T18).
//!
//! `permissions` and `questions` read the requests and write the answers.

use indexmap::IndexMap;
use omniglot_schema::{PermissionReply, PermissionStatus, ResolvedBy, StatusLabel};
use omniglot_timeline::ItemKey;
use serde_json::value::RawValue;

use super::permissions::Permission;
use super::questions::Question;
use super::wire::control::{HookCallback, failure, success};
use super::wire::{CanUseTool, ControlRequest, ControlResponse, RequestBody};
use super::{Claude, dropped};
use crate::contract::{Draft, DropReason, Output, RequestKey};
use crate::fault::unparsed;

#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: IndexMap<RequestKey, OpenRequest>,
    made: u64,
}

#[derive(Debug)]
struct OpenRequest {
    id: String,
    asked: InboundRequest,
    /// The reply, until the answer is sent. A recording holds the answer alone.
    said: Option<Said>,
}

#[derive(Debug)]
pub(crate) enum InboundRequest {
    Permission(Permission),
    Question(Question),
}

#[derive(Debug, Clone)]
enum Said {
    /// The person's words with the reply.
    Permission(Option<String>),
    Answers(Option<Vec<Vec<String>>>),
    Withdrawn,
}

impl Requests {
    pub(crate) fn add(&mut self, id: String, asked: InboundRequest) -> RequestKey {
        self.made += 1;
        let key = RequestKey(format!("{}:{id}", self.made));
        self.open.insert(key.clone(), OpenRequest { id, asked, said: None });
        key
    }

    pub(crate) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn take_by_id(&mut self, id: &str) -> Option<(RequestKey, OpenRequest)> {
        let key = self.open.iter().find(|(_, open)| open.id == id).map(|(key, _)| key.clone())?;
        self.open.shift_remove_entry(&key)
    }
}

impl Claude {
    pub(crate) fn control_request(&mut self, request: &ControlRequest<'_>, out: &mut Vec<Output>) {
        let id = request.request_id.clone();
        match request.ask() {
            Ok(RequestBody::CanUseTool(ask)) => self.can_use_tool(id, *ask, out),
            Ok(RequestBody::Elicitation(form)) => self.elicited(id, &form, out),
            Ok(RequestBody::HookCallback(hook)) => self.hook_called(&id, hook, out),
            Ok(RequestBody::Unknown { subtype }) => {
                let words = format!("Omniglot does not serve {subtype}");
                Self::send(failure(&id, &words), out);
                out.push(Output::unparsed(unparsed(format!("control_request.{subtype}"), words)));
            }
            Err(fault) => {
                Self::send(failure(&id, &fault.error), out);
                out.push(Output::unparsed(fault));
            }
        }
    }

    fn can_use_tool(&mut self, id: String, ask: CanUseTool, out: &mut Vec<Output>) {
        let call = ask.tool_use_id.as_deref().and_then(|call| self.waiting_call(call, out));
        match ask.tool_name.as_str() {
            "AskUserQuestion" => self.ask_questions(id, ask, call, out),
            "ExitPlanMode" => self.ask_for_plan(id, ask, call, out),
            _ => self.ask_permission(id, ask, call, out),
        }
    }

    /// The call that waits. One of a subagent in the background must be told now; and a person who is asked
    /// between two turns is asked in a turn of the agent.
    fn waiting_call(&mut self, id: &str, out: &mut Vec<Output>) -> Option<ItemKey> {
        self.turn_for_request(out);
        self.release_for_person(id, out);
        self.tools.call_of(id)
    }

    fn hook_called(&mut self, id: &str, hook: HookCallback, out: &mut Vec<Output>) {
        Self::send(success(id, serde_json::Map::new()), out);
        let event = hook.input.hook_event_name.unwrap_or_else(|| "a hook".to_owned());
        self.status(StatusLabel::Hook, event, out);
    }

    /// The CLI withdraws a request: nothing is to be sent any more.
    pub(crate) fn control_cancel(&mut self, id: &str, out: &mut Vec<Output>) {
        let by = if self.turns.is_cancelled() { ResolvedBy::Cancel } else { ResolvedBy::Agent };
        match self.requests.take_by_id(id) {
            Some((key, open)) => out.push(open.asked.rejected(key, by, None).into()),
            None => dropped(DropReason::Internal, out),
        }
        self.end_if_done(out);
    }

    pub(crate) fn reply_permission(
        &mut self,
        key: &RequestKey,
        reply: PermissionReply,
        message: Option<String>,
        out: &mut Vec<Output>,
    ) {
        let Some(open) = self.requests.open.get_mut(key) else { return };
        let InboundRequest::Permission(permission) = &open.asked else { return };
        Self::send(permission.answer(&open.id, reply, message.as_deref()), out);
        open.said = Some(Said::Permission(message));
    }

    pub(crate) fn reply_question(
        &mut self,
        key: &RequestKey,
        answers: Option<Vec<Vec<String>>>,
        out: &mut Vec<Output>,
    ) {
        let Some(open) = self.requests.open.get_mut(key) else { return };
        let InboundRequest::Question(question) = &open.asked else { return };
        Self::send(question.answer(&open.id, answers.as_deref()), out);
        open.said = Some(Said::Answers(answers));
    }

    /// The request was resolved over the CLI's head: it must not wait, and need not go on.
    pub(crate) fn withdraw(&mut self, key: &RequestKey, out: &mut Vec<Output>) {
        let Some(open) = self.requests.open.get_mut(key) else { return };
        Self::send(open.asked.withdrawal(&open.id), out);
        open.said = Some(Said::Withdrawn);
    }

    /// An answer went to the CLI: the request is resolved.
    pub(crate) fn answer_sent(&mut self, answer: &ControlResponse<'_>, out: &mut Vec<Output>) {
        let Some((key, open)) = self.requests.take_by_id(answer.request_id()) else { return };
        let body = answer.result().ok().flatten();
        if let Some(Said::Withdrawn) = open.said {
            // Whoever withdraws it interrupts the turn, too.
            return out.push(open.asked.rejected(key, ResolvedBy::Cancel, None).into());
        }
        match &open.asked {
            InboundRequest::Permission(permission) => {
                let (status, mut words) = permission.status(body);
                if let Some(Said::Permission(message)) = open.said {
                    words = message;
                }
                let by = ResolvedBy::Person;
                out.push(Draft::PermissionResolved { key, status, by, message: words }.into());
                if status != PermissionStatus::Reject
                    && let Some(call) = &permission.call
                {
                    self.tools.runs(call, out);
                }
            }
            InboundRequest::Question(question) => {
                let answers = match open.said {
                    Some(Said::Answers(answers)) => answers,
                    _ => question.read(body),
                };
                out.push(Draft::QuestionResolved { key, answers, by: ResolvedBy::Person }.into());
            }
        }
        self.end_if_done(out);
    }
}

impl InboundRequest {
    fn rejected(&self, key: RequestKey, by: ResolvedBy, message: Option<String>) -> Draft {
        match self {
            Self::Permission(_) => {
                Draft::PermissionResolved { key, status: PermissionStatus::Reject, by, message }
            }
            Self::Question(_) => Draft::QuestionResolved { key, answers: None, by },
        }
    }

    fn withdrawal(&self, id: &str) -> Result<Box<RawValue>, crate::contract::Unparsed> {
        match self {
            Self::Permission(_) => super::permissions::interrupt(id),
            Self::Question(question) => question.withdrawal(id),
        }
    }
}
