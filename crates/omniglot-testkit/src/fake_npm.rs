//! A stand-in for npm that needs no registry: what it installs is a small agent that speaks Claude Code's protocol.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::agents::text;

/// Answers `view` with the newest version, refuses 9.9.9, and installs every other version; that of 6.6.6 tells another
/// one. It waits in the middle of an installation while there is a gate.
const NPM: &str = r#"#!/bin/sh
echo "$*" >> "$NPM_CONFIG_FAKE/calls"
env | cut -d= -f1 | sort > "$NPM_CONFIG_FAKE/variables"
[ "$1" = view ] && { echo '"2.0.0"'; exit 0; }
for word; do case "$word" in *@[0-9]*) version=${word##*@};; esac; done
mkdir -p node_modules/.bin
[ -p "$NPM_CONFIG_FAKE/gate" ] && read line < "$NPM_CONFIG_FAKE/gate"
[ "$version" = 9.9.9 ] && { echo "npm error code ETARGET" >&2; echo "npm error notarget No matching version" >&2; exit 1; }
[ "$version" = 6.6.6 ] && version=6.6.7
sed "s/VERSION/$version/" "$NPM_CONFIG_FAKE/agent" > node_modules/.bin/claude
chmod 755 node_modules/.bin/claude
"#;

/// Tells its version in its answers; it runs `--version` also for those who count how often.
const AGENT: &str = r#"#!/bin/sh
version=VERSION
if [ "$1" = --version ]; then echo run >> "$(dirname "$0")/runs"; echo "$version (Claude Code)"; exit 0; fi
id=$(echo "$*" | sed 's/.*--session-id \([^ ]*\).*/\1/')
read l; echo '{"type":"control_response","response":{"subtype":"success","request_id":"omniglot-1","response":{"models":[{"value":"default"}]}}}'
while read l; do
  echo '{"type":"system","subtype":"init","session_id":"'"$id"'","model":"m","permissionMode":"default"}'
  echo '{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"I am '$version'."}]},"parent_tool_use_id":null}'
  echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.5}'
done
"#;

pub struct FakeNpm {
    dir: TempDir,
}

impl Default for FakeNpm {
    fn default() -> Self {
        let npm = Self { dir: TempDir::new().expect("a temporary directory") };
        fs::create_dir(npm.bin()).expect("a folder of programs");
        program(&npm.bin().join("npm"), NPM);
        program(&npm.dir.path().join("agent"), AGENT);
        npm
    }
}

impl FakeNpm {
    /// The folder of npm, and of what [`on_path`](Self::on_path) adds.
    fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    /// Returns the variables of a daemon that finds this npm.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let path = format!("{}:/usr/bin:/bin", self.bin().display());
        [("PATH", path), ("NPM_CONFIG_FAKE", text(self.dir.path()))]
    }

    /// Puts a version of the agent on the search path, as its user would.
    pub fn on_path(&self, version: &str) -> PathBuf {
        let path = self.bin().join("claude");
        program(&path, &AGENT.replace("VERSION", version));
        path
    }

    /// Returns how often the agent on the search path has told its version.
    pub fn runs(&self) -> usize {
        lines(&self.bin().join("runs")).len()
    }

    /// Returns the command lines that npm has had.
    pub fn calls(&self) -> Vec<String> {
        lines(&self.dir.path().join("calls"))
    }

    /// Returns the names of the variables that npm has had last.
    pub fn seen_variables(&self) -> Vec<String> {
        lines(&self.dir.path().join("variables"))
    }

    /// Lets installations wait from now on.
    pub fn close_gate(&self) {
        let made = std::process::Command::new("mkfifo").arg(self.gate()).status();
        assert!(made.is_ok_and(|status| status.success()), "a FIFO");
    }

    /// Waits until an installation is under way; it goes on when the file is dropped, and so does every later one.
    pub async fn under_way(&self) -> File {
        let gate = self.gate();
        let opened = tokio::task::spawn_blocking(move || {
            let file = OpenOptions::new().write(true).open(&gate).expect("the gate");
            fs::remove_file(gate).expect("the gate");
            file
        });
        opened.await.expect("an installation")
    }

    fn gate(&self) -> PathBuf {
        self.dir.path().join("gate")
    }
}

fn program(path: &Path, content: &str) {
    fs::write(path, content).expect("a program");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a program");
}

fn lines(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}
