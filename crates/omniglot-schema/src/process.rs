//! Processes that a client has the daemon run: requests, what is known about them, and their output.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The limits of processes. They hold until the daemon stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessConfig {
    /// How many processes may run at once.
    #[schema(minimum = 1)]
    pub max_concurrent_processes: u64,
    /// The time of a run that names none, in milliseconds; never more than `maxRunTimeoutMs`.
    #[schema(minimum = 1)]
    pub default_run_timeout_ms: u64,
    /// The longest time of a run, in milliseconds.
    #[schema(minimum = 1)]
    pub max_run_timeout_ms: u64,
    /// The bytes that a run returns of stdout, and of stderr.
    #[schema(minimum = 1)]
    pub max_output_bytes: u64,
    /// The bytes of output that are kept of one process; the oldest go first.
    #[schema(minimum = 1)]
    pub max_log_bytes_per_process: u64,
    /// The bytes of one input.
    #[schema(minimum = 1)]
    pub max_input_bytes_per_request: u64,
}

impl Default for ProcessConfig {
    fn default() -> Self {
        Self {
            max_concurrent_processes: 64,
            default_run_timeout_ms: 30_000,
            max_run_timeout_ms: 300_000,
            max_output_bytes: 1024 * 1024,
            max_log_bytes_per_process: 10 * 1024 * 1024,
            max_input_bytes_per_request: 64 * 1024,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessRunRequest {
    /// The program; without a `/` it is looked for on the PATH.
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// The directory to run in; without it the daemon's working directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Variables that are added to the environment of the daemon.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The time after which it is killed, in milliseconds; at most `maxRunTimeoutMs` of the limits.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// The bytes to return of stdout, and of stderr; at most `maxOutputBytes` of the limits.
    #[serde(default)]
    pub max_output_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessRunResponse {
    /// Null when a signal ended it.
    #[schema(required)]
    pub exit_code: Option<i32>,
    /// Whether it was killed because its time was over.
    pub timed_out: bool,
    /// Bytes that are not UTF-8 are replaced by U+FFFD.
    pub stdout: String,
    /// Bytes that are not UTF-8 are replaced by U+FFFD.
    pub stderr: String,
    /// Whether stdout was longer than what is returned.
    pub stdout_truncated: bool,
    /// Whether stderr was longer than what is returned.
    pub stderr_truncated: bool,
    pub duration_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessCreateRequest {
    /// The program; without a `/` it is looked for on the PATH.
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// The directory to run in; without it the daemon's working directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Variables that are added to the environment of the daemon.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether it runs in a terminal of its own.
    #[serde(default)]
    pub tty: bool,
    /// A note for clients; input is taken in any case.
    #[serde(default)]
    pub interactive: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInfo {
    /// `proc_` and a number that this daemon does not use again.
    pub id: String,
    pub command: String,
    pub args: Vec<String>,
    /// The directory that it was started in.
    pub cwd: String,
    pub tty: bool,
    pub interactive: bool,
    pub owner: ProcessOwner,
    pub status: ProcessState,
    pub pid: u32,
    /// Absent while it runs, and when a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Milliseconds since 1970.
    pub created_at_ms: i64,
    /// Milliseconds since 1970; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exited_at_ms: Option<i64>,
}

/// The side that started a process. This daemon starts them for users only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProcessOwner {
    User,
    Desktop,
    System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProcessState {
    Running,
    /// It and all its descendants are gone.
    Exited,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessListResponse {
    /// Oldest first.
    pub processes: Vec<ProcessInfo>,
}

/// The origin of output. `combined` is never that of an entry: it asks for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProcessLogsStream {
    Stdout,
    Stderr,
    Combined,
    /// The terminal of a process that has one.
    Pty,
}

/// A piece of output, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessLogEntry {
    /// Counts from 1 over all streams of the process; a gap means that older entries were dropped.
    pub sequence: u64,
    pub stream: ProcessLogsStream,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    /// Base64.
    pub data: String,
    /// Always `base64`.
    pub encoding: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessLogsResponse {
    pub process_id: String,
    /// The stream that was asked for.
    pub stream: ProcessLogsStream,
    pub entries: Vec<ProcessLogEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessInputRequest {
    pub data: String,
    /// `base64`, which is the default, or `utf8` or `text` for data as it is.
    #[serde(default)]
    pub encoding: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInputResponse {
    /// The bytes that wait for the process or were read by it.
    pub bytes_written: u64,
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessTerminalSize {
    #[schema(minimum = 1)]
    pub cols: u16,
    #[schema(minimum = 1)]
    pub rows: u16,
}
