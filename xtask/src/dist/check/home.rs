//! A stranger's account: an empty home, and an environment with nothing of ours in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;
use tempfile::TempDir;

/// The README's first command.
pub(super) const FIRST_PROMPT: &str = "Read README.md and add a line at the end";

pub(super) struct Home {
    folder: TempDir,
}

impl Home {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self { folder: TempDir::new()? })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a command with the machine's PATH, this home, and no variable more.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("HOME", self.path()).env("LC_ALL", "C.UTF-8");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // Where the network could not be cut off.
        command.env("npm_config_audit", "false").env("npm_config_fund", "false");
        command.env("npm_config_update_notifier", "false").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// Runs a turn of the built-in agent with a program, as the README does.
    pub(super) fn try_first_command(&self, mut program: Command) -> anyhow::Result<()> {
        program.args(["run", "--agent", "mock", "--scratch", FIRST_PROMPT]);
        let said = succeed(&mut program)?;
        if !said.contains("── end_turn") {
            bail!("the turn has not ended:\n{said}");
        }
        Ok(())
    }

    /// Starts a daemon of this home.
    pub(super) fn daemon(&self, program: &Path) -> anyhow::Result<Daemon<'_>> {
        succeed(self.command(program).args(["daemon", "start", "--listen", "127.0.0.1:0"]))?;
        let daemon = Daemon { home: self, program: program.to_owned() };
        Ok(daemon)
    }
}

/// A daemon that ends with its value.
pub(super) struct Daemon<'a> {
    home: &'a Home,
    program: PathBuf,
}

impl Daemon<'_> {
    /// Tells a command where the daemon is.
    pub(super) fn tell<'c>(&self, command: &'c mut Command) -> anyhow::Result<&'c mut Command> {
        let status = succeed(self.home.command(&self.program).args(["daemon", "status", "--json"]))?;
        let status: Value = serde_json::from_str(status.trim()).context(status.clone())?;
        let url = status.get("url").and_then(Value::as_str).context("the status has an address")?;
        let token = fs::read_to_string(self.home.path().join(".local/share/omniglot/private/token"))?;
        Ok(command.env("OMNIGLOT_URL", url).env("OMNIGLOT_TOKEN", token.trim()))
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if let Err(error) = succeed(self.home.command(&self.program).args(["daemon", "stop"])) {
            println!("the daemon has not stopped: {error:#}");
        }
    }
}

/// Runs a command to its end; returns all that it said, which is the error when it fails.
pub(super) fn succeed(command: &mut Command) -> anyhow::Result<String> {
    let (success, said) = outcome(command)?;
    if success { Ok(said) } else { bail!("{command:?} failed:\n{said}") }
}

/// Runs a command that must fail; returns all that it said.
pub(super) fn fail(command: &mut Command) -> anyhow::Result<String> {
    let (success, said) = outcome(command)?;
    if success { bail!("{command:?} should have failed:\n{said}") } else { Ok(said) }
}

fn outcome(command: &mut Command) -> anyhow::Result<(bool, String)> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Fails unless a text has all of these in it.
pub(super) fn expect(said: &str, parts: &[&str]) -> anyhow::Result<()> {
    match parts.iter().find(|part| !said.contains(*part)) {
        Some(part) => bail!("{part:?} is missing in:\n{said}"),
        None => Ok(()),
    }
}

pub(super) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // The owner of our own folder in /proc is our user.
    Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() == 0)
}

/// Returns the path of a program of the machine.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
