//! The command line of `omniglot agents`.

use clap::{Args, Subcommand};

use super::sessions::TalkArgs;
use crate::completions;

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents that can be used here
    #[command(alias = "ls")]
    List(TalkArgs),
    /// Start an agent, shake hands, and tell what is missing
    ///
    /// Exits with 0 when the agent works, and with 1 when something is in its way.
    Doctor(DoctorArgs),
    /// Install an agent for the daemon with npm
    ///
    /// Its packages are kept below the data directory; no script of a package is run. A session that asks for this
    /// version uses it, and so does any other where the agent is neither configured nor on the PATH.
    Install(InstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The agent, and its version if it shall not be the newest one
    #[arg(value_name = "ID[@VERSION]", add = completions::agent())]
    pub(crate) agent: String,
    /// Install also a version that is there
    #[arg(long)]
    pub(crate) reinstall: bool,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The agent
    #[arg(value_name = "ID", add = completions::agent())]
    pub(crate) agent: String,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}
