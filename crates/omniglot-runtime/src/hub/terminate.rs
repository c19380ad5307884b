//! Ends sessions, and tells those who wait for a turn whether its session ends with it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use omniglot_schema::{EventData, SessionEndedData, SessionId, UniversalEvent, UniversalEventType};
use omniglot_store::{Next, SessionRecord, StoreError};
use tokio::time::timeout;

use super::Hub;
use crate::error::RuntimeError;
use crate::session::SessionCommand;

/// The most bytes of events that are read at once.
const BATCH: usize = 64 << 10;

/// How often it is looked whether a terminate is still under way.
const LOOK: Duration = Duration::from_millis(100);

/// The sessions that are being terminated, with the number of calls that do it.
#[derive(Debug, Default)]
pub(super) struct Terminating(Mutex<HashMap<SessionId, usize>>);

struct Guard<'a>(&'a Terminating, SessionId);

impl Terminating {
    fn begin(&self, id: &SessionId) -> Guard<'_> {
        self.with(|sessions| *sessions.entry(id.clone()).or_default() += 1);
        Guard(self, id.clone())
    }

    fn contains(&self, id: &SessionId) -> bool {
        self.with(|sessions| sessions.contains_key(id))
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<SessionId, usize>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.with(|sessions| match sessions.get_mut(&self.1) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(sessions.remove(&self.1)),
        });
    }
}

impl Hub {
    pub async fn terminate(&self, id: &SessionId) -> Result<(), RuntimeError> {
        if self.record(id).await?.ended && !self.is_live(id) {
            return Ok(());
        }
        let _terminating = self.inner.terminating.begin(id);
        self.ask(id, SessionCommand::Terminate).await.map(drop)
    }

    /// Returns the end of the session, where the turn that ended at `after` ended with it. Waits for the end
    /// while the session is being terminated.
    pub async fn session_end(
        &self,
        record: &SessionRecord,
        after: u64,
    ) -> Result<Option<SessionEndedData>, RuntimeError> {
        let mut log = self.subscribe(record, after);
        while !log.caught_up() || self.inner.terminating.contains(&record.id) {
            let next = match timeout(LOOK, log.next(BATCH)).await {
                Err(_) => continue,
                Ok(Err(StoreError::Closed)) => return Err(RuntimeError::Stopping),
                Ok(next) => next?,
            };
            let Next::Events(events) = next else { return Ok(None) };
            for stored in events {
                match stored.kind {
                    UniversalEventType::SessionEnded => return Ok(ended(&stored.json)),
                    UniversalEventType::TurnStarted => return Ok(None),
                    _ => {}
                }
            }
        }
        Ok(None)
    }
}

fn ended(json: &[u8]) -> Option<SessionEndedData> {
    match serde_json::from_slice::<UniversalEvent>(json).ok()?.data {
        EventData::SessionEnded(data) => Some(data),
        _ => None,
    }
}
