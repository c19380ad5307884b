//! The messages and replies that clients send into a session.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A message to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MessageRequest {
    /// The text.
    pub message: String,
    /// Files and images that belong to the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<MessageAttachment>,
    /// The delivery of the message while a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// The client's own id for this message and, after it, for the message's text and each attachment.
    /// `turn.started` repeats the ids, so that a client recognises its own message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_ids: Vec<String>,
    /// An object of the client's own, repeated as `client_metadata` by `turn.started`, or by the item of a message
    /// that steers a running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

impl MessageRequest {
    /// A message of this text and nothing else.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            attachments: vec![],
            delivery: None,
            client_ids: vec![],
            metadata: None,
        }
    }
}

/// A file or image that belongs to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MessageAttachment {
    /// The path on the daemon's machine.
    pub path: String,
    /// The media type; guessed from the name by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// The name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// How a message is delivered while a turn runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    #[default]
    Queue,
    Steer,
    Reject,
}

/// The actual delivery of a message: the value of `Omniglot-Delivery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    Started,
    Queued,
    Steered,
}

impl Delivered {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Queued => "queued",
            Self::Steered => "steered",
        }
    }
}

/// The reply to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionReplyRequest {
    /// Whether the agent may act.
    pub reply: PermissionReply,
    /// Kept as `metadata.message` of the resolution, and sent to the agent where its protocol has a field for
    /// it; ACP has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A reply to a permission request. `always` covers the same tool and pattern for the rest of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionReply {
    Once,
    Always,
    Reject,
}

/// The answers to the questions of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionReplyRequest {
    /// One array per question: labels of its options, or free text where it is allowed. Fewer arrays leave
    /// the other questions unanswered; an answer that does not fit is refused with 400.
    pub answers: Vec<Vec<String>>,
}

/// The cancellation of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelRequest {
    /// The fate of messages that wait; they are kept by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueOnCancel>,
}

/// The fate of queued messages when a turn is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueOnCancel {
    Keep,
    Drop,
}
