//! The command of a client, checked before anything is started.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use omniglot_agents::LaunchSpec;
use omniglot_schema::{ProcessCreateRequest, ProcessRunRequest};

use crate::error::ProcessError;
use crate::process::{Launch, SpawnError};

/// The kind of terminal that programs are told, unless the client says another one.
const TERM: &str = "xterm-256color";

pub(super) fn of_run(request: &ProcessRunRequest) -> Result<Launch, ProcessError> {
    let ProcessRunRequest { command, args, cwd, env, .. } = request;
    checked(command, args, cwd.as_deref(), env)
}

pub(super) fn of_create(request: &ProcessCreateRequest) -> Result<Launch, ProcessError> {
    let ProcessCreateRequest { command, args, cwd, env, tty, .. } = request;
    let mut launch = checked(command, args, cwd.as_deref(), env)?;
    if *tty {
        launch.env.entry("TERM".to_owned()).or_insert_with(|| TERM.to_owned());
    }
    Ok(launch)
}

fn checked(
    command: &str,
    args: &[String],
    cwd: Option<&str>,
    env: &BTreeMap<String, String>,
) -> Result<Launch, ProcessError> {
    let refuse = |why: String| Err(ProcessError::Invalid(why));
    if command.is_empty() {
        return refuse("`command` is empty".into());
    }
    let texts = args.iter().map(String::as_str).chain(env.values().map(String::as_str));
    if texts.chain([command]).any(|text| text.contains('\0')) {
        return refuse("a command, its arguments and its variables cannot contain NUL".into());
    }
    if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return refuse(format!("{name:?} is no name of a variable"));
    }
    let here = std::env::current_dir()
        .map_err(|error| ProcessError::Failed(format!("the daemon's working directory: {error}")))?;
    let cwd = cwd.map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let env: IndexMap<_, _> = env.clone().into_iter().collect();
    Ok(Launch::new(LaunchSpec { program: command.to_owned(), args: args.to_vec(), env }, cwd))
}

/// A program that is missing or cannot be executed is a mistake of the client, a failing guard is ours.
impl From<SpawnError> for ProcessError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::Guard { ref source, .. } => Self::Failed(format!("{error}: {source}")),
            SpawnError::Directory(cwd) => Self::Invalid(format!("`cwd` is no directory: {}", cwd.display())),
            SpawnError::NotFound { .. } | SpawnError::Refused { .. } => Self::Invalid(error.to_string()),
        }
    }
}
