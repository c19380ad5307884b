//! Snapshots of sessions' directories: taken before a message, restored on request, forgotten with their session.

use std::collections::HashSet;
use std::path::Path;

use omniglot_schema::{CreateSessionRequest, RevertRequest, RevertResponse, SessionId};
use omniglot_store::{ListFilter, SessionNo, SessionRecord};
use tokio::sync::oneshot;

use super::{Hub, lock, present};
use crate::error::{RuntimeError, some};
use crate::session::{FileWork, SessionCommand, WorkReport};
use crate::snapshots::{Before, Restore, Restored, Rewind, Rewound, SessionSnapshots};

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
            Ok(WorkReport { detail, reverted_from: None })
        };
        self.ask(id, SessionCommand::WorkOnFiles(FileWork(Box::pin(work)))).await?;
        let Restored { turn, paths } = restored.await.map_err(|_| RuntimeError::Stopping)?;
        tracing::info!(session = %id, turn, files = paths.len(), back, "reverted");
        Ok(RevertResponse { turn: omniglot_schema::TurnId(turn), paths })
    }

    /// Takes back the conversation from a turn on, with the files that were changed from there on, or brings a part of
    /// it back. The transcript says so and keeps everything; the agent is not told.
    pub async fn rewind(&self, id: &SessionId, order: Rewind) -> Result<(), RuntimeError> {
        let record = self.record(id).await?;
        let snapshots = self.snapshots_of(record.no, &present::request(&record)?);
        let work = async move {
            let rewound = snapshots.rewind(&order).await?;
            let detail = told_of_rewind(&order, &rewound);
            Ok(WorkReport { detail, reverted_from: Some(order.turns.first().cloned()) })
        };
        self.ask(id, SessionCommand::WorkOnFiles(FileWork(Box::pin(work)))).await?;
        tracing::info!(session = %id, "rewound");
        Ok(())
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

/// The words of the transcript about a rewind, and about all that it cannot take back.
fn told_of_rewind(order: &Rewind, Rewound { paths, not_kept }: &Rewound) -> String {
    let files = match paths.len() {
        0 => "no file had to be changed".to_owned(),
        1 => format!("1 file: {}", paths.join(", ")),
        count => format!("{count} files: {}", some(paths)),
    };
    let Some(first) = order.turns.first() else {
        return format!("brought back what was taken back, {files}");
    };
    let first = first.as_str();
    let later = match order.turns.len() {
        1 => String::new(),
        count => format!(" and {} later", count - 1),
    };
    let not_kept = match not_kept {
        0 => "",
        _ => "; turns without a snapshot keep their changes",
    };
    format!(
        "took back turn {first}{later}, {files}{not_kept}. The agent still remembers what was said; effects of commands \
         outside of these files stay"
    )
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
