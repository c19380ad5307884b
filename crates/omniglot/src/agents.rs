//! `omniglot agents`: which agents there are, and whether they work. Finding that out is the daemon's work.

mod doctor;
mod list;

use std::process::ExitCode;

use crate::cli::{AgentsArgs, AgentsCommand};

pub(crate) async fn run(args: AgentsArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        AgentsCommand::List(args) => list::list(&args).await,
        AgentsCommand::Doctor(args) => doctor::doctor(&args).await,
    }
}
