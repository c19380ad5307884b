//! Keeps the number of agent processes within `live_agents`: before another one starts, and whenever one has
//! nothing more to do.
//!
//! Only processes without work are ended, the least recently used first. Those that work are left alone, also
//! when they are more than there should be: the limit holds again as their turns end. How many may work at once is
//! `running_agents`: beyond it no session is created and no turn begun (P20). Messages to a session that works are
//! queued as ever, and what waited when a daemon stopped is delivered by the next without being counted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use omniglot_schema::SessionId;

use tokio::sync::Notify;

use super::{Hub, Inner, lock};
use crate::error::RuntimeError;
use crate::session::{SessionCommand, SessionHandle};

/// A place among the agents that work, held until its session counts as one of them.
pub(super) struct Admitted(Option<Arc<AtomicUsize>>);

impl Drop for Admitted {
    fn drop(&mut self) {
        if let Some(admitting) = &self.0 {
            admitting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Hub {
    /// Takes a place for one more agent that works; the session `id` may have one already.
    pub(super) fn admit(&self, id: &SessionId) -> Result<Admitted, RuntimeError> {
        let (admitting, limit) = (&self.inner.admitting, self.inner.running_agents.max(1));
        let live = lock(&self.inner.live);
        if live.get(id).is_some_and(|handle| handle.activity().is_busy()) {
            return Ok(Admitted(None));
        }
        let works = |handle: &&SessionHandle| handle.activity().has_agent() && handle.activity().is_busy();
        let working = live.values().filter(works).count() + admitting.load(Ordering::SeqCst);
        if working >= limit {
            return Err(RuntimeError::Overloaded(format!(
                "{working} agents are at work, which is the limit `running_agents` in [limits]; try again when a turn \
                 has ended, or raise the limit"
            )));
        }
        admitting.fetch_add(1, Ordering::SeqCst);
        Ok(Admitted(Some(admitting.clone())))
    }

    /// Ends surplus processes whenever a session becomes idle, until the daemon stops.
    pub(super) fn enforce_live_limit(&self) {
        let leaving = self.inner.leaving.clone();
        let enforcing = enforce(Arc::downgrade(&self.inner), self.inner.became_idle.clone());
        self.inner.tasks.spawn(async move { leaving.run_until_cancelled(enforcing).await });
    }

    /// Makes room for one more process.
    pub(super) async fn make_room(&self) {
        self.reap_surplus(1).await;
    }

    /// Ends idle processes while there are, together with those to come, more than the limit.
    async fn reap_surplus(&self, to_come: usize) {
        let surplus: Vec<_> = {
            let live = lock(&self.inner.live);
            let with_agent: Vec<_> =
                live.values().filter(|handle| handle.activity().has_agent()).cloned().collect();
            let surplus = (with_agent.len() + to_come).saturating_sub(self.inner.live_agents.max(1));
            let mut idle: Vec<_> =
                with_agent.into_iter().filter(|handle| !handle.activity().is_needed()).collect();
            idle.sort_by_key(|handle| handle.activity().last_used());
            idle.truncate(surplus);
            idle
        };
        for handle in surplus {
            // One that has found work in the meantime refuses, and that is right.
            drop(handle.ask(SessionCommand::Reap).await);
        }
    }
}

async fn enforce(hub: Weak<Inner>, became_idle: Arc<Notify>) {
    loop {
        became_idle.notified().await;
        let Some(inner) = hub.upgrade() else { return };
        Hub::of(inner).reap_surplus(0).await;
    }
}
