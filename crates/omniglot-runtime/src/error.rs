//! What can go wrong with a command to a session; faces convert it to their own errors.

use omniglot_schema::{ErrorType, ResolvedBy};
use omniglot_store::StoreError;

/// A refused command: nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error("no session {0}")]
    SessionNotFound(String),
    #[error("session {0} exists already")]
    SessionExists(String),
    #[error("no agent {name}; known agents: {known}")]
    UnsupportedAgent { name: String, known: String },
    #[error("{0}")]
    InvalidRequest(String),
    #[error("{0}")]
    ModeNotSupported(String),
    #[error("the program of agent {agent} was not found: {program}")]
    AgentNotInstalled { agent: String, program: String },
    #[error("agent {agent} did not start: {message}")]
    AgentFailed { agent: String, message: String, hint: Option<String> },
    #[error("agent {agent} did not answer its handshake within {seconds} s")]
    AgentSilent { agent: String, seconds: u64 },
    #[error("no open request {0}")]
    RequestNotFound(String),
    #[error("request {id} is already resolved: {status} by {by:?}")]
    AlreadyResolved { id: String, status: String, by: ResolvedBy },
    #[error("no queued message {0}")]
    MessageNotFound(String),
    #[error("a turn is running")]
    Busy,
    #[error("the idempotency key was used with another body")]
    KeyReused,
    #[error("the queue is full: {0} messages wait")]
    QueueFull(usize),
    #[error("{0}")]
    Overloaded(String),
    #[error("{0}")]
    Gone(String),
    #[error("the daemon is shutting down")]
    Stopping,
    #[error("the event log")]
    Store(#[from] StoreError),
}

impl RuntimeError {
    pub fn kind(&self) -> ErrorType {
        match self {
            Self::SessionNotFound(_) => ErrorType::SessionNotFound,
            Self::SessionExists(_) => ErrorType::SessionAlreadyExists,
            Self::UnsupportedAgent { .. } => ErrorType::UnsupportedAgent,
            Self::InvalidRequest(_) => ErrorType::InvalidRequest,
            Self::ModeNotSupported(_) => ErrorType::ModeNotSupported,
            Self::AgentNotInstalled { .. } => ErrorType::AgentNotInstalled,
            Self::AgentFailed { .. } => ErrorType::AgentProcessExited,
            Self::AgentSilent { .. } => ErrorType::Timeout,
            Self::RequestNotFound(_) | Self::MessageNotFound(_) => ErrorType::NotFound,
            Self::AlreadyResolved { .. } | Self::Busy | Self::KeyReused => ErrorType::Conflict,
            Self::QueueFull(_) | Self::Overloaded(_) | Self::Stopping => ErrorType::Overloaded,
            Self::Gone(_) => ErrorType::Gone,
            Self::Store(_) => ErrorType::Internal,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::AgentNotInstalled { agent, .. } => Some(format!(
                "install the program or set `command` under [agents.{agent}] in omniglot.toml"
            )),
            Self::AgentFailed { hint, .. } => hint.clone(),
            Self::Busy => Some("send it with delivery `queue`, or cancel the turn first".into()),
            Self::QueueFull(_) => Some("wait until the running turn has ended".into()),
            Self::Gone(_) => Some("read the session again from offset 0".into()),
            _ => None,
        }
    }
}
