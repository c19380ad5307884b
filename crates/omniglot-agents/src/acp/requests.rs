//! The agent's requests to a person: which wait for an answer of ours, and what became of each (T10).
//!
//! `permissions` and `questions` read the requests and write the answers.

use omniglot_schema::{PermissionReply, PermissionStatus, ResolvedBy, StatusLabel};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Acp;
use super::permissions::{self, Permission};
use super::questions;
use crate::contract::{Command, DropReason, Output, decode};
use crate::conversation::requests::{InboundRequest, InboundRequests, Reply, RequestDetails};
use crate::form::Form;
use crate::rpc::{RpcError, RpcId};

pub(crate) type Requests = InboundRequests<RpcId, Details>;

#[derive(Debug)]
pub(crate) enum Details {
    Permission(Permission),
    Form(Form),
}

impl RequestDetails for Details {
    fn is_question(&self) -> bool {
        matches!(self, Self::Form(_))
    }
}

impl Acp {
    pub(crate) fn reply(&mut self, command: &Command, out: &mut Vec<Output>) {
        let Some(open) = self.requests.reply(command) else { return };
        out.push(match (&open.details, &open.reply) {
            (Details::Permission(permission), Some(Reply::Permission(reply, _))) => {
                permission.answer(&open.id, *reply)
            }
            (Details::Form(form), Some(Reply::Answers(answers))) => {
                questions::reply(&open.id, form, answers.as_deref())
            }
            (Details::Permission(_) | Details::Form(_), _) => open.cancellation(),
        });
    }

    /// One of our answers went out: its request is resolved. What was said is read from the wire, as it is in a
    /// recording.
    pub(crate) fn answer_sent(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let Some(open) = self.requests.take(id) else { return self.duty_answered(id, result) };
        match &open.details {
            Details::Permission(permission) => {
                let (status, by) = permission.resolved(result, open.reply.as_ref());
                let status = if permission.grantable { open.granted(status) } else { status };
                if status == PermissionStatus::Reject && open.is_accepted() {
                    let why = "the agent offers no option for this reply, so its request was rejected";
                    self.status(StatusLabel::Warning, Some(why.to_owned()), out);
                }
                out.push(open.permission(status, by, None).into());
                let rejected = status == PermissionStatus::Reject && by == ResolvedBy::Person;
                if rejected && self.agent.quirks.repairs.silent_rejections && self.turns.is_running() {
                    out.push(permission.rejected_call().into());
                }
            }
            Details::Form(form) => {
                let (answers, by) = questions::resolved(form, result);
                out.push(open.question(answers, by).into());
            }
        }
    }

    pub(crate) fn request_cancelled(&mut self, params: &RawValue, out: &mut Vec<Output>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: RpcId,
        }
        let by = if self.turns.is_cancelled() { ResolvedBy::Cancel } else { ResolvedBy::Agent };
        let id = match decode("$/cancel_request", params) {
            Ok(Params { request_id }) => request_id,
            Err(fault) => return out.push(Output::unparsed(fault)),
        };
        if let Some(open) = self.requests.take(&id) {
            // The agent no longer wants an answer, but the protocol still asks for one.
            out.push(open.cancellation());
            out.push(open.rejected(by).into());
        } else if !self.duty_cancelled(&id, out) {
            // Our answer and this notice have crossed: there is nothing left to cancel.
            out.push(Output::dropped(DropReason::Superseded));
        }
    }
}

impl InboundRequest<RpcId, Details> {
    fn is_accepted(&self) -> bool {
        matches!(self.reply, Some(Reply::Permission(PermissionReply::Once | PermissionReply::Always, _)))
    }

    fn cancellation(&self) -> Output {
        match self.details {
            Details::Permission(_) => permissions::cancellation(&self.id),
            Details::Form(_) => questions::cancellation(&self.id),
        }
    }
}
