//! Runs other programs: quietly, with their output kept in case of failure, or with inherited output.

use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

/// Changes to the root of the repository, wherever cargo was called.
pub(crate) fn enter_root() -> anyhow::Result<()> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").context("start it as `cargo xtask`")?;
    let root = Path::new(&here).parent().context("xtask lies in the repository")?;
    std::env::set_current_dir(root).with_context(|| root.display().to_string())
}

/// A command line and its additional environment.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) words: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Line {
    pub(crate) fn new(line: &str) -> Self {
        Self { words: line.split_whitespace().map(str::to_owned).collect(), env: vec![] }
    }

    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn arg(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    /// Returns the line as one would type it.
    pub(crate) fn typed(&self) -> String {
        let env = self.env.iter().map(|(key, value)| format!("{key}='{value}'"));
        env.chain(self.words.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn command(&self) -> anyhow::Result<Command> {
        let (program, args) = self.words.split_first().context("an empty command line")?;
        let mut command = Command::new(program);
        command.args(args).envs(self.env.iter().cloned());
        Ok(command)
    }

    /// Runs the line with inherited output.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let status = self.command()?.status().with_context(|| self.typed())?;
        if !status.success() {
            bail!("{status}: {}", self.typed());
        }
        Ok(())
    }

    /// Runs the line quietly. Returns its output to stdout and stderr, in order, and whether it succeeded.
    pub(crate) fn capture(&self) -> anyhow::Result<(bool, String)> {
        let (mut reader, writer) = std::io::pipe()?;
        let mut command = self.command()?;
        command.stdin(std::process::Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn().with_context(|| self.typed())?;
        // The command holds our writing ends; without this the read below would never end.
        drop(command);
        let mut output = vec![];
        reader.read_to_end(&mut output)?;
        Ok((child.wait()?.success(), String::from_utf8_lossy(&output).into_owned()))
    }

    /// Runs the line for its stdout; stderr is inherited.
    pub(crate) fn stdout(&self) -> anyhow::Result<String> {
        let mut command = self.command()?;
        let output = command.stderr(std::process::Stdio::inherit()).output().with_context(|| self.typed())?;
        if !output.status.success() {
            bail!("{}: {}", output.status, self.typed());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}
