//! The errors that clients receive: `application/problem+json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The kind of a problem; its `type` is `urn:sandbox-agent:error:<kind>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    InvalidRequest,
    UnsupportedAgent,
    AgentNotInstalled,
    InstallFailed,
    AgentProcessExited,
    AgentUnavailable,
    TokenInvalid,
    PermissionDenied,
    SessionNotFound,
    SessionAlreadyExists,
    ModeNotSupported,
    StreamError,
    Timeout,
    NotFound,
    Conflict,
    Gone,
    TooLarge,
    UnsupportedMediaType,
    Overloaded,
    DesktopDependenciesMissing,
    Internal,
}

impl ErrorType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::UnsupportedAgent => "unsupported_agent",
            Self::AgentNotInstalled => "agent_not_installed",
            Self::InstallFailed => "install_failed",
            Self::AgentProcessExited => "agent_process_exited",
            Self::AgentUnavailable => "agent_unavailable",
            Self::TokenInvalid => "token_invalid",
            Self::PermissionDenied => "permission_denied",
            Self::SessionNotFound => "session_not_found",
            Self::SessionAlreadyExists => "session_already_exists",
            Self::ModeNotSupported => "mode_not_supported",
            Self::StreamError => "stream_error",
            Self::Timeout => "timeout",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
            Self::TooLarge => "too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::Overloaded => "overloaded",
            Self::DesktopDependenciesMissing => "desktop_dependencies_missing",
            Self::Internal => "internal",
        }
    }

    pub fn status(self) -> u16 {
        match self {
            Self::InvalidRequest | Self::UnsupportedAgent | Self::ModeNotSupported => 400,
            Self::TokenInvalid => 401,
            Self::PermissionDenied => 403,
            Self::AgentNotInstalled | Self::SessionNotFound | Self::NotFound => 404,
            Self::SessionAlreadyExists | Self::Conflict => 409,
            Self::Gone => 410,
            Self::TooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Overloaded => 429,
            Self::InstallFailed | Self::AgentProcessExited | Self::Internal => 500,
            Self::AgentUnavailable | Self::StreamError => 502,
            Self::DesktopDependenciesMissing => 503,
            Self::Timeout => 504,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::InvalidRequest => "Invalid Request",
            Self::UnsupportedAgent => "Unsupported Agent",
            Self::AgentNotInstalled => "Agent Not Installed",
            Self::InstallFailed => "Install Failed",
            Self::AgentProcessExited => "Agent Process Exited",
            Self::AgentUnavailable => "Agent Unavailable",
            Self::TokenInvalid => "Token Invalid",
            Self::PermissionDenied => "Permission Denied",
            Self::SessionNotFound => "Session Not Found",
            Self::SessionAlreadyExists => "Session Already Exists",
            Self::ModeNotSupported => "Mode Not Supported",
            Self::StreamError => "Stream Error",
            Self::Timeout => "Timeout",
            Self::NotFound => "Not Found",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::TooLarge => "Too Large",
            Self::UnsupportedMediaType => "Unsupported Media Type",
            Self::Overloaded => "Overloaded",
            Self::DesktopDependenciesMissing => "Desktop Dependencies Missing",
            Self::Internal => "Internal Error",
        }
    }
}

/// A refusal or failure: the body of every answer with a status of 400 and above.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemDetails {
    /// `urn:sandbox-agent:error:<kind>`
    pub r#type: String,
    /// The kind of problem in words.
    pub title: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The problem as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The request that failed, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The agent that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The next step that may fix the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Further members that a daemon may add.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

impl ProblemDetails {
    pub fn new(kind: ErrorType, detail: impl Into<String>) -> Self {
        Self {
            r#type: format!("urn:sandbox-agent:error:{}", kind.as_str()),
            title: kind.title().to_owned(),
            status: kind.status(),
            detail: Some(detail.into()),
            instance: None,
            agent: None,
            session_id: None,
            hint: None,
            more: BTreeMap::new(),
        }
    }
}

/// The reason why a session cannot work yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentError {
    /// The kind of failure.
    pub r#type: ErrorType,
    /// The failure as a sentence.
    pub message: String,
    /// The agent that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Further data about the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}
