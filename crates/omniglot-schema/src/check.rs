//! The result of checking an agent: whether it works, and the problems that were found.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::agent::{AgentInfo, AgentModeInfo, AgentModelInfo};
use crate::lifecycle::StderrOutput;
use crate::state::AuthState;

/// The result of starting an agent and opening a session that is not used further.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCheck {
    /// The agent that was checked.
    pub agent: AgentInfo,
    /// Whether the agent accepts prompts: no finding is a problem.
    pub healthy: bool,
    /// The command line that was run.
    pub command: Vec<String>,
    /// How long the check took, in milliseconds.
    pub duration_ms: u64,
    /// The login state that the agent reports; absent when it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<AuthState>,
    /// The models that the agent lists.
    pub models: Vec<AgentModelInfo>,
    /// The model that the agent uses without a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// The modes that the agent lists.
    pub modes: Vec<AgentModeInfo>,
    /// Everything that was found, problems and remarks.
    pub findings: Vec<Finding>,
}

/// One finding about an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The kind of finding.
    pub kind: FindingKind,
    /// Whether this finding keeps the agent from working.
    pub problem: bool,
    /// The finding as a sentence.
    pub message: String,
    /// The next step that may fix the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The agent's output to stderr during the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<StderrOutput>,
}

/// The kind of a finding about an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The agent's program does not exist.
    NotInstalled,
    /// The agent's program exists and cannot be run.
    NotStarted,
    /// The agent requires a login first.
    LoggedOut,
    /// The agent's process exited before the agent was ready.
    Exited,
    /// The agent did not answer in time.
    Silent,
    /// The agent answered with a refusal.
    Refused,
    /// The agent sent a message that its protocol does not have.
    NotUnderstood,
}
