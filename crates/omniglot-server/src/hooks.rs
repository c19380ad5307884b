//! Hooks: the daemon calls others when something happens in a session.
//!
//! One task reads the log for all hooks, one for each makes its calls; nobody waits for them. The position of each is
//! in the store with its dead letters, so that a call is made at least once, whatever ends the daemon. A call is
//! repeated under the same id.

mod address;
mod hook;
mod line;
mod links;
mod message;
mod queue;
mod reader;
mod records;
mod sender;
mod signature;
mod trust;
mod worker;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use omniglot_runtime::config::Config;
use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::{DeadLetter, EventId, HookInfo, HookTestResponse};
use omniglot_store::Store;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use hook::Hook;
pub use hook::HookError;
use line::{Line, LineLimits};
pub(crate) use links::LinkTarget;
use links::Links;
use message::Message;
use reader::Reader;
use records::Left;
use sender::{Network, SystemResolver, Transport};
use worker::Worker;

/// The time that a daemon which stops gives to calls under way; the next daemon makes the others.
const FAREWELL: Duration = Duration::from_secs(3);

/// The hooks of a configuration, with their secrets.
#[derive(Debug)]
pub struct HookSettings {
    hooks: Vec<Hook>,
    public_url: Option<String>,
    limits: LineLimits,
    call: Duration,
}

impl HookSettings {
    pub fn of(config: &Config) -> Result<Self, HookError> {
        let limits = &config.limits;
        Ok(Self {
            hooks: config.hooks.iter().map(Hook::of).collect::<Result<_, _>>()?,
            public_url: config.public_url.clone(),
            limits: LineLimits {
                queue: usize::try_from(limits.hook_queue).unwrap_or(usize::MAX),
                retry: Duration::from_secs(limits.hook_retry_hours.saturating_mul(3600)),
            },
            call: Duration::from_secs(limits.hook_seconds),
        })
    }
}

/// The hooks of a running daemon. Cheap to clone; by default there are none.
#[derive(Clone, Default)]
pub struct Hooks {
    inner: Option<Arc<Inner>>,
}

struct Inner {
    lines: Vec<Arc<Line>>,
    links: Arc<Links>,
    store: Store,
    transport: Arc<dyn Transport>,
    tasks: Mutex<Option<Tasks>>,
}

struct Tasks {
    reader: JoinHandle<()>,
    workers: Vec<JoinHandle<()>>,
    stop_reading: CancellationToken,
    stop_calling: CancellationToken,
}

impl Hooks {
    /// Begins where an earlier daemon has stopped; a new hook is called for what happens from now on.
    pub async fn start(hub: &Hub, store: &Store, settings: HookSettings) -> Result<Self, RuntimeError> {
        let transport = Network::new(Arc::new(SystemResolver), settings.call);
        Self::start_with(hub, store, settings, Arc::new(transport)).await
    }

    async fn start_with(
        hub: &Hub,
        store: &Store,
        settings: HookSettings,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, RuntimeError> {
        let names: Vec<&str> = settings.hooks.iter().map(|hook| hook.name.as_str()).collect();
        let mut left = Left::load(store, &names).await?;
        if settings.hooks.is_empty() {
            return Ok(Self::default());
        }
        let head = hub.commit_head().await?.last;
        let lines = settings.hooks.into_iter().map(|hook| {
            let (progress, dead) = (left.progress.remove(&hook.name), left.dead.remove(&hook.name));
            Arc::new(Line::new(hook, progress, dead.unwrap_or_default(), head, settings.limits))
        });
        let lines: Vec<Arc<Line>> = lines.collect();
        // A new hook is to begin here also when the daemon dies at once.
        drop(store.keep_hook_rows(lines.iter().map(|line| line.cursor_row()).collect()));
        let (stop_reading, stop_calling) = (CancellationToken::new(), CancellationToken::new());
        let links = Arc::new(Links::load(store).await?);
        let worker = |line: &Arc<Line>| Worker {
            line: line.clone(),
            links: links.clone(),
            hub: hub.clone(),
            store: store.clone(),
            transport: transport.clone(),
            public_url: settings.public_url.clone(),
        };
        let workers = lines.iter().map(|line| tokio::spawn(worker(line).run(stop_calling.clone()))).collect();
        let reader = Reader::new(hub.clone(), store.clone(), lines.clone(), head);
        let reader = tokio::spawn(reader.run(stop_reading.clone()));
        let tasks = Mutex::new(Some(Tasks { reader, workers, stop_reading, stop_calling }));
        Ok(Self { inner: Some(Arc::new(Inner { lines, links, store: store.clone(), transport, tasks })) })
    }

    /// Makes the calls that the log has until now, as far as their receivers take them soon.
    pub async fn finish(&self) {
        let Some(inner) = &self.inner else { return };
        let tasks = inner.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(tasks) = tasks else { return };
        let end = Instant::now() + FAREWELL;
        tasks.stop_reading.cancel();
        ended_by(end, tasks.reader).await;
        tasks.stop_calling.cancel();
        for worker in tasks.workers {
            ended_by(end, worker).await;
        }
        let rows = inner.lines.iter().map(|line| line.cursor_row()).collect();
        let _closed = inner.store.keep_hook_rows(rows).await;
    }

    /// Returns all hooks, in the order of the configuration.
    pub(crate) fn list(&self) -> Vec<HookInfo> {
        self.inner.iter().flat_map(|inner| &inner.lines).map(|line| line.info()).collect()
    }

    /// Returns dead letters of a hook and whether it has more; `None` when there is no such hook.
    pub(crate) fn dead(&self, name: &str, limit: usize) -> Option<(Vec<DeadLetter>, bool)> {
        Some(self.line(name)?.dead(limit))
    }

    /// Sends dead letters of a hook again, all or one, and enables it. Returns how many; `None` when there is no such
    /// hook.
    pub(crate) async fn retry(&self, name: &str, id: Option<&EventId>) -> Option<u64> {
        let (retried, row) = self.line(name)?.retry(id, Instant::now());
        let _closed = self.inner.as_ref()?.store.keep_hook_rows(vec![row]).await;
        Some(retried)
    }

    /// Calls a hook at once and tells the outcome; `None` when there is no such hook.
    pub(crate) async fn test(&self, name: &str) -> Option<HookTestResponse> {
        let hook = &self.line(name)?.hook;
        let outcome = match Message::of_test(hook) {
            Ok(message) => self.inner.as_ref()?.transport.call(hook, &message).await,
            Err(_unlikely) => return None,
        };
        let (delivered, status) = (outcome.is_taken(), outcome.status());
        Some(HookTestResponse { delivered, outcome: outcome.to_string(), status })
    }

    /// Returns the request of a link that lives.
    pub(crate) fn link(&self, secret: &str) -> Option<LinkTarget> {
        self.inner.as_ref()?.links.find(secret, Timestamp::now())
    }

    /// Ends all links to a request that is resolved.
    pub(crate) fn end_links(&self, target: &LinkTarget) {
        if let Some(inner) = &self.inner {
            inner.links.end(target);
        }
    }

    fn line(&self, name: &str) -> Option<&Arc<Line>> {
        self.inner.as_ref()?.lines.iter().find(|line| line.hook.name == name)
    }
}

async fn ended_by(end: Instant, mut task: JoinHandle<()>) {
    if timeout_at(end, &mut task).await.is_err() {
        task.abort();
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.inner.iter().flat_map(|inner| &inner.lines);
        f.debug_list().entries(lines.map(|line| &line.hook.name)).finish()
    }
}
