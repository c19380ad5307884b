//! The command line of `omniglot opencode`.

use std::path::PathBuf;

use clap::Args;

use super::DataDirArgs;
use crate::completions;

#[derive(Debug, Args)]
pub(crate) struct OpencodeArgs {
    /// The agent that is chosen at first [default: default_agent of omniglot.toml, else an installed one]
    #[arg(long, value_name = "ID", add = completions::agent())]
    pub(crate) agent: Option<String>,
    /// The directory to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
    /// More for `opencode attach`, after --: such as --continue or --session ID
    #[arg(last = true, value_name = "ARG")]
    pub(crate) more: Vec<String>,
}
