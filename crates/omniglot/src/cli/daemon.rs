//! The command line of `omniglot daemon`.

use clap::{Args, Subcommand};

use super::ServeArgs;
use super::sessions::TalkArgs;

#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    pub(crate) command: DaemonCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Serve in the background; the log goes to private/daemon.log in the data dir
    #[command(after_help = super::SERVE_VARIABLES)]
    Start(StartArgs),
    /// Stop the daemon of the data dir and wait until it is gone
    Stop(TalkArgs),
    /// Tell whether a daemon serves the data dir, where, and since when
    ///
    /// Exits with 0 when one answers, and with 1 when none does.
    Status(TalkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}
