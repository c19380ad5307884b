//! The sessions that are live: how one is woken, asked, counted and stopped.
//!
//! Commands are carried out in `session`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use omniglot_schema::SessionId;
use tracing::Instrument as _;

use super::{Hub, Inner, lock};
use crate::error::RuntimeError;
use crate::log_context;
use crate::session::{Posted, Retired, Session, SessionCommand, SessionHandle};

/// How long the sessions and their servers may take to stop; longer only when the log cannot be written.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Sessions, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub sessions: usize,
    /// Those with a process of their agent.
    pub live: usize,
    /// Those with a turn that runs or a message that waits.
    pub busy: usize,
}

impl Hub {
    /// How much this daemon keeps, and how much of it is at work.
    pub fn load(&self) -> Load {
        let live = lock(&self.inner.live);
        let count = |which: fn(&SessionHandle) -> bool| live.values().filter(|handle| which(handle)).count();
        Load {
            sessions: self.inner.store.count(),
            live: count(|handle| handle.activity().has_agent()),
            busy: count(|handle| handle.activity().is_busy()),
        }
    }

    /// Not ready while the log cannot be written or its disk does not answer, or the daemon stops; with the reason.
    pub fn ready(&self) -> Result<(), String> {
        if self.inner.recovering.load(Ordering::SeqCst) {
            return Err("what an earlier daemon has left open is being closed".into());
        }
        self.check_open().map_err(|error| error.to_string())?;
        self.check_writer()
    }

    /// Whether any turn runs or any message waits.
    pub fn is_busy(&self) -> bool {
        lock(&self.inner.live).values().any(|handle| handle.activity().is_busy())
    }

    /// Ends all agent processes; sessions stay and go on with their next message.
    pub async fn shutdown(&self) {
        let live: Vec<_> = {
            let live = lock(&self.inner.live);
            self.inner.stopping.store(true, Ordering::SeqCst);
            self.inner.leaving.cancel();
            live.values().cloned().collect()
        };
        for handle in live {
            self.stop(handle);
        }
        self.inner.tasks.close();
        let all_gone = async {
            self.inner.tasks.wait().await;
            self.inner.launcher.servers.stop().await;
        };
        if tokio::time::timeout(SHUTDOWN, all_gone).await.is_err() {
            // Their guards end the processes as soon as this one is gone.
            tracing::warn!(fault = self.inner.store.fault(), "sessions did not stop in time");
        }
    }

    pub(super) fn stop(&self, handle: SessionHandle) {
        self.inner.tasks.spawn(async move { drop(handle.ask(SessionCommand::Shutdown).await) });
    }

    pub(super) fn check_running(&self) -> Result<(), RuntimeError> {
        let is_stopping = self.inner.stopping.load(Ordering::SeqCst);
        if is_stopping { Err(RuntimeError::Stopping) } else { Ok(()) }
    }

    pub(super) fn check_open(&self) -> Result<(), RuntimeError> {
        self.check_running()?;
        self.inner.store.fault().map_or(Ok(()), |fault| Err(RuntimeError::Overloaded(fault)))
    }

    /// A caller that stops an agent need not wait until the log can be written: that is recorded later.
    fn check_may(&self, ask: &SessionCommand) -> Result<(), RuntimeError> {
        match ask {
            SessionCommand::Cancel(_) | SessionCommand::Terminate => self.check_running(),
            _ => self.check_open(),
        }
    }

    pub(super) fn is_live(&self, id: &SessionId) -> bool {
        lock(&self.inner.live).contains_key(id)
    }

    /// Asks a session, waking it if it is only a row.
    pub(super) async fn ask(
        &self,
        id: &SessionId,
        mut ask: SessionCommand,
    ) -> Result<Option<Posted>, RuntimeError> {
        self.check_seen(id).await?;
        self.check_may(&ask)?;
        loop {
            match self.wake(id).await?.ask(ask).await {
                Ok(result) => return self.or_deleted(id, result).await,
                Err(Retired(again)) => ask = again,
            }
        }
    }

    /// Asks a session that is live; `None` when it is only a row.
    pub(super) async fn ask_live(
        &self,
        id: &SessionId,
        ask: SessionCommand,
    ) -> Result<Option<Result<(), RuntimeError>>, RuntimeError> {
        self.check_seen(id).await?;
        let handle = lock(&self.inner.live).get(id).cloned();
        let Some(handle) = handle else { return self.record(id).await.map(|_| None) };
        self.check_may(&ask)?;
        match handle.ask(ask).await {
            Ok(result) => Ok(Some(self.or_deleted(id, result.map(drop)).await)),
            Err(Retired(_)) => Ok(None),
        }
    }

    pub(super) async fn wake(&self, id: &SessionId) -> Result<SessionHandle, RuntimeError> {
        let _session_lock = self.inner.session_locks.hold(id).await;
        if let Some(handle) = lock(&self.inner.live).get(id) {
            return Ok(handle.clone());
        }
        let record = self.record(id).await?;
        self.wake_record(&record).await
    }

    /// Lets a session live. Called with its lock held.
    pub(super) fn run(&self, session: Session, handle: SessionHandle, id: SessionId) -> SessionHandle {
        let stopping = {
            let mut live = lock(&self.inner.live);
            live.insert(id.clone(), handle.clone());
            self.inner.stopping.load(Ordering::SeqCst)
        };
        let span = log_context::of_session(&id);
        let retire = Retire { hub: Arc::downgrade(&self.inner), id: id.clone(), handle: handle.clone() };
        let hub = Arc::downgrade(&self.inner);
        let work = async move {
            if let (Some(why), Some(hub)) = (session.run(retire).await, hub.upgrade()) {
                Self::of(hub).close_refused(&id, &why).await;
            }
        };
        self.inner.tasks.spawn(work.instrument(span));
        if stopping {
            self.stop(handle.clone());
        }
        handle
    }
}

/// Takes a session off the list when it is dropped.
struct Retire {
    hub: Weak<Inner>,
    id: SessionId,
    handle: SessionHandle,
}

impl Drop for Retire {
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else { return };
        let mut live = lock(&hub.live);
        if live.get(&self.id).is_some_and(|handle| handle.same(&self.handle)) {
            live.remove(&self.id);
        }
    }
}
