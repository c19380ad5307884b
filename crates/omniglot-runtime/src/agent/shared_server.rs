//! Servers that several sessions share: one process for each agent, command line and environment.
//!
//! Started when a session needs it, joined by the next ones, ended when nobody has used it for a while.
//! One that keeps dying is not started again and again. Whose frame is whose is the protocol's
//! [`Link`](omniglot_agents::Link)'s business.

mod multiplexer;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use omniglot_agents::LaunchSpec;
use omniglot_agents::adapter::Shared;
use omniglot_schema::ServerStatusInfo;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::restart_policy::RestartPolicy;
use crate::agent::session_start::StartErrorKind;
use crate::metrics::{Metrics, Start};
use crate::process::handle::ServerLease;
use crate::process::{Launch, ProcessIo, Supervisor};
use multiplexer::Multiplexer;

/// All shared servers of a daemon. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Servers {
    supervisor: Supervisor,
    terms: Terms,
    slots: Arc<Mutex<HashMap<Key, Arc<Slot>>>>,
    stopping: CancellationToken,
}

/// How long a server is waited for, in each of the situations in which it is.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// For its next word during the handshake.
    pub(crate) handshake: Duration,
    /// Without any session.
    pub(crate) idle: Duration,
    /// To leave by itself.
    pub(crate) stop: Duration,
    /// Where it works when no session says otherwise.
    pub(crate) cwd: PathBuf,
    pub(crate) metrics: Arc<Metrics>,
}

/// The settings that two sessions must have in common to share a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    agent: String,
    argv: Vec<String>,
    env: Vec<(String, String)>,
}

/// One server, or the room for one.
#[derive(Debug, Default)]
struct Slot {
    /// Held while it starts: one start at a time.
    running: tokio::sync::Mutex<Option<Multiplexer>>,
    restarts: Arc<Mutex<RestartPolicy>>,
}

impl Servers {
    pub(crate) fn new(supervisor: Supervisor, terms: Terms) -> Self {
        Self { supervisor, terms, slots: Arc::default(), stopping: CancellationToken::new() }
    }

    /// A lease on the server that this launch describes, which is started if it does not run.
    pub(crate) async fn join(
        &self,
        agent: &str,
        launch: LaunchSpec,
        shared: Shared,
    ) -> Result<(ServerLease, ProcessIo), StartErrorKind> {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => Err(StartErrorKind::GaveUp("the daemon stops".to_owned())),
            joined = self.join_or_start(agent, launch, shared) => joined,
        }
    }

    async fn join_or_start(
        &self,
        agent: &str,
        launch: LaunchSpec,
        shared: Shared,
    ) -> Result<(ServerLease, ProcessIo), StartErrorKind> {
        let slot = self.slot(agent, &launch);
        let mut running = slot.running.lock().await;
        if let Some(multiplexer) = running.as_mut() {
            if let Some(joined) = multiplexer.join() {
                return Ok(joined);
            }
            // Two at once would work on the same files; and its end belongs into the history first.
            multiplexer.ended().await;
            *running = None;
        }
        let pause = lock(&slot.restarts).pause("its server").map_err(StartErrorKind::GaveUp)?;
        tokio::time::sleep(pause).await;
        let launch = Launch::new(launch, self.terms.cwd.clone());
        let started =
            Multiplexer::start(&self.supervisor, &launch, shared, &self.terms, slot.restarts.clone()).await;
        let multiplexer = started.inspect_err(|why| lock(&slot.restarts).not_started(why))?;
        let start = if lock(&slot.restarts).status().restart_count > 0 { Start::Again } else { Start::First };
        self.terms.metrics.of(agent).started(start);
        let joined = multiplexer.join();
        *running = Some(multiplexer);
        joined.ok_or_else(|| StartErrorKind::GaveUp("it ended as soon as it had started".to_owned()))
    }

    /// How this agent's server is doing; the busiest one, should there be several.
    pub(crate) fn status(&self, agent: &str) -> ServerStatusInfo {
        let slots = lock(&self.slots);
        let of_agent = slots.iter().filter(|(key, _)| key.agent == agent);
        let told = of_agent.map(|(_, slot)| lock(&slot.restarts).status());
        told.max_by_key(|status| status.uptime_ms).unwrap_or_else(|| RestartPolicy::default().status())
    }

    /// Ends all of them at once, also those that are starting, and waits until they are gone.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        let mut ending = JoinSet::new();
        for slot in lock(&self.slots).values().cloned() {
            ending.spawn(async move {
                if let Some(multiplexer) = slot.running.lock().await.take() {
                    multiplexer.stop().await;
                }
            });
        }
        ending.join_all().await;
    }

    fn slot(&self, agent: &str, launch: &LaunchSpec) -> Arc<Slot> {
        let argv = std::iter::once(&launch.program).chain(&launch.args).cloned().collect();
        let env = launch.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let key = Key { agent: agent.to_owned(), argv, env };
        let mut slots = lock(&self.slots);
        if slots.len() >= SLOTS && !slots.contains_key(&key) {
            slots.retain(|_, slot| slot.is_of_use());
        }
        slots.entry(key).or_default().clone()
    }
}

/// Over so many, those that neither run nor have a history to heed are forgotten.
const SLOTS: usize = 64;

impl Slot {
    fn is_of_use(self: &Arc<Self>) -> bool {
        let waited_for = Arc::strong_count(self) > 1;
        let runs = self
            .running
            .try_lock()
            .map_or(true, |running| running.as_ref().is_some_and(|multiplexer| !multiplexer.has_ended()));
        waited_for || runs || lock(&self.restarts).is_of_use()
    }
}

/// Locks also after a panic: every change here is one assignment, so the state is whole.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
