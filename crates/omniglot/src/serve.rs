//! `omniglot serve`: a daemon that stays until it is told to stop.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use crate::cli::ServeArgs;
use crate::daemon::{Daemon, DaemonOptions};
use crate::data_dir;
use crate::signals::StopSignals;
use crate::usage::UsageError;

/// The exit code of a daemon that was made to leave without tidying up.
const HURRIED: i32 = 130;

pub(crate) async fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    refuse_open_door(&args)?;
    if args.token.token.is_some() {
        tracing::warn!("--token can be seen in the process list; use --token-file or OMNIGLOT_TOKEN");
    }
    let dir = data_dir::prepare(&args.data)?;
    data_dir::warn_if_open(&dir)?;
    let config = data_dir::config(&args.data, &dir)?;
    let mut signals = StopSignals::listen()?;
    let options = DaemonOptions {
        addr: SocketAddr::new(args.host, args.port),
        token: args.token,
        allow_hosts: args.allow_hosts,
        allow_origins: args.allow_origins,
        ..DaemonOptions::new(dir, config)
    };
    let daemon = tokio::select! {
        started = Daemon::start(options) => started?,
        () = signals.next() => std::process::exit(HURRIED),
    };
    let place = format!("(data dir {}, {})", daemon.dir().display(), daemon.token_described());
    writeln!(io::stdout(), "omniglot listening on {} {place}", daemon.url())?;
    daemon
        .run(async move {
            signals.next().await;
            tracing::info!("stopping; once more stops at once");
            tokio::spawn(async move {
                signals.next().await;
                // The guards see our end and leave no agent behind.
                std::process::exit(HURRIED);
            });
        })
        .await?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever reaches the daemon can run programs, so only this machine may do without a token.
fn refuse_open_door(args: &ServeArgs) -> Result<(), UsageError> {
    if args.token.no_token && !args.host.to_canonical().is_loopback() {
        return Err(UsageError::new(format!(
            "--no-token would let everybody on the network run programs here through {}; \
             leave out --no-token, or listen on 127.0.0.1",
            args.host
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
        refuse_open_door(&args)
    }

    #[test]
    fn only_loopback_may_do_without_a_token() {
        assert!(verdict(&["--no-token"]).is_ok());
        assert!(verdict(&["--no-token", "--host", "::1"]).is_ok());
        assert!(verdict(&["--host", "0.0.0.0"]).is_ok());
        for host in ["0.0.0.0", "::", "192.168.1.2", "::ffff:10.0.0.1"] {
            assert!(verdict(&["--no-token", "--host", host]).is_err(), "{host}");
        }
    }
}
