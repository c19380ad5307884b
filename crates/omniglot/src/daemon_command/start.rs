//! `omniglot daemon start`: starts `serve` without a terminal and waits until it answers.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};
use omniglot_client::ClientError;
use omniglot_runtime::config::{Config, Listen};
use omniglot_store::{LockHolder, lock_holder, private};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use tokio::time::sleep;

use super::status;
use super::stop::is_alive;
use crate::cli::{DataDirArgs, ServeArgs, StartArgs};
use crate::connect::{client, mute};
use crate::serve::{listen, refuse_open_network, tls};
use crate::token::Wanted;
use crate::{data_dir, print, token};

/// The log of a daemon in the background, within the private directory.
pub(super) const LOG: &str = "daemon.log";
/// A longer log is rotated; the one before is kept beside it.
const LONGEST_LOG: u64 = 10 << 20;
/// The number of log lines that are printed when a daemon does not start.
const LAST_LINES: usize = 10;

/// The time for a daemon to answer after its start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The time for a daemon that does not listen any more to leave.
const LEAVING_TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(30);

#[derive(Serialize)]
struct Started {
    url: String,
    pid: u32,
    log: PathBuf,
    /// Whether the daemon was running before.
    already: bool,
}

pub(crate) async fn start(args: &StartArgs) -> anyhow::Result<ExitCode> {
    let dir = data_dir::prepare(&args.serve.data)?;
    // A mistake in the configuration is better reported here than in a log.
    let config = data_dir::config(&args.serve.data, &dir)?;
    let address = listen(&args.serve, &config);
    refuse_open_network(&args.serve, &address)?;
    tls(&args.serve, &config, &address)?;
    while let Some(holder) = lock_holder(&dir) {
        let secret = token::for_client(&dir, config.token_file.as_deref())?;
        if !left(&dir, &holder).await? {
            return already(args, secret, holder, &dir).await;
        }
    }
    let holder = begin(&args.serve, &dir, Wanted::Explicitly).await?;
    let log = private(&dir).join(LOG);
    report(args.json, &Started { url: holder.url, pid: holder.pid, log, already: false })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the data directory's daemon. Starts one in the background if there is none.
pub(crate) async fn background(data: &DataDirArgs) -> anyhow::Result<LockHolder> {
    let dir = data_dir::prepare(data)?;
    if let Some(holder) = lock_holder(&dir) {
        return Ok(holder);
    }
    let config = data_dir::config(data, &dir)?;
    match begin(&unasked(data, &config), &dir, Wanted::ByClient).await {
        // Another process may have been faster.
        Err(error) => lock_holder(&dir).ok_or(error),
        started => started,
    }
}

/// The arguments of a daemon that is started implicitly. Where no port is configured and the default one is
/// taken, any will do: the data directory has its address.
pub(crate) fn unasked(data: &DataDirArgs, config: &Config) -> ServeArgs {
    ServeArgs { data: data.clone(), any_port: config.listen.is_none(), ..ServeArgs::default() }
}

/// Starts a daemon that outlives this process, and waits until it answers.
pub(crate) async fn begin(args: &ServeArgs, dir: &Path, wanted: Wanted) -> anyhow::Result<LockHolder> {
    let log = private(dir).join(LOG);
    let (file, before) = open_log(&log)?;
    let started = match launch(args, dir, file, wanted) {
        Ok(pid) => answering(pid, dir).await,
        Err(error) => Err(error),
    };
    started.map_err(|error| anyhow!("{error:#}{}", last_lines(&log, before)))
}

/// Waits as long as the daemon can neither be reached nor has left: one that was killed keeps its lock a moment
/// longer than its port. Returns whether it has left.
async fn left(dir: &Path, holder: &LockHolder) -> anyhow::Result<bool> {
    let deadline = Instant::now() + LEAVING_TIMEOUT;
    while lock_holder(dir).as_ref() == Some(holder) {
        let lost = |error: &ClientError| matches!(error, ClientError::Connect(_) | ClientError::Transport(_));
        let lost = client(holder, None)?.health().await.is_err_and(|error| lost(&error));
        if !lost || Instant::now() > deadline {
            return Ok(false);
        }
        sleep(PAUSE).await;
    }
    Ok(true)
}

async fn already(
    args: &StartArgs,
    secret: Option<token::Secret>,
    holder: LockHolder,
    dir: &Path,
) -> anyhow::Result<ExitCode> {
    let log = private(dir).join(LOG);
    let daemon = client(&holder, secret)?.daemon().await;
    if let Err(error @ (ClientError::Silent(_) | ClientError::Connect(_))) = &daemon {
        bail!(mute(&holder, dir, error));
    }
    refuse_elsewhere(&args.serve, &holder)?;
    refuse_more(&args.serve, &holder)?;
    let version = daemon.as_ref().map(|daemon| daemon.version.as_str()).ok();
    report(args.json, &Started { url: holder.url, pid: holder.pid, log, already: true })?;
    if let Some(warning) = version.and_then(status::version_warning) {
        print::note(&warning);
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses when the running daemon listens at another address than the one that was given.
fn refuse_elsewhere(args: &ServeArgs, LockHolder { pid, url, .. }: &LockHolder) -> anyhow::Result<()> {
    let Some(at) = Listen::of_url(url) else { return Ok(()) };
    let ServeArgs { host, port, listen, .. } = args;
    let same = match (&at, listen) {
        (at, Some(wanted)) => is_same(at, wanted),
        // Any port is accepted for 0.
        (Listen::Tcp(at), None) => {
            host.is_none_or(|host| host == at.ip()) && port.is_none_or(|port| port == 0 || port == at.port())
        }
        (Listen::Unix(_), None) => host.is_none() && port.is_none(),
    };
    ensure!(
        same,
        "a daemon serves here already, at {url} (pid {pid}); \
         `omniglot daemon restart` with these options ends its turns and starts it there"
    );
    Ok(())
}

fn is_same(at: &Listen, wanted: &Listen) -> bool {
    match (at, wanted) {
        (Listen::Tcp(at), Listen::Tcp(wanted)) if wanted.port() == 0 => at.ip() == wanted.ip(),
        _ => at == wanted,
    }
}

/// Refuses options that only a new daemon could apply.
fn refuse_more(args: &ServeArgs, LockHolder { pid, url, .. }: &LockHolder) -> anyhow::Result<()> {
    let ServeArgs {
        data,
        token,
        allow_hosts,
        allow_origins,
        host: _,
        port: _,
        listen: _,
        tls_cert,
        tls_key,
        any_port: _,
        detached: _,
    } = args;
    let token = token.token.is_some() || token.token_file.is_some() || token.no_token;
    let tls = tls_cert.is_some() || tls_key.is_some();
    let more = data.config.is_some() || token || tls || !allow_hosts.is_empty() || !allow_origins.is_empty();
    ensure!(
        !more,
        "a daemon serves here already, at {url} (pid {pid}), and goes on as it was started; \
         `omniglot daemon restart` with these options ends its turns and applies them"
    );
    Ok(())
}

fn report(json: bool, started: &Started) -> anyhow::Result<()> {
    if json {
        return print::json(started);
    }
    let Started { url, pid, log, already } = started;
    if *already {
        return print::line(&format!("a daemon serves here already: {url} (pid {pid})"));
    }
    print::line(&format!("omniglot serves at {url} (pid {pid}, log {})", log.display()))
}

/// Opens the log for appending; returns its previous length.
fn open_log(path: &Path) -> anyhow::Result<(File, u64)> {
    if std::fs::metadata(path).is_ok_and(|log| log.len() > LONGEST_LOG) {
        std::fs::rename(path, path.with_extension("log.old"))
            .with_context(|| format!("{} cannot make room", path.display()))?;
    }
    let folder = path.parent().unwrap_or(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    // The log may contain agents' stderr, so only the owner may read it.
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let file = file.with_context(|| format!("{} cannot be written", path.display()))?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Starts the daemon by `omniglot launch`; returns its pid.
fn launch(args: &ServeArgs, dir: &Path, log: File, wanted: Wanted) -> anyhow::Result<u32> {
    let program = std::env::current_exe().context("this program does not find itself")?;
    let mut command = Command::new(program);
    command.arg("launch").args(words(args, dir)).stdin(Stdio::null());
    if let Some(token) = &args.token.token {
        // Every user could read an argument as long as the daemon runs.
        command.env(token::VARIABLE, token);
    } else if wanted == Wanted::ByClient {
        command.env_remove(token::VARIABLE);
    }
    let launched = command.stderr(log).output().context("the daemon cannot be started")?;
    let pid = String::from_utf8_lossy(&launched.stdout);
    pid.trim().parse().with_context(|| format!("the daemon did not start ({})", launched.status))
}

/// Returns the equivalent arguments of `serve`.
fn words(args: &ServeArgs, dir: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--data-dir".into(), dir.into()];
    if let Some(host) = args.host {
        words.extend(["--host".into(), host.to_string().into()]);
    }
    if let Some(port) = args.port {
        words.extend(["--port".into(), port.to_string().into()]);
    }
    if let Some(listen) = &args.listen {
        words.extend(["--listen".into(), listen.to_string().into()]);
    }
    for (option, file) in [("--tls-cert", &args.tls_cert), ("--tls-key", &args.tls_key)] {
        if let Some(file) = file {
            words.extend([option.into(), file.into()]);
        }
    }
    if args.any_port {
        words.push("--any-port".into());
    }
    if let Some(config) = &args.data.config {
        words.extend(["--config".into(), config.into()]);
    }
    if let Some(file) = &args.token.token_file {
        words.extend(["--token-file".into(), file.into()]);
    }
    if args.token.no_token {
        words.push("--no-token".into());
    }
    for host in &args.allow_hosts {
        words.extend(["--allow-host".into(), host.to_string().into()]);
    }
    for origin in &args.allow_origins {
        words.extend(["--allow-origin".into(), origin.to_string().into()]);
    }
    words
}

/// Waits until the daemon answers; kills one that does not.
async fn answering(pid: u32, dir: &Path) -> anyhow::Result<LockHolder> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        ensure!(is_alive(pid), "the daemon did not start");
        if let Some(holder) = lock_holder(dir).filter(|holder| holder.pid == pid)
            && client(&holder, None)?.health().await.is_ok()
        {
            return Ok(holder);
        }
        if Instant::now() > deadline {
            if let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                kill_process(process, Signal::KILL)?;
            }
            bail!("the daemon did not answer within {} s and was ended", START_TIMEOUT.as_secs());
        }
        sleep(PAUSE).await;
    }
}

/// Returns the daemon's last output, for the message.
fn last_lines(log: &Path, before: u64) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        file.seek(SeekFrom::Start(before))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text)
    };
    let Ok(text) = read() else { return format!("; see {}", log.display()) };
    let surplus = text.lines().count().saturating_sub(LAST_LINES);
    let lines: String = text.lines().skip(surplus).map(|line| format!("\n  {line}")).collect();
    if lines.is_empty() { format!("; see {}", log.display()) } else { format!("; its log ends with:{lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B12: clients look for a daemon at the default port.
    #[test]
    fn a_daemon_that_nobody_configured_wants_the_default_port_and_takes_any() {
        let args = unasked(&DataDirArgs::default(), &Config::default());
        assert!(args.any_port);
        assert_eq!(listen(&args, &Config::default()), crate::serve::LISTEN);
        let config = Config { listen: Some(Listen::Tcp(([127, 0, 0, 1], 80).into())), ..Config::default() };
        assert!(!unasked(&DataDirArgs::default(), &config).any_port);
    }
}
