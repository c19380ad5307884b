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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert: Option<SessionRevert>,
    pub time: SessionTime,
}

/// The message from which on the conversation is taken back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionRevert {
    #[serde(rename = "messageID")]
    pub message_id: Id,
    /// The changes that were taken back with it, of which clients list the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
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

impl FileDiff {
    /// Tells a file of this directory by its path below it, so that the patch applies there.
    pub fn below(mut self, directory: &str) -> Self {
        let inner = self.file.strip_prefix(directory).and_then(|inner| inner.strip_prefix('/'));
        let Some(inner) = inner.map(str::to_owned) else { return self };
        self.patch = with_names(&self.patch, &inner);
        self.file = inner;
        self
    }
}

/// Replaces the names of the file in the head of a patch; a side that does not exist keeps its name.
fn with_names(patch: &str, path: &str) -> String {
    let mut is_head = true;
    let line = |line: &str| {
        is_head &= !line.starts_with("@@");
        let is_side =
            |sign: &str| is_head && line.starts_with(sign) && line.trim_end() != format!("{sign}/dev/null");
        if is_side("--- ") {
            format!("--- a/{path}\n")
        } else if is_side("+++ ") {
            format!("+++ b/{path}\n")
        } else if is_head && line.starts_with("diff --git ") {
            format!("diff --git a/{path} b/{path}\n")
        } else {
            line.to_owned()
        }
    };
    patch.split_inclusive('\n').map(line).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffStatus {
    Added,
    Deleted,
    Modified,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(file: &str, patch: &str) -> FileDiff {
        let (file, patch) = (file.to_owned(), patch.to_owned());
        FileDiff { file, patch, additions: 1, deletions: 1, status: DiffStatus::Modified }
    }

    /// B14: `a/home/…` does not apply in the repository.
    #[test]
    fn a_changed_file_is_told_by_its_path_below_the_repository() {
        let patch = "--- a/r/src/x\n+++ /r/src/x\n@@ -1 +1 @@\n--- old\n+new\n";
        let told = diff("/r/src/x", patch).below("/r");
        assert_eq!(told.file, "src/x");
        assert_eq!(told.patch, "--- a/src/x\n+++ b/src/x\n@@ -1 +1 @@\n--- old\n+new\n");
        let new = diff("/r/x", "--- /dev/null\n+++ b/r/x\n@@ -0,0 +1 @@\n+new\n").below("/r");
        assert!(new.patch.starts_with("--- /dev/null\n+++ b/x\n"), "{}", new.patch);
        let outside = diff("/other/x", "--- a\n");
        assert_eq!(outside.clone().below("/r"), outside);
    }
}
