//! The command lines of `omniglot hooks` and `omniglot notify`.

use clap::{Args, Subcommand};

use super::sessions::TalkArgs;

#[derive(Debug, Args)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    pub(crate) command: HooksCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// List the hooks of the configuration and how their calls go
    #[command(alias = "ls")]
    List(TalkArgs),
    /// List the calls of a hook that nobody has taken
    Dead(DeadArgs),
    /// Send dead letters of a hook again, and enable a hook that was disabled
    Retry(RetryArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DeadArgs {
    /// The hook, by its name in omniglot.toml
    #[arg(value_name = "HOOK")]
    pub(crate) hook: String,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// The hook, by its name in omniglot.toml
    #[arg(value_name = "HOOK")]
    pub(crate) hook: String,
    /// The only letters to send, by id [default: all]
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NotifyArgs {
    #[command(subcommand)]
    pub(crate) command: NotifyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NotifyCommand {
    /// Call a hook now and tell what became of it
    Test(NotifyTestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct NotifyTestArgs {
    /// The hook, by its name in omniglot.toml [default: all]
    #[arg(value_name = "HOOK")]
    pub(crate) hook: Option<String>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}
