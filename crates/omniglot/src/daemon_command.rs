//! `omniglot daemon`: a daemon in the background, found by the lock of its data directory.

pub(crate) mod launch;
mod logs;
mod restart;
mod start;
mod status;
mod stop;

use std::process::ExitCode;

use crate::cli::{DaemonArgs, DaemonCommand};
pub(crate) use start::{background, begin, unasked};

pub(crate) async fn run(args: DaemonArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        DaemonCommand::Start(args) => start::start(&args).await,
        DaemonCommand::Stop(args) => stop::stop(&args).await,
        DaemonCommand::Status(args) => status::status(&args).await,
        DaemonCommand::Restart(args) => restart::restart(args).await,
        DaemonCommand::Logs(args) => logs::logs(&args).await,
    }
}
