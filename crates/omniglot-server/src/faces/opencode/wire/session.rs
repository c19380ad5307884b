//! A session's record, and the events about it beside its messages.

use serde::Serialize;

use crate::faces::opencode::wire::ids::Id;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Session {
    pub id: Id,
    pub slug: String,
    #[serde(rename = "projectID")]
    pub project_id: String,
    pub directory: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(rename = "parentID", skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<SessionSummary>,
    pub cost: f64,
    pub tokens: Tokens,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<SessionModel>,
    pub version: String,
    pub time: SessionTime,
}

/// Lines changed since the session began.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SessionSummary {
    pub additions: u64,
    pub deletions: u64,
    pub files: usize,
}

/// Sessions name a model's id `id`; messages name it `modelID`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionModel {
    pub id: String,
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// Milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionTime {
    pub created: i64,
    pub updated: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacting: Option<i64>,
}

/// `input` excludes the cache, and `output` excludes reasoning.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tokens {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    pub input: u64,
    pub output: u64,
    pub reasoning: u64,
    pub cache: CacheTokens,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CacheTokens {
    pub read: u64,
    pub write: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Status {
    Idle,
    Busy,
    Retry {
        attempt: u64,
        message: String,
        /// The time of the next try, in milliseconds since 1970.
        next: i64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Todo {
    pub content: String,
    pub status: &'static str,
    pub priority: &'static str,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileDiff {
    pub file: String,
    pub patch: String,
    pub additions: u64,
    pub deletions: u64,
    pub status: DiffStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffStatus {
    Added,
    Deleted,
    Modified,
}
