//! Processes of clients, where the configuration allows them.

use std::sync::Arc;

use bytes::Bytes;
use omniglot_schema::{
    ProcessConfig, ProcessCreateRequest, ProcessInfo, ProcessRunRequest, ProcessRunResponse,
};

use super::Hub;
use crate::config;
use crate::error::{ProcessError, RuntimeError};
use crate::process::user::{self, Table, UserProcess};

/// `None` where they are disabled.
pub(super) struct Processes(Option<Arc<Table>>);

impl Processes {
    pub(super) fn new(config: &config::Processes) -> Self {
        Self(config.enabled.then(Arc::default))
    }
}

impl Hub {
    fn processes(&self) -> Result<&Arc<Table>, ProcessError> {
        self.inner.processes.0.as_ref().ok_or(ProcessError::Disabled)
    }

    pub fn process_limits(&self) -> Result<ProcessConfig, RuntimeError> {
        Ok(self.processes()?.limits())
    }

    /// Changes the limits until the daemon stops; what runs already keeps the size of its log.
    pub fn set_process_limits(&self, limits: ProcessConfig) -> Result<ProcessConfig, RuntimeError> {
        Ok(self.processes()?.set_limits(limits)?)
    }

    /// Runs a command to its end. Dropping the future kills it.
    pub async fn run_process(&self, request: &ProcessRunRequest) -> Result<ProcessRunResponse, RuntimeError> {
        let table = self.processes()?;
        self.check_open()?;
        let _slot = table.reserve()?;
        user::run(&self.inner.launcher.supervisor, request, &table.limits(), &self.inner.leaving).await
    }

    /// Starts a process that runs until it exits, is stopped, or the daemon stops.
    pub async fn start_process(&self, request: ProcessCreateRequest) -> Result<ProcessInfo, RuntimeError> {
        let table = self.processes()?;
        self.check_open()?;
        let supervisor = &self.inner.launcher.supervisor;
        let stopping = self.inner.leaving.clone();
        Ok(table.start(supervisor, request, &self.inner.tasks, stopping).await?.info())
    }

    /// Returns all processes, also those that have exited, oldest first.
    pub fn list_processes(&self) -> Result<Vec<ProcessInfo>, RuntimeError> {
        Ok(self.processes()?.all().iter().map(|process| process.info()).collect())
    }

    pub fn process(&self, id: &str) -> Result<Arc<UserProcess>, RuntimeError> {
        Ok(self.processes()?.get(id)?)
    }

    /// Gives a process input of at most the length that the limits say.
    pub fn write_to_process(&self, process: &UserProcess, input: Bytes) -> Result<(), RuntimeError> {
        let limit = self.processes()?.limits().max_input_bytes_per_request;
        let found = input.len() as u64;
        if found > limit {
            return Err(ProcessError::InputTooLarge { found, limit }.into());
        }
        Ok(process.write(input)?)
    }

    /// Forgets a process that has exited, and its output.
    pub fn delete_process(&self, id: &str) -> Result<(), RuntimeError> {
        Ok(self.processes()?.delete(id)?)
    }
}
