//! Sessions: their records, what they do, what failed, what is to be done.

use serde::Deserialize;
use serde_json::Value;

use super::{NamedError, Times};
use crate::about::if_fitting;

#[derive(Debug, Deserialize)]
pub(crate) struct OfSession {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionError {
    /// Absent for what befell the server itself.
    #[serde(rename = "sessionID")]
    pub(crate) session: Option<String>,
    pub(crate) error: Option<NamedError>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionChanged {
    pub(crate) info: Session,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    #[serde(rename = "parentID")]
    pub(crate) parent: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) cost: Option<f64>,
    #[serde(default, deserialize_with = "if_fitting")]
    pub(crate) summary: Option<Summary>,
    pub(crate) revert: Option<Revert>,
    /// Its own rules.
    pub(crate) permission: Option<Vec<Value>>,
    #[serde(default)]
    pub(crate) time: Times,
}

/// The changes of a session in files.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Summary {
    pub(crate) files: u64,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Revert {
    #[serde(rename = "messageID")]
    pub(crate) message: String,
    #[serde(rename = "partID")]
    pub(crate) part: Option<String>,
    /// The changes of files as a unified diff.
    pub(crate) diff: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StatusChanged {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) status: Status,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Status {
    Idle,
    Busy,
    Retry { attempt: Option<u64>, message: Option<String> },
}

#[derive(Debug, Deserialize)]
pub(crate) struct TodoUpdated {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) todos: Vec<Todo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Todo {
    pub(crate) content: String,
    pub(crate) status: String,
}
