//! How ACP agents are started, as data.

use indexmap::IndexMap;

use crate::launch::{LaunchSpec, Start};

/// The built-in agent: a child of Omniglot's own program, which keeps its sessions in `state_dir`.
pub fn mock(own_program: impl Into<String>, state_dir: impl Into<String>) -> LaunchSpec {
    let args = vec!["mock-agent".to_owned(), "--state-dir".to_owned(), state_dir.into()];
    LaunchSpec { program: own_program.into(), args, env: IndexMap::new() }
}

/// An agent from the configuration; `None` for an empty command.
pub fn custom(command: &[String], env: IndexMap<String, String>) -> Option<LaunchSpec> {
    let (program, args) = command.split_first()?;
    Some(LaunchSpec { program: program.clone(), args: args.to_vec(), env })
}

/// Read about, never recorded: <https://block.github.io/goose/docs/guides/acp-clients>.
pub const GOOSE: Start = Start { command: &["goose", "acp"], login: "run `goose configure`", ..Start::NONE };

/// Read about, never recorded: <https://cursor.com/docs/cli/acp>.
pub const CURSOR: Start = Start {
    command: &["cursor-agent", "acp"],
    login: "run `cursor-agent login`, or set CURSOR_API_KEY",
    ..Start::NONE
};

/// Read about, never recorded: <https://docs.cline.bot/cline-cli/acp-editor-integrations>.
pub const CLINE: Start = Start { command: &["cline", "--acp"], login: "run `cline auth`", ..Start::NONE };

/// Read about, never recorded: <https://moonshotai.github.io/kimi-cli/en/reference/kimi-acp.html>.
pub const KIMI: Start = Start { command: &["kimi", "acp"], login: "run `kimi login`", ..Start::NONE };
