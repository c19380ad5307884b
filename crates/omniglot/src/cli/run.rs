//! The settings of a run beside its model.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunSettings {
    /// How hard the model thinks, or another variant of it
    #[arg(long)]
    pub(crate) variant: Option<String>,
    /// The mode of the agent, such as plan
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// The title of the session
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Give the agent this file or picture with the prompt (repeatable)
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Give a new session the MCP servers of this JSON file
    ///
    /// It has the servers by name, alone or below `mcpServers`, as in .mcp.json: `{"docs": {"command": "docs-server",
    /// "args": ["--stdio"]}}` or `{"docs": {"type": "http", "url": "https://…"}}`.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp: Option<PathBuf>,
    /// Give a new session the rules of this TOML file, beside those of omniglot.toml
    ///
    /// It has `[[rules]]` alone; docs/RULES.md describes them, and `omniglot rules test` tries them.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Give a new session these instructions instead of the agent's own
    #[arg(long, value_name = "TEXT", conflicts_with = "append_system_prompt")]
    pub(crate) system_prompt: Option<String>,
    /// Give a new session these instructions beside the agent's own
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,
}
