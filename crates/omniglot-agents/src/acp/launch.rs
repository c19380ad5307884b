//! How ACP agents are started, as data.

use indexmap::IndexMap;

use crate::launch::LaunchSpec;

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
