//! How an agent is started, as data. The runtime starts it; nothing here touches a process.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The command line and environment of an agent process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    pub program: String,
    pub args: Vec<String>,
    /// Added to the inherited environment.
    pub env: IndexMap<String, String>,
}
