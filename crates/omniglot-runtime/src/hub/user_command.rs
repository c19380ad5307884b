//! A command of a person in the directory of a session, where the configuration allows processes of clients.

use omniglot_schema::{ProcessRunRequest, SessionId, SessionStatus, UniversalEventType};
use omniglot_store::{Next, SessionRecord};
use omniglot_timeline::Author;

use super::{Hub, present};
use crate::error::RuntimeError;
use crate::session::{Posted, SessionCommand, UserCommand};

/// The bytes of the log that are read at once.
const BATCH: usize = 64 << 10;

impl Hub {
    /// Runs a command to its end, and writes it down as a turn of the session. The agent is not told of it.
    pub async fn run_in_session(
        &self,
        id: &SessionId,
        command: String,
        client_ids: Vec<String>,
    ) -> Result<Posted, RuntimeError> {
        let detail = self.detail(id).await?;
        if detail.status != SessionStatus::Idle {
            return Err(RuntimeError::Busy);
        }
        let record = self.record(id).await?;
        let directory = present::request(&record)?.directory.unwrap_or_default();
        let request = ProcessRunRequest {
            command: "sh".to_owned(),
            args: vec!["-c".to_owned(), command.clone()],
            cwd: Some(directory.clone()),
            env: Default::default(),
            timeout_ms: None,
            max_output_bytes: None,
        };
        let result = self.run_process(&request).await?;
        let author = Author { client_ids, by: self.author(), metadata: None };
        let done = UserCommand { command, directory, result, author };
        let mut after = detail.info.event_count;
        loop {
            match self.ask(id, SessionCommand::RecordCommand(done.clone())).await {
                // A turn began while the command ran, or a message waits: it is written down behind them.
                Err(RuntimeError::Busy) => after = self.change(&record, after).await?,
                answer => return answer?.ok_or(RuntimeError::Stopping),
            }
        }
    }

    /// Returns the position of the next event after which the session may be idle, once it is there.
    async fn change(&self, record: &SessionRecord, after: u64) -> Result<u64, RuntimeError> {
        let mut log = self.subscribe(record, after);
        loop {
            let Next::Events(events) = log.next(BATCH).await? else {
                return Err(RuntimeError::SessionNotFound(record.id.to_string()));
            };
            let kinds = [UniversalEventType::TurnEnded, UniversalEventType::SessionUpdated];
            let mut changes = events.iter().filter(|event| kinds.contains(&event.kind));
            if let Some(change) = changes.next() {
                return Ok(change.seq);
            }
        }
    }
}
