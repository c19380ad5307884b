//! The deletion of a session, with everything that is kept for it.

use omniglot_schema::SessionId;

use super::{Hub, lock};
use crate::error::RuntimeError;
use crate::session::SessionCommand;

impl Hub {
    /// Works also when the log is full or the agent is not known any more.
    pub async fn delete(&self, id: &SessionId) -> Result<(), RuntimeError> {
        self.delete_with(id, false).await
    }

    /// As [`delete`](Self::delete); `force` also loses what is in the session's worktree alone.
    pub async fn delete_with(&self, id: &SessionId, force: bool) -> Result<(), RuntimeError> {
        let _session_lock = self.inner.session_locks.hold(id).await;
        let record = self.record(id).await?;
        let worktree = self.worktree_of(&record);
        if let Some(worktree) = worktree.as_ref().filter(|_| !force) {
            self.check_unused(&record, worktree).await?;
        }
        let handle = lock(&self.inner.live).get(id).cloned();
        if let Some(handle) = handle {
            // One that has just retired is gone as well.
            drop(handle.ask(SessionCommand::Discard).await);
        }
        self.committed(self.inner.store.delete(record.no)).await?;
        self.drop_attachments(record.no);
        self.inner.skills.remove(id);
        self.forget_snapshots(&record).await;
        if let Some(worktree) = worktree {
            worktree.remove().await;
        }
        Ok(())
    }
}
