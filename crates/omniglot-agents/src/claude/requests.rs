//! The CLI's own requests: which wait for an answer of ours, and what became of each (T10, T18).
//!
//! `permissions` and `questions` read the requests and write the answers.

use omniglot_schema::{PermissionStatus, ResolvedBy, StatusLabel};
use omniglot_timeline::ItemKey;

use super::permissions::{Permission, interrupt};
use super::questions::Question;
use super::wire::control::{HookCallback, failure, success};
use super::wire::{CanUseTool, ControlRequest, ControlResponse, RequestBody};
use super::{Claude, dropped};
use crate::contract::{Command, DropReason, Output};
use crate::conversation::requests::{InboundRequests, Reply, RequestDetails};
use crate::fault::unparsed;

pub(crate) type Requests = InboundRequests<String, Details>;

#[derive(Debug)]
pub(crate) enum Details {
    Permission(Permission),
    Question(Question),
}

impl RequestDetails for Details {
    fn is_question(&self) -> bool {
        matches!(self, Self::Question(_))
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
        match self.requests.take(id) {
            Some(open) => out.push(open.rejected(by).into()),
            None => dropped(DropReason::Internal, out),
        }
        self.end_if_done(out);
    }

    /// A request that was resolved over the CLI's head must not wait, and need not go on.
    pub(crate) fn reply(&mut self, command: &Command, out: &mut Vec<Output>) {
        let Some(open) = self.requests.reply(command) else { return };
        let id = &open.id;
        let answer = match (&open.details, &open.reply) {
            (Details::Permission(permission), Some(Reply::Permission(reply, message))) => {
                permission.answer(id, *reply, message.as_deref())
            }
            (Details::Permission(_), _) => interrupt(id),
            (Details::Question(question), Some(Reply::Answers(answers))) => {
                question.answer(id, answers.as_deref())
            }
            (Details::Question(question), _) => question.withdrawal(id),
        };
        Self::send(answer, out);
    }

    /// An answer went to the CLI: the request is resolved.
    pub(crate) fn answer_sent(&mut self, answer: &ControlResponse<'_>, out: &mut Vec<Output>) {
        let Some(open) = self.requests.take(answer.request_id()) else { return };
        let body = answer.result().ok().flatten();
        match (&open.details, &open.reply) {
            // Whoever withdraws it interrupts the turn, too.
            (_, Some(Reply::Withdrawal)) => return out.push(open.rejected(ResolvedBy::Cancel).into()),
            (Details::Permission(permission), _) => {
                let (status, words) = permission.status(body);
                out.push(open.permission(status, ResolvedBy::Person, words).into());
                if status != PermissionStatus::Reject
                    && let Some(call) = &permission.call
                {
                    self.tools.runs(call, out);
                }
            }
            (Details::Question(question), reply) => {
                let answers = match reply {
                    Some(Reply::Answers(answers)) => answers.clone(),
                    _ => question.read(body),
                };
                out.push(open.question(answers, ResolvedBy::Person).into());
            }
        }
        self.end_if_done(out);
    }
}
