//! The connection to the daemon: finds the daemon, starts it if none runs, and finds it again after a loss.
//!
//! The daemon is a separate background process, so that sessions outlive the editor.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use omniglot_client::Client;
use omniglot_runtime::config::Config;
use omniglot_store::lock_holder;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::note;
use crate::cli::DataDirArgs;
use crate::connect::client;
use crate::daemon_command::{begin, unasked};
use crate::token::Wanted;
use crate::{data_dir, token};

/// How long a daemon may be neither running nor startable.
const DAEMON_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
/// The polling interval for a daemon that is not needed at the moment.
const LOOKING: Duration = Duration::from_millis(300);

/// A daemon that answered.
#[derive(Clone)]
pub(super) struct Attached {
    pub(super) client: Client,
    /// Distinguishes one daemon from the next.
    pub(super) pid: u32,
    /// Counts how often a daemon was found.
    turn: u64,
}

pub(super) struct DaemonLink {
    location: DaemonLocation,
    attached: Mutex<Attached>,
}

/// The location of the daemon, and its start arguments.
struct DaemonLocation {
    dir: PathBuf,
    config: Config,
    data: DataDirArgs,
}

impl DaemonLink {
    pub(super) async fn open(data: DataDirArgs) -> anyhow::Result<Self> {
        let dir = data_dir::prepare(&data)?;
        let config = data_dir::config(&data, &dir)?;
        let location = DaemonLocation { dir, config, data };
        let attached = Mutex::new(location.find_or_start(0).await?);
        Ok(Self { location, attached })
    }

    pub(super) async fn attached(&self) -> Attached {
        self.attached.lock().await.clone()
    }

    /// Returns another connection than `lost`, which another task may have found meanwhile.
    pub(super) async fn again(&self, lost: &Attached) -> anyhow::Result<Attached> {
        let mut attached = self.attached.lock().await;
        if attached.turn == lost.turn {
            *attached = self.location.find_or_start(lost.turn + 1).await?;
            tell_of_another(lost, &attached);
            if attached.pid == lost.pid {
                // The daemon answers but serves no request: it is about to exit.
                sleep(PAUSE).await;
            }
        }
        Ok(attached.clone())
    }

    /// Waits for another daemon than `lost`: one that a person stopped stays stopped until it is needed.
    pub(super) async fn another(&self, lost: &Attached, is_needed: impl Fn() -> bool) -> anyhow::Result<()> {
        loop {
            if is_needed() {
                return self.again(lost).await.map(drop);
            }
            let mut attached = self.attached.lock().await;
            if attached.turn != lost.turn {
                return Ok(());
            }
            if let Some(found) = self.location.look(lost.turn + 1).await? {
                tell_of_another(lost, &found);
                *attached = found;
                return Ok(());
            }
            drop(attached);
            sleep(LOOKING).await;
        }
    }
}

fn tell_of_another(lost: &Attached, found: &Attached) {
    if lost.pid != found.pid {
        note("the daemon was started anew; going on with it");
    }
}

impl DaemonLocation {
    /// Returns the daemon that owns the directory, if it answers.
    async fn look(&self, turn: u64) -> anyhow::Result<Option<Attached>> {
        let Some(holder) = lock_holder(&self.dir) else { return Ok(None) };
        let secret = token::for_client(&self.dir, self.config.token_file.as_deref())?;
        let client = client(&holder, secret)?;
        Ok(client.health().await.is_ok().then_some(Attached { client, pid: holder.pid, turn }))
    }

    async fn find_or_start(&self, turn: u64) -> anyhow::Result<Attached> {
        let deadline = Instant::now() + DAEMON_TIMEOUT;
        loop {
            if let Some(attached) = self.look(turn).await? {
                return Ok(attached);
            }
            let Some(holder) = lock_holder(&self.dir) else {
                self.start(deadline).await?;
                continue;
            };
            if Instant::now() > deadline {
                bail!("the daemon (pid {}) does not answer; `omniglot daemon stop` ends it", holder.pid);
            }
            // The daemon is starting or exiting.
            sleep(PAUSE).await;
        }
    }

    async fn start(&self, deadline: Instant) -> anyhow::Result<()> {
        match begin(&unasked(&self.data, &self.config), &self.dir, Wanted::ByClient).await {
            Ok(_) => Ok(()),
            // Another process was faster.
            Err(_) if lock_holder(&self.dir).is_some() && Instant::now() < deadline => Ok(()),
            Err(error) => Err(error),
        }
    }
}
