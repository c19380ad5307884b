//! The installation of agents by the daemon.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The version to install. Without any member nothing is done where the agent is there already; else its newest
/// version is installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInstallRequest {
    /// Install also a version that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinstall: Option<bool>,
    /// The version, such as `2.1.325`: a range or a tag is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// Install the newest published version, also where the agent is there in another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<bool>,
}

/// The result of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentInstallResponse {
    /// Whether there was nothing to do.
    pub already_installed: bool,
    /// The programs that are there now.
    pub artifacts: Vec<AgentInstallArtifact>,
}

/// A program of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentInstallArtifact {
    /// `agent`
    pub kind: String,
    /// The path of the program.
    pub path: String,
    /// `npm` for a program that the daemon has installed, `path` for one of the search path, `configured` or
    /// `builtin`.
    pub source: String,
    /// The version of the program, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
