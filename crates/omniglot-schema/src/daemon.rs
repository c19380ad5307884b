//! The status of a daemon.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The status of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    /// The version of the daemon.
    pub version: String,
    /// The process id of the daemon.
    pub pid: u32,
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// The number of all stored sessions, ended ones included.
    pub sessions: u64,
    /// The number of sessions with a running agent process.
    pub live: u64,
    /// The number of sessions with a running turn or a queued message.
    pub busy: u64,
}
