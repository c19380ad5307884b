//! The command line of `omniglot daemon`.

use clap::{Args, Subcommand};

use super::sessions::TalkArgs;
use super::{DataDirArgs, ServeArgs};

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
    /// Stop the daemon and start it again at its address, with these options and no others
    ///
    /// A running turn ends with daemon_restarted; sessions go on with their next message.
    Restart(StartArgs),
    /// Show the end of the log of a daemon in the background
    #[command(alias = "log")]
    Logs(LogsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Show so many lines
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
    pub(crate) lines: usize,
    /// Go on as the log does, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}
