//! OpenCode's own words, typed as far as they mean something to us; no meaning added.
//!
//! Here are the events of a directory's stream; what they are about is below. Versions seen: 1.18.33. Fields
//! that nobody reads are left out, so a new one breaks nothing.

mod ask;
mod list;
mod message;
mod part;
mod prompt;
mod session;
mod tool;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use ask::*;
pub(crate) use list::*;
pub(crate) use message::*;
pub(crate) use part::*;
pub(crate) use prompt::*;
pub(crate) use session::*;
pub(crate) use tool::*;

use crate::contract::{Unparsed, decode};

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

/// One event of a directory's stream.
#[derive(Debug)]
pub(crate) enum Event {
    MessageUpdated(MessageUpdated),
    MessageRemoved(MessageRemoved),
    PartUpdated(PartUpdated),
    PartDelta(PartDelta),
    PartRemoved(PartRemoved),
    SessionCreated(SessionChanged),
    SessionUpdated(SessionChanged),
    SessionDeleted(OfSession),
    SessionStatus(StatusChanged),
    SessionIdle(OfSession),
    SessionError(SessionError),
    SessionCompacted(OfSession),
    PermissionAsked(PermissionAsked),
    PermissionReplied(PermissionReplied),
    QuestionAsked(QuestionAsked),
    QuestionReplied(QuestionReplied),
    QuestionRejected(QuestionRejected),
    TodoUpdated(TodoUpdated),
    Heartbeat,
    /// About the directory, the program or the screen: nothing that happened in a session.
    Housekeeping,
    Unknown {
        kind: String,
    },
}

impl Event {
    pub(crate) fn parse(frame: &RawValue) -> Result<Self, Unparsed> {
        let Tag { kind, properties } = decode("event", frame)?;
        let body = properties.unwrap_or(RawValue::NULL);
        Ok(match &*kind {
            "message.updated" => Self::MessageUpdated(decode(&kind, body)?),
            "message.removed" => Self::MessageRemoved(decode(&kind, body)?),
            "message.part.updated" => Self::PartUpdated(PartUpdated::parse(body)?),
            "message.part.delta" => Self::PartDelta(decode(&kind, body)?),
            "message.part.removed" => Self::PartRemoved(decode(&kind, body)?),
            "session.created" => Self::SessionCreated(decode(&kind, body)?),
            "session.updated" => Self::SessionUpdated(decode(&kind, body)?),
            "session.deleted" => Self::SessionDeleted(decode(&kind, body)?),
            "session.status" => Self::SessionStatus(decode(&kind, body)?),
            "session.idle" => Self::SessionIdle(decode(&kind, body)?),
            "session.error" => Self::SessionError(decode(&kind, body)?),
            "session.compacted" => Self::SessionCompacted(decode(&kind, body)?),
            "permission.asked" => Self::PermissionAsked(decode(&kind, body)?),
            "permission.replied" => Self::PermissionReplied(decode(&kind, body)?),
            "question.asked" => Self::QuestionAsked(decode(&kind, body)?),
            "question.replied" => Self::QuestionReplied(decode(&kind, body)?),
            "question.rejected" => Self::QuestionRejected(decode(&kind, body)?),
            "todo.updated" => Self::TodoUpdated(decode(&kind, body)?),
            "server.connected" | "server.heartbeat" => Self::Heartbeat,
            _ if HOUSEKEEPING.iter().any(|known| kind.starts_with(known)) => Self::Housekeeping,
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

impl Event {
    /// Whether it says something about a session, and so belongs after what happened there before.
    pub(crate) fn has_an_order(&self) -> bool {
        !matches!(self, Self::Heartbeat | Self::Housekeeping | Self::Unknown { .. })
    }

    /// The session in which something is said by this.
    pub(crate) fn speaks_in(&self) -> Option<&str> {
        if let Self::MessageUpdated(event) = self {
            return Some(&event.info.session);
        }
        if let Self::PartUpdated(event) = self {
            return Some(&event.head.session);
        }
        if let Self::PartDelta(event) = self { Some(&event.session) } else { None }
    }
}

/// Beginnings of the names of events that no session is about: seen, or in the server's own schema.
const HOUSEKEEPING: &[&str] = &[
    "session.diff",
    "command.executed",
    "file.",
    "plugin.",
    "catalog.",
    "reference.",
    "integration.",
    "installation.",
    "lsp.",
    "mcp.",
    "project.",
    "pty.",
    "server.instance.",
    "skill.",
    "tui.",
    "vcs.",
    "ide.",
    "workspace.",
    "worktree.",
    "global.",
    "models-dev.",
    "account.",
    "auth.",
    "config.",
];
