//! Finds the daemon that owns the data directory, or becomes it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use omniglot_client::{Client, ClientError};
use omniglot_runtime::Hub;
use omniglot_runtime::config::Config;
use omniglot_store::{StoreError, lock_holder};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::daemon::{Daemon, DaemonOptions};
use crate::token;

/// How long a daemon may take to appear or to vanish.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// How long our own daemon may take to stop.
const STOPPING: Duration = Duration::from_secs(30);

/// What is needed to find or become the daemon.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
}

/// A way to a daemon, which may live in this process.
pub(crate) struct Connection {
    pub(crate) client: Client,
    own: Option<Own>,
}

struct Own {
    hub: Hub,
    stop: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Home {
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(client) = self.running().await? {
                return Ok(Connection { client, own: None });
            }
            match self.become_daemon().await {
                Ok(connection) => return Ok(connection),
                // Another one was faster and has not said where it listens, or is just leaving.
                Err(error) if is_locked(&error) && Instant::now() < deadline => sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// The daemon that owns the directory, if it answers.
    async fn running(&self) -> anyhow::Result<Option<Client>> {
        let Some(holder) = lock_holder(&self.dir) else { return Ok(None) };
        let client = client(&holder.url, token::for_client(&self.dir)?)?;
        match client.health().await {
            Ok(_) => Ok(Some(client)),
            Err(error) => {
                tracing::debug!(%error, pid = holder.pid, "the daemon does not answer");
                Ok(None)
            }
        }
    }

    async fn become_daemon(&self) -> anyhow::Result<Connection> {
        let daemon = Daemon::start(DaemonOptions::new(self.dir.clone(), self.config.clone())).await?;
        let client = client(daemon.url(), daemon.secret())?;
        let hub = daemon.hub();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(daemon.run(async move {
            // Nothing is ever sent: the sender is dropped, which is the only result there is.
            let _ = stopped.await;
        }));
        Ok(Connection { client, own: Some(Own { hub, stop, task }) })
    }
}

impl Connection {
    /// Whether a daemon of our own still has work: a turn that runs or a message that waits.
    pub(crate) fn is_busy(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.hub.is_busy())
    }

    /// Others may use a daemon of our own too: waits until it has no work.
    pub(crate) async fn idle(&self) {
        while self.is_busy() {
            sleep(PAUSE).await;
        }
    }

    /// Leaves the daemon; stops it if it is our own.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        let Some(own) = self.own else { return Ok(()) };
        drop(own.stop);
        timeout(STOPPING, own.task).await.context("the agents did not end in time")??
    }
}

fn client(url: &str, secret: Option<token::Secret>) -> anyhow::Result<Client> {
    Ok(Client::new(url, secret.map(|secret| secret.reveal().to_owned()))?)
}

fn is_locked(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Locked { .. }))
}

/// Whether another connection may help.
pub(crate) fn is_lost(error: &ClientError) -> bool {
    match error {
        ClientError::Connect(_) | ClientError::Transport(_) | ClientError::Silent(_) => true,
        ClientError::Problem(problem) => problem.status == 503,
        ClientError::Decode(_) | ClientError::Unexpected(_) | ClientError::Url(_) => false,
    }
}

/// What the daemon said, with what to do about it.
pub(crate) fn explain(error: ClientError) -> anyhow::Error {
    let hint = match error.problem() {
        Some(problem) if problem.status == 401 => {
            Some("the daemon wants another token; give it as OMNIGLOT_TOKEN".to_owned())
        }
        Some(problem) => problem.hint.clone(),
        None => None,
    };
    match hint {
        Some(hint) => anyhow!("{error}; {hint}"),
        None => error.into(),
    }
}
