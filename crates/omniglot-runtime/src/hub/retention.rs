//! Retention: from time to time, drops what the configuration does not want to keep.
//!
//! The store finds what is too old or too much. Live sessions are known here, and they stay.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use omniglot_store::{Dropped, EndedLimits, EndedSession, RawLimits, StoreError};
use tokio::time::{Instant, sleep_until};

use super::{Hub, Inner};
use crate::config::Retention;
use crate::error::RuntimeError;

/// The result of one pass.
#[derive(Debug, Default)]
struct Gone {
    raw: Dropped,
    sessions: u64,
    events: u64,
}

impl Hub {
    /// Looks once now and then again and again, until the daemon stops. Does nothing without limits.
    pub(super) fn keep_within(&self, retention: Retention) {
        let Retention { raw_age, raw_bytes, ended_age, ended_bytes, every_seconds } = retention;
        if raw_age.is_none() && raw_bytes.is_none() && ended_age.is_none() && ended_bytes.is_none() {
            return;
        }
        tracing::info!(?raw_age, raw_bytes, ?ended_age, ended_bytes, every_seconds, "retention");
        let leaving = self.inner.leaving.clone();
        let looks = look_again_and_again(Arc::downgrade(&self.inner), retention);
        self.inner.tasks.spawn(async move { leaving.run_until_cancelled(looks).await });
    }

    async fn drop_surplus(&self, retention: &Retention) -> Result<Gone, RuntimeError> {
        let raw = RawLimits { before_ms: retention.raw_age.map(ago_ms), max_bytes: retention.raw_bytes };
        let ended =
            EndedLimits { before_ms: retention.ended_age.map(ago_ms), max_bytes: retention.ended_bytes };
        let mut gone = Gone { raw: self.inner.store.drop_frames(raw).await?, ..Gone::default() };
        for session in self.inner.store.surplus_sessions(ended).await? {
            if self.delete_if_over(&session).await? {
                gone.sessions += 1;
                gone.events += session.last_seq;
            }
        }
        Ok(gone)
    }

    /// Deletes an ended session as a person would, if it is still as it was found and nobody uses it.
    async fn delete_if_over(&self, found: &EndedSession) -> Result<bool, RuntimeError> {
        let _session_lock = self.inner.session_locks.hold(&found.id).await;
        if self.is_live(&found.id) {
            return Ok(false);
        }
        let record = match self.inner.store.session(&found.id).await {
            Ok(Some(record)) => record,
            // One that is damaged stays for people to look at.
            Ok(None) | Err(StoreError::DamagedSession { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let same = record.no == found.no && record.last_seq == found.last_seq;
        let over = record.ended && record.open_from.is_none();
        if !same || !over || !self.inner.store.queue(record.no).await?.is_empty() {
            return Ok(false);
        }
        let worktree = self.worktree_of(&record);
        if let Some(worktree) = &worktree
            && self.check_unused(&record, worktree).await.is_err()
        {
            return Ok(false);
        }
        self.committed(self.inner.store.delete(record.no)).await?;
        self.drop_attachments(record.no);
        self.inner.skills.remove(&found.id);
        self.forget_snapshots(&record).await;
        if let Some(worktree) = worktree {
            worktree.remove().await;
        }
        tracing::debug!(session = %found.id, "retention deleted an ended session");
        Ok(true)
    }
}

async fn look_again_and_again(hub: Weak<Inner>, retention: Retention) {
    let pause = Duration::from_secs(retention.every_seconds);
    loop {
        let Some(inner) = hub.upgrade() else { return };
        let began = Instant::now();
        match Hub::of(inner).drop_surplus(&retention).await {
            Ok(gone) => gone.tell(began.elapsed()),
            Err(RuntimeError::Store(StoreError::Closed)) => return,
            // The next look may have more luck; what was dropped until now stays so.
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "retention"),
        }
        sleep_until(Instant::now() + pause).await;
    }
}

impl Gone {
    fn tell(&self, took: Duration) {
        let Self { raw: Dropped { frames, bytes }, sessions, events } = *self;
        if frames == 0 && sessions == 0 {
            return tracing::debug!(?took, "retention found nothing to drop");
        }
        tracing::info!(frames, bytes, sessions, events, ?took, "retention dropped raw frames and sessions");
    }
}

fn ago_ms(age: Duration) -> i64 {
    let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::now().as_millisecond().saturating_sub(age_ms)
}
