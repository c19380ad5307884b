//! The start of a daemon: its parts, and the order in which it takes up what an earlier one has left.
//!
//! The sessions that it finds are taken up in `recover`.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use omniglot_agents::Registry;
use omniglot_store::{Store, private, shared};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::processes::Processes;
use super::rules::DaemonRules;
use super::session_locks::SessionLocks;
use super::terminate::Terminating;
use super::tokens::Tokens;
use super::{Hub, Inner, attach, upload};
use crate::agent::catalog::Catalog;
use crate::agent::client_host::ClientHosts;
use crate::agent::credentials::Credentials;
use crate::agent::restart_policy::SessionRestarts;
use crate::agent::session_start::Launcher;
use crate::agent::shared_server::{Servers, Terms};
use crate::agent::skills::SkillStore;
use crate::agent::versions::Versions;
use crate::config::Config;
use crate::confined::{Private, Temporaries};
use crate::deadlines::Deadlines;
use crate::error::RuntimeError;
use crate::metrics::Metrics;
use crate::process::sweep::{Swept, sweep};
use crate::process::{self, Supervisor};
use crate::snapshots::Snapshots;

/// The parts and settings of a daemon.
#[derive(Debug, Clone)]
pub struct HubConfig {
    pub data_dir: PathBuf,
    /// This binary: the guard of every agent, and the built-in agent itself.
    pub program: PathBuf,
    pub config: Config,
    /// The agents that need no configuration.
    pub registry: Registry,
    pub store: Store,
    pub deadlines: Deadlines,
    pub backlog: Backlog,
}

/// The handling of messages that a dead daemon has left queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// They are delivered at once.
    Deliver,
    /// They wait for a daemon that delivers them, or for the next message to their session: whoever only looks
    /// must not start agents.
    Keep,
}

impl Hub {
    /// Opens for business: ends what a dead daemon has left, closes its turns, delivers its queues if it shall.
    pub async fn start(config: HubConfig) -> Result<Self, RuntimeError> {
        let HubConfig { data_dir, program, config, registry, store, deadlines, backlog } = config;
        let run_dir = private(&data_dir).join("run");
        let swept = sweep(&run_dir);
        crate::agent::prepared::sweep(&run_dir);
        upload::sweep(&attach::attachments(&data_dir));
        let temporaries = Temporaries::of(&data_dir);
        temporaries.sweep();
        if swept != Swept::default() {
            tracing::warn!(?swept, "ended processes that an earlier daemon had left");
        }
        let limits = process::Limits { line_cap: config.limits.max_line_bytes, ..process::Limits::default() };
        let catalog = Arc::new(Catalog::new(&config, &registry, &program, &data_dir));
        let supervisor = Supervisor { guard: program, run_dir, limits };
        let terms = Terms {
            handshake: Duration::from_secs(config.limits.handshake_seconds),
            idle: deadlines.idle,
            stop: deadlines.stop,
            cwd: shared(&data_dir),
            metrics: Arc::new(Metrics::new(catalog.entries().map(|entry| entry.name.clone()))),
        };
        crate::agent::install::sweep(&data_dir);
        let launcher = Launcher {
            metrics: terms.metrics.clone(),
            catalog,
            versions: Versions::new(supervisor.clone(), &data_dir),
            servers: Servers::new(supervisor.clone(), terms),
            restarts: SessionRestarts::default(),
            private: Private::of(&data_dir),
            supervisor,
            timeout: Duration::from_secs(config.limits.handshake_seconds),
        };
        let tasks = TaskTracker::new();
        let snapshots =
            Snapshots::new(!config.no_snapshots, &data_dir, launcher.supervisor.clone(), tasks.clone());
        let inner = Inner {
            snapshots,
            tokens: Tokens::load(&store).await?,
            processes: Processes::new(&config.processes),
            rules: DaemonRules::new(&config, &data_dir),
            terminating: Terminating::default(),
            launcher,
            skills: SkillStore::new(&shared(&data_dir), Duration::from_secs(config.limits.skills_seconds)),
            data_dir,
            store,
            deadlines,
            bounds: config.limits.bounds(),
            live_agents: config.limits.live_agents,
            metadata_bytes: config.limits.metadata_bytes,
            running_agents: config.limits.running_agents,
            admitting: Arc::default(),
            file_roots: config.files.roots.clone(),
            temporaries,
            became_idle: Arc::default(),
            default_agent: config.default_agent.clone(),
            live: Mutex::default(),
            session_locks: SessionLocks::default(),
            probes: Mutex::default(),
            credentials: Credentials::default(),
            client_hosts: ClientHosts::default(),
            probing: Mutex::default(),
            installing: Mutex::default(),
            tasks,
            stopping: AtomicBool::new(false),
            recovering: AtomicBool::new(false),
            leaving: CancellationToken::new(),
        };
        let hub = Self::of(Arc::new(inner));
        hub.enforce_live_limit();
        hub.sweep_skills().await?;
        hub.sweep_snapshots().await?;
        hub.recover_soon(backlog).await?;
        hub.keep_within(config.retention);
        Ok(hub)
    }
}
