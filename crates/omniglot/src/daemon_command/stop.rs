//! `omniglot daemon stop`: signals the owner of the data directory to exit, and waits until it has.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use omniglot_store::{LockHolder, lock_holder};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use tokio::time::sleep;

use crate::cli::TalkArgs;
use crate::{data_dir, print};

/// A daemon ends its agents first, which may take some time.
const STOP_TIMEOUT: Duration = Duration::from_secs(40);
const PAUSE: Duration = Duration::from_millis(30);

pub(crate) async fn stop(args: &TalkArgs) -> anyhow::Result<ExitCode> {
    let dir = data_dir::place(args.data.data_dir.as_deref())?;
    match end(&dir).await? {
        None => report(args.json, None, &format!("no daemon serves {}", dir.display())),
        Some(pid) => report(args.json, Some(pid), &format!("stopped the daemon with pid {pid}")),
    }
}

/// Stops the daemon, if there is one, and waits until it is gone; returns its pid.
pub(super) async fn end(dir: &Path) -> anyhow::Result<Option<u32>> {
    let Some(LockHolder { pid, .. }) = lock_holder(dir) else { return Ok(None) };
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| anyhow!("the lock names no process: {pid}"))?;
    match kill_process(process, Signal::TERM) {
        // The daemon exited between the two checks.
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => {
            return Err(error).with_context(|| format!("the daemon with pid {pid} cannot be stopped"));
        }
    }
    gone(dir, pid).await?;
    Ok(Some(pid))
}

fn report(json: bool, stopped: Option<u32>, words: &str) -> anyhow::Result<ExitCode> {
    #[derive(Serialize)]
    struct Stopped {
        stopped: Option<u32>,
    }
    if json {
        print::json(&Stopped { stopped })?
    } else {
        print::line(words)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits until the data directory is free and the process has exited.
async fn gone(dir: &Path, pid: u32) -> anyhow::Result<()> {
    let deadline = Instant::now() + STOP_TIMEOUT;
    while lock_holder(dir).is_some_and(|holder| holder.pid == pid) || is_alive(pid) {
        ensure!(
            Instant::now() < deadline,
            "the daemon with pid {pid} has not left after {} s; `kill -9 {pid}` loses nothing that was shown",
            STOP_TIMEOUT.as_secs()
        );
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Whether the process runs; a zombie that waits for its parent does not count.
pub(super) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}
