//! Searches a whole log for damage: every row of every table, also while a daemon writes it.
//!
//! Finds and names damage; repair is left to people. The engine decides how rows are walked.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::sqlite;
use crate::types::StoreError;

/// The progress and findings that a running check reports.
#[derive(Debug)]
pub enum CheckProgress<'a> {
    Fault(&'a CheckFault),
    /// The rows looked at so far.
    Progress(u64),
}

/// One row or file that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckFault {
    /// `database` when the fault concerns the file as a whole.
    pub table: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The row of the session: the sequence of an event, the number of a pack's first frame, the position of
    /// a queued message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    pub fault: String,
}

impl fmt::Display for CheckFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table)?;
        if let Some(session) = &self.session {
            write!(f, ", session {session}")?;
        }
        if let Some(sequence) = self.sequence {
            write!(f, ", {sequence}")?;
        }
        write!(f, ": {}", self.fault)
    }
}

/// Counts the rows that were checked, and the faults among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CheckSummary {
    pub sessions: u64,
    pub events: u64,
    pub frames: u64,
    pub blobs: u64,
    pub queued: u64,
    pub receipts: u64,
    pub faults: u64,
}

/// Checks the log in `dir` without changing or locking it. Blocks; reports findings and progress to `news`.
///
/// Each session is seen as it is at one moment. An error means that the log cannot be read at all.
pub fn check(dir: &Path, news: &mut dyn FnMut(CheckProgress<'_>)) -> Result<CheckSummary, StoreError> {
    sqlite::check::run(dir, news)
}
