//! All processes of clients: their ids, their number, their limits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniglot_schema::{ProcessConfig, ProcessCreateRequest};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::limits;
use super::process::UserProcess;
use crate::error::ProcessError;
use crate::process::Supervisor;

/// The most exited processes that are kept, and the most bytes of their output; the longest exited go first.
const MAX_EXITED: usize = 256;
const MAX_EXITED_BYTES: usize = 256 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct Table {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    limits: ProcessConfig,
    /// Processes and runs that are under way.
    active: u64,
    last: u64,
    processes: BTreeMap<u64, Arc<UserProcess>>,
}

/// A place among the processes that may run at once.
pub(crate) struct Slot(Arc<Table>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.lock().active -= 1;
    }
}

impl Table {
    pub(crate) fn limits(&self) -> ProcessConfig {
        self.lock().limits.clone()
    }

    pub(crate) fn set_limits(&self, limits: ProcessConfig) -> Result<ProcessConfig, ProcessError> {
        let limits = limits::checked(limits)?;
        self.lock().limits = limits.clone();
        Ok(limits)
    }

    pub(crate) fn reserve(self: &Arc<Self>) -> Result<Slot, ProcessError> {
        let mut state = self.lock();
        if state.active >= state.limits.max_concurrent_processes {
            return Err(ProcessError::TooMany(state.active));
        }
        state.active += 1;
        Ok(Slot(self.clone()))
    }

    /// Starts a process; one of `tasks` follows it to its end.
    pub(crate) async fn start(
        self: &Arc<Self>,
        supervisor: &Supervisor,
        request: ProcessCreateRequest,
        tasks: &TaskTracker,
        stopping: CancellationToken,
    ) -> Result<Arc<UserProcess>, ProcessError> {
        let slot = self.reserve()?;
        let (number, log_bytes) = {
            let mut state = self.lock();
            state.last += 1;
            (state.last, state.limits.max_log_bytes_per_process)
        };
        let log_bytes = usize::try_from(log_bytes).unwrap_or(usize::MAX);
        let process = UserProcess::start(id(number), supervisor, request, log_bytes).await?;
        let process = Arc::new(process);
        self.lock().processes.insert(number, process.clone());
        let (table, running) = (self.clone(), process.clone());
        tasks.spawn(async move {
            let exit = running.run(&stopping).await;
            drop(slot);
            if let Some(exit) = exit {
                running.set_ended(exit);
            }
            table.lock().drop_oldest();
        });
        Ok(process)
    }

    /// Returns all processes, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<UserProcess>> {
        self.lock().processes.values().cloned().collect()
    }

    pub(crate) fn get(&self, id: &str) -> Result<Arc<UserProcess>, ProcessError> {
        self.lock().get(id).map(|(_, process)| process)
    }

    /// Forgets a process that has exited.
    pub(crate) fn delete(&self, id: &str) -> Result<(), ProcessError> {
        let mut state = self.lock();
        let (number, process) = state.get(id)?;
        if process.ended().is_none() {
            return Err(ProcessError::Running(id.to_owned()));
        }
        state.remove(number);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn get(&self, wanted: &str) -> Result<(u64, Arc<UserProcess>), ProcessError> {
        let number = wanted.strip_prefix("proc_").and_then(|number| number.parse().ok());
        let found = number.filter(|number| id(*number) == wanted).and_then(|number| {
            let process = self.processes.get(&number)?;
            Some((number, process.clone()))
        });
        found.ok_or_else(|| ProcessError::NotFound(wanted.to_owned()))
    }

    fn remove(&mut self, number: u64) {
        if let Some(process) = self.processes.remove(&number) {
            process.close();
        }
    }

    fn drop_oldest(&mut self) {
        let exited = self.processes.iter().filter_map(|(number, process)| {
            Some(Exited { at_ms: process.ended()?.at_ms, number: *number, bytes: process.log_bytes() })
        });
        for number in too_many(exited.collect()) {
            self.remove(number);
        }
    }
}

/// A process that has exited; the order is that in which they are forgotten.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Exited {
    at_ms: i64,
    number: u64,
    bytes: usize,
}

/// Returns the processes over the limit.
fn too_many(mut exited: Vec<Exited>) -> Vec<u64> {
    exited.sort_unstable();
    let (mut count, mut bytes) = (exited.len(), exited.iter().map(|one| one.bytes).sum::<usize>());
    let over = exited.into_iter().take_while(|oldest| {
        let over = count > MAX_EXITED || bytes > MAX_EXITED_BYTES;
        (count, bytes) = (count - 1, bytes - oldest.bytes);
        over
    });
    over.map(|oldest| oldest.number).collect()
}

fn id(number: u64) -> String {
    format!("proc_{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(number: u64, at_ms: i64, bytes: usize) -> Exited {
        Exited { at_ms, number, bytes }
    }

    #[test]
    fn the_longest_exited_are_forgotten_when_they_are_too_many_or_too_large() {
        let small = |count: u64| (1..=count).map(|number| exited(number, 1000 - number as i64, 1)).collect();
        assert_eq!(too_many(small(256)), [0; 0]);
        assert_eq!(too_many(small(258)), [258, 257], "the highest numbers exited first");
        let large = |at_ms: i64| exited(at_ms.unsigned_abs(), at_ms, MAX_EXITED_BYTES / 2);
        assert_eq!(too_many(vec![large(3), large(1)]), [0; 0]);
        assert_eq!(too_many(vec![large(3), large(1), exited(9, 4, 1)]), [1]);
    }
}
