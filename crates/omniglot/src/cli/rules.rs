//! The command line of `omniglot rules`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use omniglot_schema::{Label, ToolKind};

use super::DataDirArgs;

#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// Tell how the rules of omniglot.toml decide about a call, and why; nothing is run
    #[command(after_help = TEST)]
    Test(RulesTestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RulesTestArgs {
    /// The command, as one word for the shell
    #[arg(value_name = "COMMAND", required_unless_present_any = ["paths", "url", "tool"])]
    pub(crate) run: Option<String>,
    /// The agent that asks; rules for one agent fit no call without it
    #[arg(long, default_value = "")]
    pub(crate) agent: String,
    /// The kind of the call [default: execute for a command, else read]
    #[arg(long, value_parser = kind)]
    pub(crate) kind: Option<ToolKind>,
    /// A file that the call is about (repeatable)
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// The address that the call fetches
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// The agent's name of the tool
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// The MCP server whose tool is called
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// A label of the session (repeatable)
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// The directory of the session [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Add the rules of this file, as a session that is created with them
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
}

fn kind(text: &str) -> Result<ToolKind, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        "expected read, edit, delete, move, search, execute, fetch, think, plan, agent, mode, mcp or other".to_owned()
    })
}

/// Explains what is printed.
const TEST: &str = "\
Prints deny, ask or allow, the rule that decided, and the reason:

  omniglot rules test 'git status && rm -rf build'
  omniglot rules test --kind edit --path src/main.rs --dir ~/project

Exits with 0 whatever the decision is.";
