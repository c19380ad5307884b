//! Finds the daemon that owns the data directory, or becomes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use omniglot_client::{Client, ClientError};
use omniglot_runtime::config::Config;
use omniglot_runtime::{Backlog, Hub};
use omniglot_schema::ErrorType;
use omniglot_store::{LockHolder, StoreError, lock_holder};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::cli::DataDirArgs;
use crate::daemon::{Daemon, DaemonOptions};
use crate::signals::StopSignals;
use crate::usage::UsageError;
use crate::{data_dir, print, token};

/// How often a command looks for a daemon again after it lost one.
pub(crate) const ATTEMPTS: usize = 5;

/// How long a daemon may take to appear or to vanish.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// How long our own daemon may take to stop.
const STOPPING: Duration = Duration::from_secs(30);

/// What is needed to find or become the daemon.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
    /// The file that was given with `--config`.
    given: Option<PathBuf>,
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
    pub(crate) fn of(args: &DataDirArgs) -> anyhow::Result<Self> {
        let dir = data_dir::prepare(args)?;
        let config = data_dir::config(args, &dir)?;
        Ok(Self { dir, config, given: args.config.clone() })
    }

    /// `backlog` counts where the daemon is this process.
    pub(crate) async fn connect(&self, backlog: Backlog) -> anyhow::Result<Connection> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            if let Some(client) = self.running().await? {
                self.tell_of_the_daemons_own_configuration();
                return Ok(Connection { client, own: None });
            }
            match self.become_daemon(backlog).await {
                Ok(connection) => return Ok(connection),
                // Another one was faster and has not said where it listens, or is just leaving.
                Err(error) if is_locked(&error) && Instant::now() < deadline => sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// The next daemon after one that was lost. Does not take its place: whoever watches must not keep out a
    /// daemon that somebody is about to start.
    pub(crate) async fn find(&self) -> anyhow::Result<Connection> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            if let Some(client) = self.running().await? {
                return Ok(Connection { client, own: None });
            }
            ensure!(
                Instant::now() < deadline,
                "no daemon has come back within {} s; `omniglot daemon start` starts one",
                CONNECT_TIMEOUT.as_secs()
            );
            sleep(PAUSE).await;
        }
    }

    /// The daemon that owns the directory, if it can be reached. One that hangs is an error: there is none to
    /// wait for.
    pub(crate) async fn running(&self) -> anyhow::Result<Option<Client>> {
        let Some(holder) = lock_holder(&self.dir) else { return Ok(None) };
        let client = client(&holder.url, token::for_client(&self.dir, self.config.token_file.as_deref())?)?;
        match client.health().await {
            Ok(_) => Ok(Some(client)),
            Err(error @ ClientError::Silent(_)) => bail!(mute(&holder, &self.dir, &error)),
            Err(error) => {
                tracing::debug!(%error, pid = holder.pid, "the daemon does not answer");
                Ok(None)
            }
        }
    }

    /// What it was started with counts, whatever we were given.
    fn tell_of_the_daemons_own_configuration(&self) {
        if let Some(file) = &self.given {
            let (dir, file) = (self.dir.display(), file.display());
            print::note(&format!(
                "omniglot: a daemon serves {dir} already, with its own configuration; of {file} only \
                 default_agent and token_file count (`omniglot daemon stop` stops it)"
            ));
        }
    }

    async fn become_daemon(&self, backlog: Backlog) -> anyhow::Result<Connection> {
        let options = DaemonOptions::new(self.dir.clone(), self.config.clone(), backlog);
        let daemon = Daemon::start(options).await?;
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

    /// Leaves the daemon; one of our own stays while others use it.
    pub(crate) async fn leave(self) -> anyhow::Result<()> {
        if self.is_busy() {
            print::note("· other turns still run here; Ctrl-C stops them");
            let mut signals = StopSignals::listen()?;
            tokio::select! {
                () = self.idle() => {}
                () = signals.next() => {}
            }
        }
        self.close().await
    }

    /// Leaves the daemon; stops it if it is our own.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        let Some(own) = self.own else { return Ok(()) };
        drop(own.stop);
        timeout(STOPPING, own.task).await.context("the agents did not end in time")??
    }
}

pub(crate) fn client(url: &str, secret: Option<token::Secret>) -> anyhow::Result<Client> {
    Ok(Client::new(url, secret.map(|secret| secret.reveal().to_owned()))?)
}

/// The words for a daemon that is there and says nothing.
pub(crate) fn mute(holder: &LockHolder, dir: &Path, error: &ClientError) -> String {
    let (LockHolder { pid, url, .. }, dir) = (holder, dir.display());
    format!("the daemon with pid {pid} owns {dir} but does not answer at {url}: {error}")
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

/// What the daemon said, with what to do about it; a wish that no agent or mode fits is a mistake of use.
pub(crate) fn explain(error: ClientError) -> anyhow::Error {
    let Some(problem) = error.problem() else { return error.into() };
    let is = |kind: ErrorType| problem.r#type.rsplit(':').next() == Some(kind.as_str());
    let hint = match problem.status {
        401 => Some("the daemon wants another token; give it as OMNIGLOT_TOKEN".to_owned()),
        _ if is(ErrorType::UnsupportedAgent) => {
            Some("`omniglot agents list` shows all; add others under [agents.NAME] in omniglot.toml".into())
        }
        _ if is(ErrorType::SessionNotFound) => Some("`omniglot sessions list` shows all".into()),
        _ => problem.hint.clone(),
    };
    let usage = is(ErrorType::UnsupportedAgent) || is(ErrorType::ModeNotSupported);
    let message = match hint {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    if usage { UsageError::new(message).into() } else { anyhow!(message) }
}
