//! `omniglot daemon status`: the daemon of the data directory, and whether it is of our version.

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use jiff::Timestamp;
use omniglot_schema::DaemonStatus;
use omniglot_store::{LockHolder, lock_holder};
use serde::Serialize;

use crate::cli::TalkArgs;
use crate::connect::{client, explain, mute};
use crate::times::{moment, span};
use crate::{data_dir, print, token};

const OURS: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
struct Report<'a> {
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(flatten)]
    daemon: Option<&'a DaemonStatus>,
    #[serde(rename = "dataDir")]
    data_dir: &'a Path,
    /// The version of this program, which may differ from that of the daemon.
    #[serde(rename = "clientVersion")]
    client_version: &'static str,
}

pub(crate) async fn status(args: &TalkArgs) -> anyhow::Result<ExitCode> {
    let dir = data_dir::place(args.data.data_dir.as_deref())?;
    let Some(holder) = lock_holder(&dir) else {
        if args.json {
            let (url, daemon) = (None, None);
            print::json(&Report { running: false, url, daemon, data_dir: &dir, client_version: OURS })?;
        } else {
            let place = dir.display();
            print::line(&format!("no daemon serves {place}; `omniglot daemon start` starts one"))?;
        }
        return Ok(ExitCode::FAILURE);
    };
    let config = data_dir::config(&args.data, &dir)?;
    let daemon = asked(&dir, &holder, config.token_file.as_deref()).await?;
    if args.json {
        let (url, daemon) = (Some(&*holder.url), Some(&daemon));
        print::json(&Report { running: true, url, daemon, data_dir: &dir, client_version: OURS })?;
    } else {
        print::text(&readable(&dir, &holder.url, &daemon, Timestamp::now()))?;
    }
    if let Some(warning) = version_warning(&daemon.version) {
        print::note(&warning);
    }
    Ok(ExitCode::SUCCESS)
}

async fn asked(dir: &Path, holder: &LockHolder, token_file: Option<&Path>) -> anyhow::Result<DaemonStatus> {
    let LockHolder { pid, url, .. } = holder;
    let client = client(holder, token::for_client(dir, token_file)?)?;
    if let Err(error) = client.health().await {
        bail!(mute(holder, dir, &error));
    }
    match client.daemon().await {
        Err(error) if error.status() == Some(404) => {
            bail!("the daemon with pid {pid} at {url} is older than this omniglot ({OURS}); {RESTART}")
        }
        other => other.map_err(explain),
    }
}

const RESTART: &str = "restart it: `omniglot daemon stop`, then `omniglot daemon start`";

/// Warns about another version: two versions may not understand each other in everything.
pub(super) fn version_warning(running: &str) -> Option<String> {
    (running != OURS)
        .then(|| format!("warning: the daemon is omniglot {running}, this program is {OURS}; {RESTART}"))
}

fn readable(dir: &Path, url: &str, daemon: &DaemonStatus, now: Timestamp) -> String {
    let DaemonStatus { version, pid, started_at, sessions, live, busy } = daemon;
    let seconds = now.as_millisecond().saturating_sub(*started_at) / 1000;
    let up = format!("{}, since {}", span(u64::try_from(seconds).unwrap_or(0)), moment(*started_at));
    let lines = [
        ("url", url.to_owned()),
        ("version", version.clone()),
        ("pid", pid.to_string()),
        ("up", up),
        ("sessions", format!("{sessions}, {busy} at work, {live} with an agent")),
        ("data dir", dir.display().to_string()),
    ];
    lines.iter().map(|(name, value)| format!("{name:<8}  {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_version_is_worth_a_warning() {
        assert_eq!(version_warning(OURS), None);
        let warning = version_warning("0.0.1").unwrap();
        assert!(warning.contains("0.0.1") && warning.contains(OURS) && warning.contains("daemon stop"));
    }
}
