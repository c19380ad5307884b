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
use crate::contract::{Draft, DropReason, Output, RequestKey};
use crate::fault::unparsed;
use crate::form::Form;
use crate::rpc::{self, InboundRequests, RpcError, RpcId, send};

/// The requests that wait for an answer of ours.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: InboundRequests<OpenRequest>,
}

#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(crate) id: RpcId,
    pub(crate) kind: Kind,
    /// The tool that does nothing but ask: what is answered is its result.
    tool: Option<AskingTool>,
    /// The person's reply, until the answer is sent.
    pub(crate) reply: Option<(PermissionReply, Option<String>)>,
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

impl Requests {
    pub(crate) fn add(&mut self, id: RpcId, kind: Kind, tool: Option<AskingTool>) -> RequestKey {
        self.open.add(OpenRequest { id, kind, tool, reply: None })
    }

    pub(crate) fn is_open(&self, key: &RequestKey) -> bool {
        self.open.get(key).is_some()
    }

    /// The answer to give, or nothing if the request is no longer open.
    pub(crate) fn reply(
        &mut self,
        key: &RequestKey,
        reply: PermissionReply,
        message: Option<String>,
    ) -> Option<Output> {
        let open = self.open.get_mut(key)?;
        open.reply = Some((reply, message));
        Some(open.permit(reply))
    }

    pub(crate) fn answer(&self, key: &RequestKey, answers: Option<&[Vec<String>]>) -> Option<Output> {
        Some(self.open.get(key)?.answer(answers))
    }

    /// Whether its turn would go on with whatever is answered.
    pub(crate) fn would_go_on(&self, key: &RequestKey) -> bool {
        self.open.get(key).is_some_and(|open| !matches!(open.kind, Kind::Approval))
    }

    /// The request was resolved over the server's head. Its turn is being cancelled, so this cancels, too; the
    /// interrupt itself closes a question, for which there is no such answer.
    pub(crate) fn withdraw(&self, key: &RequestKey) -> Option<Output> {
        let open = self.open.get(key)?;
        match &open.kind {
            Kind::Approval => Some(open.send(&DecisionAnswer { decision: Decision::Cancel })),
            Kind::Permissions(_) => Some(open.permit(PermissionReply::Reject)),
            Kind::McpTool { .. } | Kind::Form(_) => Some(open.send(&action("cancel"))),
            Kind::Questions(_) => None,
        }
    }
}

impl rpc::InboundRequest for OpenRequest {
    fn id(&self) -> &RpcId {
        &self.id
    }
}

impl OpenRequest {
    pub(crate) fn send(&self, result: &impl serde::Serialize) -> Output {
        send(rpc::answer(&self.id, result))
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
        let Some((key, open)) = self.requests.open.take(id) else { return };
        if matches!(open.kind, Kind::Questions(_) | Kind::Form(_)) {
            let (answers, by) = open.answered(result);
            let words = answers.as_deref().map(in_words);
            out.push(Draft::QuestionResolved { key, answers, by }.into());
            return self.tool_answered(open.tool, words, out);
        }
        let (status, by) = match result {
            Ok(raw) => open.verdict(raw),
            Err(_) => (PermissionStatus::Reject, ResolvedBy::Person),
        };
        if by == ResolvedBy::Cancel {
            // To cancel an approval is to interrupt its turn.
            self.turns.cancel_sent();
        }
        let message = open.reply.and_then(|(_, message)| message);
        out.push(Draft::PermissionResolved { key, status, by, message }.into());
        let accepted = (status != PermissionStatus::Reject).then(|| "accepted".to_owned());
        self.tool_answered(open.tool, accepted, out);
    }

    /// The server needs no answer any more. It says so of every request, also after our answer.
    pub(crate) fn request_resolved(&mut self, id: &RpcId, out: &mut Vec<Output>) {
        let by = if self.turns.is_cancelled() { ResolvedBy::Cancel } else { ResolvedBy::Agent };
        let Some((key, open)) = self.requests.open.take(id) else {
            return out.push(Output::dropped(DropReason::Echo));
        };
        out.push(match open.kind {
            Kind::Questions(_) | Kind::Form(_) => Draft::QuestionResolved { key, answers: None, by }.into(),
            Kind::Approval | Kind::Permissions(_) | Kind::McpTool { .. } => {
                let status = PermissionStatus::Reject;
                Draft::PermissionResolved { key, status, by, message: None }.into()
            }
        });
        self.tool_answered(open.tool, None, out);
    }
}

fn is_approval(ask: &Elicitation) -> bool {
    ask.meta.as_ref().is_some_and(|meta| meta.codex_approval_kind.as_deref() == Some("mcp_tool_call"))
}
