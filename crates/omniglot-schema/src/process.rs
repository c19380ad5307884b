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

/// A program to run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessRunRequest {
    /// The program; without a `/` it is looked for on the PATH.
    pub command: String,
    /// The arguments of the program.
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

/// The result of a program that was run to its end.
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
    /// The time that it ran, in milliseconds.
    pub duration_ms: u64,
}

/// A program to start in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessCreateRequest {
    /// The program; without a `/` it is looked for on the PATH.
    pub command: String,
    /// The arguments of the program.
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

/// A process that a client has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInfo {
    /// `proc_` and a number that this daemon does not use again.
    pub id: String,
    /// The program.
    pub command: String,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The directory that it was started in.
    pub cwd: String,
    /// Whether it runs in a terminal of its own.
    pub tty: bool,
    /// The note of the client that started it.
    pub interactive: bool,
    pub owner: ProcessOwner,
    /// Whether it still runs.
    pub status: ProcessState,
    /// The process id on the daemon's machine.
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

/// Whether a process still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProcessState {
    Running,
    /// It and all its descendants are gone.
    Exited,
}

/// The processes that are known.
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

/// Output of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessLogsResponse {
    /// The id of the process.
    pub process_id: String,
    /// The stream that was asked for.
    pub stream: ProcessLogsStream,
    /// The pieces of output, oldest first.
    pub entries: Vec<ProcessLogEntry>,
}

/// Input for a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessInputRequest {
    /// The input, encoded as `encoding` says.
    pub data: String,
    /// `base64`, which is the default, or `utf8` or `text` for data as it is.
    #[serde(default)]
    pub encoding: Option<String>,
}

/// The input that was accepted.
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
    /// The characters of a line.
    #[schema(minimum = 1)]
    pub cols: u16,
    /// The lines.
    #[schema(minimum = 1)]
    pub rows: u16,
}
