//! Snapshots of sessions' directories: taken before a message, restored on request, forgotten with their session.

use std::collections::HashSet;
use std::path::Path;

use omniglot_schema::{CreateSessionRequest, RevertRequest, RevertResponse, SessionId};
use omniglot_store::{ListFilter, SessionNo, SessionRecord};
use tokio::sync::oneshot;

use super::{Hub, lock, present};
use crate::error::{RuntimeError, some};
use crate::session::{FileWork, SessionCommand};
use crate::snapshots::{Before, Restore, Restored, SessionSnapshots};

impl Hub {
    /// Gives the files that a turn changed the content that they had before it. The transcript says so; nothing is
    /// removed from it, and the agent is not told.
    pub async fn revert(
        &self,
        id: &SessionId,
        request: RevertRequest,
    ) -> Result<RevertResponse, RuntimeError> {
        self.restore(id, request, false).await
    }

    /// Takes a revert back.
    pub async fn unrevert(
        &self,
        id: &SessionId,
        request: RevertRequest,
    ) -> Result<RevertResponse, RuntimeError> {
        self.restore(id, request, true).await
    }

    async fn restore(
        &self,
        id: &SessionId,
        request: RevertRequest,
        back: bool,
    ) -> Result<RevertResponse, RuntimeError> {
        let record = self.record(id).await?;
        let snapshots = self.snapshots_of(record.no, &present::request(&record)?);
        let order = Restore { turn: request.turn.map(|turn| turn.0), force: request.force, back };
        let (done, restored) = oneshot::channel();
        let work = async move {
            let restored = snapshots.restore(&order).await?;
            let detail = told(&restored, back);
            drop(done.send(restored));
            Ok(detail)
        };
        self.ask(id, SessionCommand::WorkOnFiles(FileWork(Box::pin(work)))).await?;
        let Restored { turn, paths } = restored.await.map_err(|_| RuntimeError::Stopping)?;
        tracing::info!(session = %id, turn, files = paths.len(), back, "reverted");
        Ok(RevertResponse { turn: omniglot_schema::TurnId(turn), paths })
    }

    pub(super) fn snapshots_of(&self, no: SessionNo, request: &CreateSessionRequest) -> SessionSnapshots {
        let directory = request.directory.as_deref().unwrap_or_default();
        self.inner.snapshots.of_session(no, Path::new(directory))
    }

    /// A message to an idle session is about to be sent: its snapshot is taken here, so that nobody sees it wait. A
    /// busy session takes the snapshot when the message's turn has come.
    pub(super) async fn snapshot_if_idle(&self, record: &SessionRecord) -> Option<Before> {
        let handle = lock(&self.inner.live).get(&record.id).cloned();
        handle.filter(|handle| !handle.activity().is_busy())?;
        let snapshots = self.snapshots_of(record.no, &present::request(record).ok()?);
        if snapshots.are_disabled() { None } else { Some(snapshots.before().await) }
    }

    pub(super) async fn forget_snapshots(&self, record: &SessionRecord) {
        if let Ok(request) = present::request(record) {
            self.snapshots_of(record.no, &request).forget().await;
        }
    }

    /// Removes the snapshots of sessions that a dead daemon has deleted.
    pub(super) async fn sweep_snapshots(&self) -> Result<(), RuntimeError> {
        if self.inner.snapshots.are_empty() {
            return Ok(());
        }
        let records = self.inner.store.list(ListFilter::default()).await?;
        let numbers: HashSet<SessionNo> = records.iter().map(|record| record.no).collect();
        self.inner.snapshots.sweep(|no| numbers.contains(&no));
        Ok(())
    }
}

/// The words of the transcript.
fn told(Restored { turn, paths }: &Restored, back: bool) -> String {
    let what = if back { "took back the revert of" } else { "reverted" };
    match paths.len() {
        0 => format!("{what} turn {turn}: no file had to be changed"),
        1 => format!("{what} turn {turn}, 1 file: {}", paths.join(", ")),
        count => format!("{what} turn {turn}, {count} files: {}", some(paths)),
    }
}
