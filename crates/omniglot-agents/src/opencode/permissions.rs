//! Permissions: what the server wants to do, and what was said to it (T10, T11).
//!
//! OpenCode is never answered `always`: its grant would hold for every session of the server.

use omniglot_schema::{PermissionStatus, ResolvedBy};
use omniglot_timeline::PermissionAsk;

use super::diff::file_change;
use super::outbound::OutboundRequest;
use super::requests::{Details, Kind};
use super::translate::Whose;
use super::wire::{PermissionAsked, PermissionReplied, Reply};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output};
use crate::conversation::requests::options;

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
        let key = self.requests.add(asked.id.clone(), Details::new(Kind::Permission, call.clone()));
        let subject = asked.metadata.command.clone().or_else(|| asked.metadata.filepath.clone());
        let subject = subject.unwrap_or_else(|| asked.patterns.join(", "));
        let files = match (&asked.metadata.filepath, &asked.metadata.diff) {
            (Some(path), Some(diff)) => vec![file_change(path.clone(), diff, false)],
            _ => vec![],
        };
        let about = self.servers.about_request(&asked.permission, &asked.metadata);
        let ask = PermissionAsk {
            key,
            native_id: Some(asked.id.into()),
            action: format!("{}: {subject}", asked.permission),
            call,
            tool: Some(asked.permission),
            pattern: (!asked.always.is_empty()).then(|| asked.always.join(", ")),
            options: options([("once", "Allow once"), ("always", "Allow always"), ("reject", "Reject")]),
            files,
            detail: None,
            kind: Some(about.kind),
            subject: about.subject.boxed(),
        };
        out.push(Draft::PermissionRequested(ask).into());
    }

    /// The server has taken our reply: the request is resolved.
    pub(crate) fn permission_answered(
        &mut self,
        id: &str,
        reply: Option<Reply>,
        message: Option<String>,
        out: &mut Vec<Output>,
    ) {
        let Some(open) = self.requests.take(id) else { return };
        let status = open.granted(reply.map_or(PermissionStatus::Reject, status));
        out.push(open.permission(status, open.answered_by(), message).into());
    }

    /// Handles a permission's resolution: by our reply, whose answer is still to come or has come, or by that of
    /// another client.
    pub(crate) fn permission_replied(&mut self, event: &PermissionReplied, out: &mut Vec<Output>) {
        let ours = self.outbound.purposes().find_map(|sent| {
            let OutboundRequest::PermissionReply { id, reply, message } = sent else { return None };
            (*id == event.request && *reply == Some(event.reply)).then(|| message.clone())
        });
        if let Some(message) = ours.filter(|_| self.requests.is_open(&event.request)) {
            return self.permission_answered(&event.request, Some(event.reply), message, out);
        }
        out.push(match self.requests.take(&event.request) {
            Some(open) => open.permission(status(event.reply), ResolvedBy::Agent, None).into(),
            None => dropped(DropReason::Echo),
        });
    }
}

fn status(reply: Reply) -> PermissionStatus {
    match reply {
        Reply::Once => PermissionStatus::Accept,
        Reply::Always => PermissionStatus::AcceptForSession,
        Reply::Reject => PermissionStatus::Reject,
    }
}
