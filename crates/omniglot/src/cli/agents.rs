//! The command line of `omniglot agents`.

use clap::{Args, Subcommand};

use super::sessions::TalkArgs;

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents that can be used here
    #[command(visible_alias = "ls")]
    List(TalkArgs),
    /// Start an agent, shake hands, and tell what is missing
    ///
    /// Exits with 0 when the agent works, and with 1 when something is in its way.
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The agent
    #[arg(value_name = "ID")]
    pub(crate) agent: String,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}
