//! OpenCode's own records and events, as version 1.18.33 writes them; no meaning added.
//!
//! Only the types that we send: the routes read the bodies of clients.

mod error;
mod event;
pub mod ids;
mod message;
mod part;
mod request;
mod session;
pub mod tool_names;

pub use error::OcError;
pub use event::{OcEvent, Payload, ToastVariant};
pub use message::{
    AssistantMessage, AssistantTime, MessageInfo, MessageModel, MessagePath, MessageWithParts, UserMessage,
    UserSummary, UserTime,
};
pub use part::{Attachment, Part, PartBody, Span, ToolPart, ToolState};
pub use request::{PermissionRequest, QuestionInfo, QuestionOption, QuestionRequest, Reply, ToolReference};
pub use session::{
    CacheTokens, DiffStatus, FileDiff, Session, SessionModel, SessionRevert, SessionSummary, SessionTime,
    Status, Todo, Tokens,
};

/// A record whose keys belong to a tool, not to us.
pub type Record = serde_json::Map<String, serde_json::Value>;
