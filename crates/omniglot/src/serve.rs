//! `omniglot serve`: a daemon that runs until it is stopped.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use omniglot_runtime::Backlog;
use omniglot_runtime::config::{Config, Listen, TlsFiles};
use omniglot_server::Tls;

use crate::cli::ServeArgs;
use crate::daemon::{Daemon, DaemonOptions};
use crate::data_dir;
use crate::notify::Supervisor;
use crate::signals::StopSignals;
use crate::usage::UsageError;

/// The exit code of a daemon that was forced to exit without cleanup.
const HURRIED: i32 = 130;

pub(crate) async fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    if args.detached {
        // The terminal that started us may close.
        rustix::process::setsid()?;
    }
    if args.token.token.is_some() {
        tracing::warn!("--token can be seen in the process list; use --token-file or OMNIGLOT_TOKEN");
    }
    keep_memory_private();
    let dir = data_dir::prepare(&args.data)?;
    data_dir::warn_if_open(&dir)?;
    let config = data_dir::config(&args.data, &dir)?;
    let listen = listen(&args, &config);
    refuse_open_network(&args, &listen)?;
    let tls = tls(&args, &config, &listen)?;
    omniglot_runtime::files::take_all();
    let mut signals = StopSignals::listen()?;
    let options = DaemonOptions {
        listen,
        tls,
        any_port: args.any_port,
        token: args.token,
        allow_hosts: args.allow_hosts,
        allow_origins: args.allow_origins,
        temporary: false,
        ..DaemonOptions::new(dir, config, Backlog::Deliver)
    };
    let daemon = tokio::select! {
        started = Daemon::start(options) => started?,
        () = signals.next() => std::process::exit(HURRIED),
    };
    let place = format!("(data dir {}, {})", daemon.dir().display(), daemon.token_described());
    // In one piece: a supervisor may read the first line and close the pipe.
    let screen = "open the screen in the browser with `omniglot ui`";
    let lines = format!("omniglot listening on {} {place}\n{screen}\n", daemon.url());
    io::stdout().write_all(lines.as_bytes())?;
    // A daemon in the background is not the process that a supervisor has started.
    let supervisor = if args.detached { None } else { Supervisor::of_environment() };
    if let Some(supervisor) = &supervisor {
        tokio::spawn(supervisor.try_clone()?.attend(daemon.store()));
    }
    daemon
        .run(async move {
            signals.next().await;
            if let Some(supervisor) = supervisor {
                supervisor.stopping();
            }
            tracing::info!("stopping; once more stops at once");
            tokio::spawn(async move {
                signals.next().await;
                // The guards detect our exit and leave no agent behind.
                std::process::exit(HURRIED);
            });
        })
        .await?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps other processes of the user from reading the token in this one's memory and environment, as an agent
/// might; `private/` of the data directory is open to them all the same.
fn keep_memory_private() {
    let private = rustix::process::DumpableBehavior::NotDumpable;
    if let Err(error) = rustix::process::set_dumpable_behavior(private) {
        tracing::warn!(%error, "other programs of this user can read the daemon's memory");
    }
}

/// The default address.
pub(crate) const LISTEN: Listen = Listen::Tcp(DEFAULT);
const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2468);

/// Returns the address to listen on: as a whole or each half from the command line, else from variable or file.
pub(crate) fn listen(args: &ServeArgs, config: &Config) -> Listen {
    let rest = match args.listen.as_ref().or(config.listen.as_ref()).unwrap_or(&LISTEN) {
        Listen::Tcp(rest) => *rest,
        Listen::Unix(_) if args.host.is_some() || args.port.is_some() => DEFAULT,
        socket @ Listen::Unix(_) => return socket.clone(),
    };
    SocketAddr::new(args.host.unwrap_or(rest.ip()), args.port.unwrap_or(rest.port())).into()
}

/// Reads the certificate and key that the command line or the configuration names. A socket in the file system has none.
pub(crate) fn tls(args: &ServeArgs, config: &Config, listen: &Listen) -> Result<Option<Tls>, UsageError> {
    let given = args.tls_cert.clone().zip(args.tls_key.clone());
    let given = given.map(|(cert, key)| TlsFiles { cert, key });
    match (given.as_ref().or(config.tls.as_ref()), listen) {
        (Some(files), Listen::Tcp(_)) => load(files).map(Some),
        _ => Ok(None),
    }
}

pub(crate) fn load(TlsFiles { cert, key }: &TlsFiles) -> Result<Tls, UsageError> {
    Tls::load(cert, key).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        UsageError::new(format!("{}{hint}", UsageError::because(error)))
    })
}

/// A client of the daemon can run programs, so only this machine may do without a token.
pub(crate) fn refuse_open_network(args: &ServeArgs, listen: &Listen) -> Result<(), UsageError> {
    if args.token.no_token && !listen.is_local() {
        return Err(UsageError::new(format!(
            "--no-token would let everybody on the network run programs here through {listen}; \
             leave out --no-token, or listen on 127.0.0.1",
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn verdict(words: &[&str]) -> Result<(), UsageError> {
        let words = ["omniglot", "serve"].iter().chain(words);
        let Command::Serve(args) = Cli::try_parse_from(words).unwrap().command else { unreachable!() };
        refuse_open_network(&args, &listen(&args, &Config::default()))
    }

    #[test]
    fn only_loopback_may_do_without_a_token() {
        assert!(verdict(&["--no-token"]).is_ok());
        assert!(verdict(&["--no-token", "--listen", "unix:/o.sock"]).is_ok());
        assert!(verdict(&["--no-token", "--host", "::1"]).is_ok());
        assert!(verdict(&["--host", "0.0.0.0"]).is_ok());
        for host in ["0.0.0.0", "::", "192.168.1.2", "::ffff:10.0.0.1"] {
            assert!(verdict(&["--no-token", "--host", host]).is_err(), "{host}");
        }
    }

    #[test]
    fn each_half_of_the_address_comes_from_the_most_explicit_place() {
        let at = |words: &[&str], file: Option<&str>| {
            let words = ["omniglot", "serve"].iter().chain(words);
            let Command::Serve(args) = Cli::try_parse_from(words).unwrap().command else { unreachable!() };
            let listen = file.map(|text| Listen::parse(text, std::path::Path::new("/")).unwrap());
            super::listen(&args, &Config { listen, ..Config::default() }).to_string()
        };
        assert_eq!(at(&[], None), "127.0.0.1:2468");
        assert_eq!(at(&[], Some("10.0.0.1:80")), "10.0.0.1:80");
        assert_eq!(at(&["--port", "0"], Some("10.0.0.1:80")), "10.0.0.1:0");
        assert_eq!(at(&["--host", "::1"], Some("10.0.0.1:80")), "[::1]:80");
        assert_eq!(at(&["--listen", "unix:/o.sock"], Some("10.0.0.1:80")), "unix:/o.sock");
        assert_eq!(at(&["--port", "80"], Some("unix:/o.sock")), "127.0.0.1:80");
    }
}
