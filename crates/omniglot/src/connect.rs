//! Finds the daemon that owns the data directory, or becomes it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use omniglot_client::{Client, ClientError, Trust};
use omniglot_runtime::config::Config;
use omniglot_runtime::{Backlog, Hub};
use omniglot_schema::ErrorType;
use omniglot_store::{LockHolder, StoreError, lock_holder};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::cli::DataDirArgs;
use crate::daemon::{Daemon, DaemonOptions};
use crate::flag_words::in_flags;
use crate::signals::StopSignals;
use crate::usage::UsageError;
use crate::{data_dir, env, print, token};

/// The number of attempts of a command to find a daemon again after a loss.
pub(crate) const ATTEMPTS: usize = 5;

/// The time for a daemon to appear or to exit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// The time for our own daemon to stop.
const STOPPING: Duration = Duration::from_secs(30);

/// The data that is needed to find or become the daemon.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
    /// The file that was given with `--config`.
    given: Option<PathBuf>,
    elsewhere: Option<Elsewhere>,
}

/// The daemon that the environment names, in the place of the data directory's own.
#[derive(Clone)]
struct Elsewhere {
    url: String,
    client: Client,
}

impl Elsewhere {
    /// Only the token of the environment is shown to it: the one of the data directory is for another daemon.
    fn of_environment() -> anyhow::Result<Option<Self>> {
        let Some(url) = env::of_environment(env::URL) else { return Ok(None) };
        let trust = env::of_environment(env::CA).map(|file| Trust::Authorities(file.into()));
        let secret = token::from_environment()?.map(token::Secret::into_text);
        if secret.is_some() && is_readable_on_the_way(&url) {
            print::note(&format!(
                "omniglot: {url} is not encrypted: everybody on the way can read the token; use https"
            ));
        }
        let client = Client::trusting(&url, secret, trust.unwrap_or_default());
        let client = client.map_err(|error| UsageError::new(format!("{}: {error}", env::URL)))?;
        Ok(Some(Self { url, client }))
    }

    async fn connect(&self) -> anyhow::Result<Connection> {
        let unreached = || format!("no daemon answers at {} ({})", self.url, env::URL);
        self.client.health().await.with_context(unreached)?;
        Ok(Connection { client: self.client.clone(), temporary: false, own: None })
    }
}

/// Whether a request to this address crosses a network in the clear.
fn is_readable_on_the_way(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    !here
}

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Elsewhere").field(&self.url).finish()
    }
}

/// A connection to a daemon, which may run in this process.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Whether the daemon is a command, this one or another.
    temporary: bool,
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
        Ok(Self { dir, config, given: args.config.clone(), elsewhere: Elsewhere::of_environment()? })
    }

    /// `backlog` applies where the daemon is this process.
    pub(crate) async fn connect(&self, backlog: Backlog) -> anyhow::Result<Connection> {
        if let Some(elsewhere) = &self.elsewhere {
            return elsewhere.connect().await;
        }
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            if let Some(connection) = self.running().await? {
                self.tell_of_the_daemons_own_configuration();
                return Ok(connection);
            }
            match self.become_daemon(backlog).await {
                Ok(connection) => return Ok(connection),
                // Another process was faster and has not announced its address, or is exiting.
                Err(error) if is_locked(&error) && Instant::now() < deadline => sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Connects again after a loss. Takes the place of a command that has ended, but not of a daemon: a
    /// command that only watches must not keep out the daemon that a person is about to start.
    pub(crate) async fn reconnect(&self, lost: Connection, backlog: Backlog) -> anyhow::Result<Connection> {
        let temporary = lost.temporary;
        lost.close().await?;
        if temporary { self.connect(backlog).await } else { self.find().await }
    }

    async fn find(&self) -> anyhow::Result<Connection> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            let found = match (&self.elsewhere, self.running().await) {
                (Some(_), Err(_)) if Instant::now() < deadline => None,
                (_, found) => found?,
            };
            if let Some(connection) = found {
                return Ok(connection);
            }
            ensure!(
                Instant::now() < deadline,
                "no daemon has come back within {} s; `omniglot daemon start` starts one",
                CONNECT_TIMEOUT.as_secs()
            );
            sleep(PAUSE).await;
        }
    }

    /// Returns the daemon that owns the directory, if it can be reached. A daemon that hangs is an error:
    /// waiting would not help.
    pub(crate) async fn running(&self) -> anyhow::Result<Option<Connection>> {
        if let Some(elsewhere) = &self.elsewhere {
            return elsewhere.connect().await.map(Some);
        }
        let Some(holder) = lock_holder(&self.dir) else { return Ok(None) };
        let client = client(&holder, token::for_client(&self.dir, self.config.token_file.as_deref())?)?;
        match client.health().await {
            Ok(_) => Ok(Some(Connection { client, temporary: holder.temporary, own: None })),
            Err(error @ ClientError::Silent(_)) => bail!(mute(&holder, &self.dir, &error)),
            Err(error) => {
                tracing::debug!(%error, pid = holder.pid, "the daemon does not answer");
                Ok(None)
            }
        }
    }

    /// The daemon's own configuration counts, whatever this command was given.
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
        let secret = token::for_client(&self.dir, self.config.token_file.as_deref())?;
        let client = Client::new(daemon.url(), secret.map(token::Secret::into_text))?;
        let hub = daemon.hub();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(daemon.run(async move {
            // Nothing is ever sent: the dropped sender is the only result.
            let _ = stopped.await;
        }));
        Ok(Connection { client, temporary: true, own: Some(Own { hub, stop, task }) })
    }
}

impl Connection {
    /// Whether a daemon of our own still has work: a running turn or a queued message.
    pub(crate) fn is_busy(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.hub.is_busy())
    }

    /// Waits until a daemon of our own has no work, since other clients may use it too.
    pub(crate) async fn idle(&self) {
        while self.is_busy() {
            sleep(PAUSE).await;
        }
    }

    /// Disconnects from the daemon; one of our own stays while other clients use it.
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

    /// Disconnects from the daemon; stops it if it is our own.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        let Some(own) = self.own else { return Ok(()) };
        drop(own.stop);
        timeout(STOPPING, own.task).await.context("the agents did not end in time")??
    }
}

/// Returns a client of the daemon that owns a data directory. One that speaks TLS is known by its certificate, whatever
/// names that has: it was announced in a file that only the daemon's user can write.
pub(crate) fn client(holder: &LockHolder, secret: Option<token::Secret>) -> anyhow::Result<Client> {
    let trust = holder.certificate.clone().map(Trust::Certificate).unwrap_or_default();
    Ok(Client::trusting(&holder.url, secret.map(token::Secret::into_text), trust)?)
}

/// Describes a daemon that runs and does not answer.
pub(crate) fn mute(holder: &LockHolder, dir: &Path, error: &ClientError) -> String {
    let (LockHolder { pid, url, .. }, dir) = (holder, dir.display());
    format!("the daemon with pid {pid} owns {dir} but does not answer at {url}: {error}")
}

fn is_locked(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Locked { .. }))
}

/// Whether a new connection may help.
pub(crate) fn is_lost(error: &ClientError) -> bool {
    match error {
        ClientError::Connect(_) | ClientError::Transport(_) | ClientError::Silent(_) => true,
        ClientError::Problem(problem) => problem.status == 503,
        ClientError::Decode(_)
        | ClientError::Unexpected(_)
        | ClientError::Url(_)
        | ClientError::Authorities { .. }
        | ClientError::NoAuthorities
        | ClientError::Tls(_) => false,
    }
}

/// Returns the daemon's message with its hint; a setting that no agent or mode has is a usage error.
pub(crate) fn explain(error: ClientError) -> anyhow::Error {
    let Some(problem) = error.problem() else { return error.into() };
    let is = |kind: ErrorType| problem.r#type.rsplit(':').next() == Some(kind.as_str());
    let hint = match problem.status {
        401 => Some("the daemon wants another token; give it as OMNIGLOT_TOKEN".to_owned()),
        _ if is(ErrorType::UnsupportedAgent) => {
            Some("`omniglot agents list` shows all; add others under [agents.NAME] in omniglot.toml".into())
        }
        _ if is(ErrorType::SessionNotFound) => Some("`omniglot sessions list` shows all".into()),
        _ if is(ErrorType::SessionAlreadyExists) => {
            Some("choose another id, or go on with that session: `omniglot sessions send ID TEXT`".into())
        }
        _ => problem.hint.clone(),
    };
    let usage = is(ErrorType::UnsupportedAgent) || is(ErrorType::ModeNotSupported);
    let message = match hint {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    let message = in_flags(&message);
    if usage { UsageError::new(message).into() } else { anyhow!(message) }
}
