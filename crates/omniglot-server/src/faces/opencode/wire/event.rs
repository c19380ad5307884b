//! The events of both streams; the streams add the frames around them.

use serde::Serialize;

use super::error::OcError;
use super::message::MessageInfo;
use super::part::Part;
use super::request::{PermissionRequest, QuestionRequest, Reply};
use super::session::{FileDiff, Session, Status, Todo};
use crate::faces::opencode::wire::ids::{self, Id};

/// One event: `{id, type, properties}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OcEvent {
    pub id: Id,
    #[serde(flatten)]
    pub payload: Payload,
}

impl OcEvent {
    /// An event that belongs to no session's log, such as a heartbeat.
    pub fn loose(milliseconds: i64, payload: Payload) -> Self {
        Self { id: ids::event_at(milliseconds), payload }
    }
}

macro_rules! payload {
    ($($name:tt $variant:ident $fields:tt,)*) => {
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "type", content = "properties", rename_all_fields = "camelCase")]
        pub enum Payload {
            $(#[serde(rename = $name)] $variant $fields,)*
        }

        impl Payload {
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)* }
            }
        }
    };
}

payload! {
    "server.connected" ServerConnected {},
    "server.heartbeat" ServerHeartbeat {},
    "server.instance.disposed" InstanceDisposed { directory: String },
    "global.disposed" GlobalDisposed {},
    "session.created" SessionCreated { #[serde(rename = "sessionID")] session_id: Id, info: Box<Session> },
    "session.updated" SessionUpdated { #[serde(rename = "sessionID")] session_id: Id, info: Box<Session> },
    "session.deleted" SessionDeleted { #[serde(rename = "sessionID")] session_id: Id, info: Box<Session> },
    "session.status" SessionStatus { #[serde(rename = "sessionID")] session_id: Id, status: Status },
    "session.idle" SessionIdle { #[serde(rename = "sessionID")] session_id: Id },
    "session.error" SessionError { #[serde(rename = "sessionID")] session_id: Id, error: OcError },
    "session.diff" SessionDiff { #[serde(rename = "sessionID")] session_id: Id, diff: Vec<FileDiff> },
    "session.compacted" SessionCompacted { #[serde(rename = "sessionID")] session_id: Id },
    "message.updated" MessageUpdated { #[serde(rename = "sessionID")] session_id: Id, info: MessageInfo },
    "message.removed" MessageRemoved {
        #[serde(rename = "sessionID")] session_id: Id,
        #[serde(rename = "messageID")] message_id: Id,
    },
    "message.part.updated" PartUpdated {
        #[serde(rename = "sessionID")] session_id: Id,
        part: Box<Part>,
        time: i64,
    },
    "message.part.delta" PartDelta {
        #[serde(rename = "sessionID")] session_id: Id,
        #[serde(rename = "messageID")] message_id: Id,
        #[serde(rename = "partID")] part_id: Id,
        /// The string of the part that grows: always `text`.
        field: &'static str,
        delta: String,
    },
    "permission.asked" PermissionAsked(Box<PermissionRequest>),
    "permission.replied" PermissionReplied {
        #[serde(rename = "sessionID")] session_id: Id,
        #[serde(rename = "requestID")] request_id: Id,
        reply: Reply,
    },
    "question.asked" QuestionAsked(Box<QuestionRequest>),
    "question.replied" QuestionReplied {
        #[serde(rename = "sessionID")] session_id: Id,
        #[serde(rename = "requestID")] request_id: Id,
        answers: Vec<Vec<String>>,
    },
    "question.rejected" QuestionRejected {
        #[serde(rename = "sessionID")] session_id: Id,
        #[serde(rename = "requestID")] request_id: Id,
    },
    "todo.updated" TodoUpdated { #[serde(rename = "sessionID")] session_id: Id, todos: Vec<Todo> },
    "tui.toast.show" ToastShow { title: String, message: String, variant: ToastVariant },
}

impl Payload {
    /// Whether it changes the messages of a session.
    pub fn is_about(&self, session: &Id) -> bool {
        match self {
            Self::MessageUpdated { session_id, .. }
            | Self::MessageRemoved { session_id, .. }
            | Self::PartUpdated { session_id, .. }
            | Self::PartDelta { session_id, .. } => session_id == session,
            _ => false,
        }
    }
}

/// The colour of a short note on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToastVariant {
    Info,
    Warning,
    Error,
}
