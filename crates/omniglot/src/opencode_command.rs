//! `omniglot opencode`: OpenCode's own terminal interface on any agent of the daemon.
//!
//! The daemon stays when the interface exits, and so do its sessions. The server's OpenCode face makes
//! everything that the interface displays.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use omniglot_client::Client;

use crate::cli::OpencodeArgs;
use crate::connect::{Home, client, explain};
use crate::daemon_command::background;
use crate::run::directory;
use crate::token;
use crate::usage::UsageError;

const PROGRAM: &str = "opencode";
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";

pub(crate) async fn run(args: OpencodeArgs) -> anyhow::Result<ExitCode> {
    let home = Home::of(&args.data)?;
    let program = installed()?;
    let dir = directory(args.cwd.unwrap_or_else(|| ".".into()))?;
    let holder = background(&args.data).await?;
    let url = &*holder.url;
    refuse_unless_plain(url)?;
    let secret = token::for_client(&home.dir, home.config.token_file.as_deref())?;
    if let Some(agent) = &args.agent {
        refuse_stranger(&client(&holder, secret.clone())?, agent).await?;
    }
    let mut command = Command::new(&program);
    command.arg("attach").arg(address(url, args.agent.as_deref())).arg("--dir").arg(&dir);
    command.args(&args.more).env_remove(PASSWORD);
    if let Some(secret) = secret {
        // Every user of this machine could read an argument.
        command.env(PASSWORD, secret.reveal());
    }
    // The interface replaces this process: it gets the terminal, the signals and the exit code.
    Err(command.exec()).with_context(|| format!("{} cannot be started", program.display()))
}

/// The interface knows neither sockets in the file system nor the certificate that commands of ours know.
fn refuse_unless_plain(url: &str) -> Result<(), UsageError> {
    if url.starts_with("http://") {
        return Ok(());
    }
    Err(UsageError::new(format!(
        "OpenCode's interface needs a port with plain HTTP, and the daemon listens on {url}; with a certificate that \
         this machine trusts `opencode attach https://NAME:PORT/opencode` works"
    )))
}

/// Reported here it is one line; the interface would print it on a screen that it clears at once.
async fn refuse_stranger(client: &Client, agent: &str) -> anyhow::Result<()> {
    let known: Vec<_> = client.agents().await.map_err(explain)?.agents;
    if !known.iter().any(|one| one.id == agent) {
        let known: Vec<_> = known.iter().map(|one| one.id.as_str()).collect();
        return Err(UsageError::new(format!("there is no agent {agent}; known: {}", known.join(", "))).into());
    }
    Ok(())
}

/// Returns the face's address, or the one on which this agent is preselected.
fn address(url: &str, agent: Option<&str>) -> String {
    match agent {
        None => format!("{url}/opencode"),
        Some(agent) => format!("{url}/opencode/agents/{agent}"),
    }
}

fn installed() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(program) = find(&path) else {
        bail!("{PROGRAM} is not on the PATH; install it, for example with `npm install -g opencode-ai`");
    };
    Ok(program)
}

fn find(path: &OsString) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_part_of_the_address() {
        assert_eq!(address("http://127.0.0.1:1", None), "http://127.0.0.1:1/opencode");
        assert_eq!(
            address("http://127.0.0.1:1", Some("claude")),
            "http://127.0.0.1:1/opencode/agents/claude"
        );
    }
}
