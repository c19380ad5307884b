//! All sessions of one daemon: finds a session, starts its actor when needed, answers what its row tells.

use omniglot_schema::{
    AgentInfo, AgentModelsResponse, AgentModesResponse, CreateSessionRequest, CreateSessionResponse, Delivered,
    MessageId, MessageRequest, PermissionReply, QueueOnCancel, SessionDetail, SessionId, SessionInfo,
    UniversalEventType,
};
use omniglot_store::{ListFilter, Page, SessionRecord};

use crate::error::RuntimeError;

/// The daemon's sessions. Cheap to clone.
#[derive(Clone)]
pub struct Hub {}

/// The receipt of a message: it is committed.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Posted {
    pub message_id: MessageId,
    pub delivered: Delivered,
    /// The last sequence before the message; its turn begins after it.
    pub after: u64,
}

/// A message's idempotency key and the hash of the body it came with.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub key: String,
    /// sha256 in hex.
    pub body_hash: String,
}

#[expect(clippy::unused_async, clippy::todo, reason = "being built")]
impl Hub {
    pub async fn create(
        &self,
        _id: SessionId,
        _request: CreateSessionRequest,
    ) -> Result<CreateSessionResponse, RuntimeError> {
        todo!()
    }

    pub async fn post(
        &self,
        _id: &SessionId,
        _request: MessageRequest,
        _key: Option<IdempotencyKey>,
    ) -> Result<Posted, RuntimeError> {
        todo!()
    }

    pub async fn remove_queued(&self, _id: &SessionId, _message: &MessageId) -> Result<(), RuntimeError> {
        todo!()
    }

    pub async fn reply_permission(
        &self,
        _id: &SessionId,
        _permission_id: &str,
        _reply: PermissionReply,
        _message: Option<String>,
    ) -> Result<(), RuntimeError> {
        todo!()
    }

    /// `answers` = `None` rejects the question.
    pub async fn reply_question(
        &self,
        _id: &SessionId,
        _question_id: &str,
        _answers: Option<Vec<Vec<String>>>,
    ) -> Result<(), RuntimeError> {
        todo!()
    }

    pub async fn cancel(&self, _id: &SessionId, _queue: QueueOnCancel) -> Result<(), RuntimeError> {
        todo!()
    }

    pub async fn terminate(&self, _id: &SessionId) -> Result<(), RuntimeError> {
        todo!()
    }

    pub async fn delete(&self, _id: &SessionId) -> Result<(), RuntimeError> {
        todo!()
    }

    pub async fn list(&self, _filter: ListFilter) -> Result<Vec<SessionInfo>, RuntimeError> {
        todo!()
    }

    pub async fn detail(&self, _id: &SessionId) -> Result<SessionDetail, RuntimeError> {
        todo!()
    }

    /// The session's row: its epoch, last sequence and number in the store.
    pub async fn record(&self, _id: &SessionId) -> Result<SessionRecord, RuntimeError> {
        todo!()
    }

    /// A page of committed events; `include_raw` splices each event's frame in.
    pub async fn events(
        &self,
        _record: &SessionRecord,
        _after: u64,
        _limit: usize,
        _types: Vec<UniversalEventType>,
    ) -> Result<Page, RuntimeError> {
        todo!()
    }

    pub fn agents(&self) -> Vec<AgentInfo> {
        todo!()
    }

    pub async fn models(&self, _agent: &str) -> Result<AgentModelsResponse, RuntimeError> {
        todo!()
    }

    pub async fn modes(&self, _agent: &str) -> Result<AgentModesResponse, RuntimeError> {
        todo!()
    }

    /// False until recovery is done, and while the log cannot be written; with the reason.
    pub fn ready(&self) -> Result<(), String> {
        todo!()
    }

    /// Ends all agent processes; sessions stay and go on with the next message.
    pub async fn shutdown(&self) {
        todo!()
    }
}
