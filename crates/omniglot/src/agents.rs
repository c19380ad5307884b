//! `omniglot agents`: lists the agents, installs them, and checks whether they work. The daemon does the work.

mod doctor;
mod install;
mod list;

use std::process::ExitCode;

use crate::cli::{AgentsArgs, AgentsCommand};

pub(crate) async fn run(args: AgentsArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        AgentsCommand::List(args) => list::list(&args).await,
        AgentsCommand::Doctor(args) => doctor::doctor(&args).await,
        AgentsCommand::Install(args) => install::install(&args).await,
    }
}
