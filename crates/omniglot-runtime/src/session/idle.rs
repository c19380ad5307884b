//! A process is a cache, not the session: one that rests too long is ended, and started again when needed.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use omniglot_schema::{ResolvedBy, StopReason};
use omniglot_timeline::TurnEnd;
use tokio::time::{Instant, sleep_until};

use super::Session;
use crate::agent::Agent;
use crate::error::RuntimeError;

/// The state of a session that its handles can read without a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Activity {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    busy: AtomicBool,
    needed: AtomicBool,
    has_agent: AtomicBool,
    /// Milliseconds since 1970 of the last work.
    used: AtomicU64,
}

impl Activity {
    /// Whether a turn runs or a message waits.
    pub(crate) fn is_busy(&self) -> bool {
        self.inner.busy.load(Ordering::SeqCst)
    }

    /// Whether its process must go on: it has work, or tends something in the background.
    pub(crate) fn is_needed(&self) -> bool {
        self.inner.needed.load(Ordering::SeqCst)
    }

    pub(crate) fn has_agent(&self) -> bool {
        self.inner.has_agent.load(Ordering::SeqCst)
    }

    pub(crate) fn last_used(&self) -> u64 {
        self.inner.used.load(Ordering::SeqCst)
    }

    fn publish(&self, busy: bool, needed: bool, has_agent: bool) {
        self.inner.busy.store(busy, Ordering::SeqCst);
        let was_needed = self.inner.needed.swap(needed, Ordering::SeqCst);
        self.inner.has_agent.store(has_agent, Ordering::SeqCst);
        if needed || was_needed || self.last_used() == 0 {
            let now = jiff::Timestamp::now().as_millisecond();
            self.inner.used.store(u64::try_from(now).unwrap_or(1), Ordering::SeqCst);
        }
    }
}

/// When a process has rested long enough.
pub(super) async fn reached(since: Option<Instant>) {
    match since {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

impl Session {
    /// Notes whether there is work, and since when there is none.
    pub(super) fn publish_activity(&mut self) {
        let busy = self.timeline.fold().open_turn.is_some()
            || !self.queue.is_empty()
            || self.configuring.is_asked()
            || self.work_tree.is_busy();
        let has_agent = self.agent.is_some();
        let needed = busy || self.agent.as_ref().is_some_and(Agent::tends_background);
        if let Some(agent) = &self.agent {
            agent.process.set_busy(needed);
        }
        // A lease on a server costs no process.
        let has_process = self.agent.as_ref().is_some_and(|agent| !agent.process.is_shared());
        let was_needed = self.activity.is_needed();
        self.activity.publish(busy, needed, has_process || self.opening.is_some());
        if was_needed && !needed && has_process {
            self.spec.became_idle.notify_one();
        }
        self.idle_deadline = match (needed, has_agent) {
            (false, true) => self.idle_deadline.or_else(|| Some(Instant::now() + self.spec.deadlines.idle)),
            _ => None,
        };
    }

    /// Ends a process that rests. One that has work is left alone. A server goes on without the session, and so
    /// has to be told that it has left.
    pub(super) async fn reap(&mut self) -> Result<(), RuntimeError> {
        if self.activity.is_needed() {
            return Err(RuntimeError::Busy);
        }
        tracing::info!(session = %self.spec.id, "ending a process that rests");
        if self.agent.as_ref().is_some_and(|agent| agent.process.is_shared()) {
            // A server that lives on must not keep what nobody uses.
            self.close_agent().await;
        }
        self.stop_agent().await;
        // One that it began while it left: nobody will hear its end.
        self.close_turn(TurnEnd::new(StopReason::Cancelled), ResolvedBy::Expiry);
        Ok(())
    }
}
