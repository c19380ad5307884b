//! The command line of `omniglot config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DataDirArgs;

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check a configuration file and name what is wrong by line and column
    ///
    /// Exits with 0 when it is right, and with 2 when it is not.
    Check(ConfigCheckArgs),
    /// Print what counts in the end, and where each value comes from; secrets are hidden
    Show(DataDirArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheckArgs {
    /// The file to check [default: the one that would be used]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
}
