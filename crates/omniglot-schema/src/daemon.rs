//! What a daemon says about itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    pub version: String,
    pub pid: u32,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// All sessions that it keeps, ended ones included.
    pub sessions: u64,
    /// Sessions with a process of their agent.
    pub live: u64,
    /// Sessions with a turn that runs or a message that waits.
    pub busy: u64,
}
