//! Processes that a client runs through the daemon: once, or in the background.
//!
//! The terminal over a WebSocket is left to others.

use omniglot_schema::{
    ProcessConfig, ProcessCreateRequest, ProcessInfo, ProcessInputRequest, ProcessInputResponse,
    ProcessListResponse, ProcessLogsResponse, ProcessLogsStream, ProcessRunRequest, ProcessRunResponse,
    ProcessTerminalSize,
};
use reqwest::Method;

use crate::client::{Client, accepted, read};
use crate::error::ClientError;
use crate::stream::FrameStream;
use crate::transport::Call;

/// The output that is wanted of a process; by default all that is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessLogsQuery {
    pub stream: Option<ProcessLogsStream>,
    /// Only entries after the one with this sequence.
    pub since: Option<u64>,
    /// Of the entries that are there, only so many of the last.
    pub tail: Option<u64>,
}

impl Client {
    /// Runs a command to its end.
    pub async fn run_process(&self, request: &ProcessRunRequest) -> Result<ProcessRunResponse, ClientError> {
        read(self.processes(Method::POST, &["run"], &[]).json(request).send().await?).await
    }

    /// Starts a command in the background.
    pub async fn start_process(&self, request: &ProcessCreateRequest) -> Result<ProcessInfo, ClientError> {
        read(self.processes(Method::POST, &[], &[]).json(request).send().await?).await
    }

    /// Lists the processes that run, and those that have exited and are kept.
    pub async fn list_processes(&self) -> Result<Vec<ProcessInfo>, ClientError> {
        let list: ProcessListResponse = read(self.processes(Method::GET, &[], &[]).send().await?).await?;
        Ok(list.processes)
    }

    pub async fn process(&self, id: &str) -> Result<ProcessInfo, ClientError> {
        read(self.processes(Method::GET, &[id], &[]).send().await?).await
    }

    /// Returns the output that is kept now.
    pub async fn process_logs(
        &self,
        id: &str,
        query: ProcessLogsQuery,
    ) -> Result<ProcessLogsResponse, ClientError> {
        read(self.logs(id, query, false)?.send().await?).await
    }

    /// Returns the output that is kept, and then what comes, as `log` frames, until the process is deleted.
    pub async fn follow_process_logs(
        &self,
        id: &str,
        query: ProcessLogsQuery,
    ) -> Result<FrameStream, ClientError> {
        let response = accepted(self.logs(id, query, true)?.send().await?).await?;
        Ok(FrameStream::new(response.bytes_stream()))
    }

    /// Gives input to a process; it waits there until the process reads it.
    pub async fn process_input(
        &self,
        id: &str,
        input: &ProcessInputRequest,
    ) -> Result<ProcessInputResponse, ClientError> {
        read(self.processes(Method::POST, &[id, "input"], &[]).json(input).send().await?).await
    }

    pub async fn resize_process(
        &self,
        id: &str,
        size: ProcessTerminalSize,
    ) -> Result<ProcessTerminalSize, ClientError> {
        read(self.processes(Method::POST, &[id, "terminal", "resize"], &[]).json(&size).send().await?).await
    }

    /// Sends SIGTERM, and waits so many milliseconds for the end of the process.
    pub async fn stop_process(&self, id: &str, wait_ms: Option<u64>) -> Result<ProcessInfo, ClientError> {
        self.signal(id, "stop", wait_ms).await
    }

    /// Sends SIGKILL, and waits so many milliseconds for the end of the process.
    pub async fn kill_process(&self, id: &str, wait_ms: Option<u64>) -> Result<ProcessInfo, ClientError> {
        self.signal(id, "kill", wait_ms).await
    }

    /// Forgets a process that has exited.
    pub async fn delete_process(&self, id: &str) -> Result<(), ClientError> {
        accepted(self.processes(Method::DELETE, &[id], &[]).send().await?).await.map(drop)
    }

    pub async fn process_config(&self) -> Result<ProcessConfig, ClientError> {
        read(self.processes(Method::GET, &["config"], &[]).send().await?).await
    }

    /// Replaces all limits until the daemon stops.
    pub async fn set_process_config(&self, config: &ProcessConfig) -> Result<ProcessConfig, ClientError> {
        read(self.processes(Method::POST, &["config"], &[]).json(config).send().await?).await
    }

    async fn signal(&self, id: &str, name: &str, wait_ms: Option<u64>) -> Result<ProcessInfo, ClientError> {
        let query = [("waitMs", wait_ms.map(|wait| wait.to_string()))];
        read(self.processes(Method::POST, &[id, name], &query).send().await?).await
    }

    fn logs(&self, id: &str, query: ProcessLogsQuery, follow: bool) -> Result<Call, ClientError> {
        let stream = query.stream.map(serde_json::to_value).transpose()?;
        let query = [
            ("stream", stream.and_then(|stream| stream.as_str().map(str::to_owned))),
            ("since", query.since.map(|since| since.to_string())),
            ("tail", query.tail.map(|tail| tail.to_string())),
            ("follow", follow.then(|| "true".to_owned())),
        ];
        Ok(self.processes(Method::GET, &[id, "logs"], &query))
    }

    fn processes(&self, method: Method, rest: &[&str], query: &[(&str, Option<String>)]) -> Call {
        self.request(method, &[&["v1", "processes"], rest].concat(), query)
    }
}
