//! Requests of the server to a person and our answers (T10), as far as all are alike; the rest is in `permissions` and
//! `questions`.
//!
//! A request is resolved when its answer was really sent, or when the server says that it needs none.

use omniglot_schema::{PermissionReply, PermissionStatus, ResolvedBy};
use omniglot_timeline::ItemKey;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Codex;
use super::questions::in_words;
use super::tool::{Call, Done};
use super::wire::{
    CallStatus, Decision, DecisionAnswer, Elicitation, ElicitationAnswer, ServerRequest, UserQuestion,
};
use crate::contract::{Command, DropReason, Output};
use crate::conversation::requests::{InboundRequest, InboundRequests, Reply, RequestDetails};
use crate::fault::unparsed;
use crate::form::Form;
use crate::rpc::{self, RpcError, RpcId, send};

/// The requests that wait for an answer of ours.
pub(crate) type Requests = InboundRequests<RpcId, Details>;
pub(crate) type OpenRequest = InboundRequest<RpcId, Details>;

#[derive(Debug)]
pub(crate) struct Details {
    pub(crate) kind: Kind,
    /// The tool that does nothing but ask: what is answered is its result.
    pub(crate) tool: Option<AskingTool>,
}

/// A call that has no item: only its request names it.
#[derive(Debug)]
pub(crate) struct AskingTool {
    pub(crate) call: ItemKey,
    thread: String,
    id: String,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// Of a command or a patch.
    Approval,
    /// More rights; what was asked for is what is granted.
    Permissions(Value),
    /// Of a tool of an MCP server, asked as a form without fields.
    McpTool {
        persists: bool,
    },
    Questions(Vec<UserQuestion>),
    Form(Form),
}

impl RequestDetails for Details {
    fn is_question(&self) -> bool {
        matches!(self.kind, Kind::Questions(_) | Kind::Form(_))
    }
}

impl OpenRequest {
    pub(crate) fn send(&self, result: &impl serde::Serialize) -> Output {
        send(rpc::answer(&self.id, result))
    }

    /// The request was resolved over the server's head. Its turn is being cancelled, so this cancels, too; the
    /// interrupt itself closes a question, for which there is no such answer.
    fn withdrawal(&self) -> Option<Output> {
        match &self.details.kind {
            Kind::Approval => Some(self.send(&DecisionAnswer { decision: Decision::Cancel })),
            Kind::Permissions(_) => Some(self.permit(PermissionReply::Reject)),
            Kind::McpTool { .. } | Kind::Form(_) => Some(self.send(&action("cancel"))),
            Kind::Questions(_) => None,
        }
    }
}

pub(crate) fn action(action: &str) -> ElicitationAnswer {
    ElicitationAnswer { action: action.to_owned(), content: None, meta: None }
}

impl Codex {
    pub(crate) fn requested(&mut self, id: RpcId, method: &str, params: &RawValue, out: &mut Vec<Output>) {
        match ServerRequest::parse(method, params) {
            Ok(ServerRequest::Command(ask)) => self.ask_command(id, ask, out),
            Ok(ServerRequest::FileChange(ask)) => self.ask_patch(id, ask, out),
            Ok(ServerRequest::Permissions(ask)) => self.ask_permissions(id, ask, out),
            Ok(ServerRequest::UserInput(ask)) => self.ask_questions(id, ask, out),
            Ok(ServerRequest::Elicitation(ask)) if is_approval(&ask) => self.ask_mcp_tool(id, ask, out),
            Ok(ServerRequest::Elicitation(ask)) => self.ask_form(id, ask, out),
            Ok(ServerRequest::Unserved) => {
                out.push(send(rpc::refusal(&id, &RpcError::not_served(method))));
                out.push(Output::unparsed(unparsed(method, "a request that we do not serve")));
            }
            Err(fault) => {
                out.push(send(rpc::refusal(&id, &RpcError::not_served(method))));
                out.push(Output::unparsed(fault));
            }
        }
    }

    pub(crate) fn reply(&mut self, command: &Command, out: &mut Vec<Output>) {
        let Some(open) = self.requests.reply(command) else { return };
        let (answer, would_go_on) = match &open.reply {
            Some(Reply::Permission(reply, _)) => (Some(open.permit(*reply)), false),
            Some(Reply::Answers(answers)) => (Some(open.answer(answers.as_deref())), false),
            Some(Reply::Withdrawal) | None => {
                (open.withdrawal(), !matches!(open.details.kind, Kind::Approval))
            }
        };
        if let Command::ReplyPermission { reply: PermissionReply::Reject, message: Some(words), .. } = command
        {
            out.extend(self.say(words));
        }
        if would_go_on {
            self.cancel(out);
        }
        out.extend(answer);
    }

    /// Tells the call of a tool that asks. Without a turn the Timeline makes one for the request, and the call.
    pub(crate) fn asking_tool(
        &mut self,
        thread: String,
        id: Option<String>,
        call: Call,
        out: &mut Vec<Output>,
    ) -> Option<AskingTool> {
        let id = id?;
        let spot = self.spot(&thread, &id);
        spot.turn?;
        let call = self.tools.begin(&spot, call, out);
        Some(AskingTool { call, thread, id })
    }

    /// A turn that is over has given the call its result.
    fn tool_answered(&mut self, tool: Option<AskingTool>, answer: Option<String>, out: &mut Vec<Output>) {
        let Some(AskingTool { thread, id, .. }) = tool.filter(|_| self.turns.is_running()) else { return };
        let done = match answer {
            Some(answer) => Done::whole(answer),
            None => Done::of(CallStatus::Failed, "rejected".to_owned()),
        };
        let spot = self.spot(&thread, &id);
        self.tools.finish(&spot, done, out);
    }

    /// One of our answers went out: its request is resolved.
    pub(crate) fn answer_sent(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let Some(open) = self.requests.take(id) else { return };
        if open.details.is_question() {
            let (answers, by) = open.answered(result);
            let words = answers.as_deref().map(in_words);
            out.push(open.question(answers, by).into());
            return self.tool_answered(open.details.tool, words, out);
        }
        let (status, by) = match result {
            Ok(raw) => open.verdict(raw),
            Err(_) => (PermissionStatus::Reject, ResolvedBy::Person),
        };
        if by == ResolvedBy::Cancel {
            // To cancel an approval is to interrupt its turn.
            self.turns.cancel_sent();
        }
        out.push(open.permission(open.granted(status), by, None).into());
        let accepted = (status != PermissionStatus::Reject).then(|| "accepted".to_owned());
        self.tool_answered(open.details.tool, accepted, out);
    }

    /// The server needs no answer any more. It says so of every request, also after our answer.
    pub(crate) fn request_resolved(&mut self, id: &RpcId, out: &mut Vec<Output>) {
        let by = if self.turns.is_cancelled() { ResolvedBy::Cancel } else { ResolvedBy::Agent };
        let Some(open) = self.requests.take(id) else {
            return out.push(Output::dropped(DropReason::Echo));
        };
        out.push(open.rejected(by).into());
        self.tool_answered(open.details.tool, None, out);
    }
}

fn is_approval(ask: &Elicitation) -> bool {
    ask.meta.as_ref().is_some_and(|meta| meta.codex_approval_kind.as_deref() == Some("mcp_tool_call"))
}
