//! The description of a tool call: its kind, and its subject.
//!
//! Both are set by the adapter, which alone knows its agent's tools, so that no reader has to guess from
//! names and arguments.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The kind of a tool call, the same for every agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or other data.
    Read,
    /// Writes or changes files.
    Edit,
    Delete,
    Move,
    /// Looks for files or text, on this machine or on the web.
    Search,
    /// Runs a command.
    Execute,
    /// Fetches a document by its URL.
    Fetch,
    Think,
    /// Writes a plan or a list of tasks.
    Plan,
    /// Starts a subagent, or sends it a message.
    Agent,
    /// Changes the mode of the session.
    Mode,
    /// Calls a tool of an MCP server.
    Mcp,
    Other,
}

/// The subject of a tool call, as far as the agent reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolSubject {
    /// The command line, as a shell would take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory of the command, where it is not the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The files that the call reads, writes or lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<ToolPath>,
    /// The pattern or text to search for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The URL to fetch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The MCP server whose tool is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The agent's own description of the call's purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A file of a tool call, and the line that it begins at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolPath {
    /// The path, as the agent tells it.
    pub path: String,
    /// The line that the call begins at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl ToolSubject {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the subject in a box, or `None` if it is empty.
    pub fn boxed(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }
}

impl ToolPath {
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None }
    }
}
