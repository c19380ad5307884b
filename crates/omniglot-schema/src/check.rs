//! What came of trying an agent: whether it works, and what is in the way.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::agent::{AgentInfo, AgentModeInfo, AgentModelInfo};
use crate::lifecycle::StderrOutput;
use crate::state::AuthState;

/// An agent was started and asked for a session that nobody uses.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCheck {
    pub agent: AgentInfo,
    /// Whether it takes prompts: no finding is a problem.
    pub healthy: bool,
    /// The command line that was tried.
    pub command: Vec<String>,
    pub duration_ms: u64,
    /// What it says about logging in; absent when it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<AuthState>,
    pub models: Vec<AgentModelInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    pub modes: Vec<AgentModeInfo>,
    pub findings: Vec<Finding>,
}

/// One thing that a person should know about an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub kind: FindingKind,
    /// Whether the agent does not work because of it.
    pub problem: bool,
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What the agent wrote there meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<StderrOutput>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Its program is not there.
    NotInstalled,
    /// Its program is there and cannot be run.
    NotStarted,
    /// It wants somebody to log in first.
    LoggedOut,
    /// Its process ended before it was ready.
    Exited,
    /// It did not answer in time.
    Silent,
    /// It answered that it will not.
    Refused,
    /// It said what is not of its protocol.
    NotUnderstood,
}
