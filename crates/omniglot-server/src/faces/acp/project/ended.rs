//! The end of a session, as the mapping document writes it.

use agent_client_protocol_schema::v1::{SessionInfoUpdate, SessionUpdate};
use omniglot_schema::{SessionEndReason, SessionEndedData, StderrOutput, TerminatedBy};
use serde::Serialize;

use super::{AgentExited, Out, Outgoing};
use crate::faces::acp::wire::meta::{self, Notes};

/// `_meta["sandbox-agent/sessionEnd"]`
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionEnd<'a> {
    reason: SessionEndReason,
    terminated_by: TerminatedBy,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<Stderr<'a>>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stderr<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tail: Option<&'a str>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
}

impl<'a> From<&'a SessionEndedData> for SessionEnd<'a> {
    fn from(data: &'a SessionEndedData) -> Self {
        Self {
            reason: data.reason,
            terminated_by: data.terminated_by,
            message: data.message.as_deref(),
            exit_code: data.exit_code,
            stderr: data.stderr.as_ref().map(Stderr::from),
        }
    }
}

impl<'a> From<&'a StderrOutput> for Stderr<'a> {
    fn from(output: &'a StderrOutput) -> Self {
        Self {
            head: output.head.as_deref(),
            tail: output.tail.as_deref(),
            truncated: output.truncated,
            total_lines: output.total_lines,
        }
    }
}

pub(super) fn session_ended(data: &SessionEndedData, out: &mut Out<'_>) {
    let end = || Notes::default().with(meta::SESSION_END, Some(SessionEnd::from(data)));
    let info = SessionInfoUpdate::new().updated_at(out.event.time.to_string()).meta(end().into_meta());
    out.update(SessionUpdate::SessionInfoUpdate(info));
    // One that we were told to end has not exited by itself.
    if data.terminated_by == TerminatedBy::Agent {
        let exited = AgentExited {
            success: data.exit_code == Some(0),
            code: data.exit_code,
            session_id: out.event.session_id.clone(),
            meta: end().into_map(),
        };
        out.sent.push(Outgoing::Exited(Box::new(exited)));
    }
}
