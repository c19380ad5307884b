//! The daemon that `omniglot acp` starts belongs to nobody: it listens where every client looks for it, and
//! stays when a client ends all processes that it has seen.

use std::collections::HashSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use omniglot_testkit::daemon::is_alive;
use serde_json::{Value, json};

use crate::acpx;
use crate::editor::{handshake, prompt};
use crate::relay::{Relay, stop_at};

fn status(home: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_omniglot"));
    let output =
        command.args(["daemon", "status", "--json"]).env_clear().env("OMNIGLOT_HOME", home.join("data"));
    serde_json::from_slice(&output.output().unwrap().stdout).unwrap()
}

fn pid_of(status: &Value) -> u32 {
    u32::try_from(status["pid"].as_u64().unwrap_or_else(|| panic!("{status}"))).unwrap()
}

/// Returns a field of `/proc/PID/stat`, counted from the state.
fn stat(pid: u32, field: usize) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(") ").next().unwrap().split(' ').nth(field).unwrap().parse().unwrap()
}

fn ancestors(mut pid: u32) -> HashSet<u32> {
    let mut all = HashSet::new();
    while pid > 1 && all.insert(pid) {
        pid = stat(pid, 1);
    }
    all
}

/// B2: a client that ends its descendants and their process group does not end the daemon.
#[tokio::test]
async fn b2_it_is_no_descendant_of_the_client() {
    let home = tempfile::tempdir().unwrap();
    let mut relay = Relay::start(home.path(), "mock");
    let session = relay.open(home.path()).await;
    let (client, daemon) = (relay.child.id().unwrap(), pid_of(&status(home.path())));
    assert!(!ancestors(daemon).contains(&client), "{daemon} is a descendant of {client}");
    assert_eq!(stat(daemon, 2), daemon, "it has a process group of its own");
    assert_eq!(stat(daemon, 3), daemon, "it leads a session of its own");
    relay.child.kill().await.unwrap();
    let mut next = Relay::start(home.path(), "mock");
    next.call("initialize", handshake(json!({}))).await;
    next.call("session/load", json!({ "sessionId": session, "cwd": home.path(), "mcpServers": [] })).await;
    let answer = next.call("session/prompt", prompt(&session, "[[text]]")).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert_eq!(pid_of(&status(home.path())), daemon);
    next.leave().await;
    stop_at(home.path());
}

/// B2: acpx ends every process that it has seen below the one that it started.
#[tokio::test]
async fn b2_it_outlives_acpx() {
    let home = tempfile::tempdir().unwrap();
    let words = ["--format", "quiet", "--approve-all", "exec", "[[permission]] [[text]]"];
    let mut acpx = acpx::command("mock", home.path(), &words);
    let output =
        acpx.env("HOME", home.path()).env("OMNIGLOT_HOME", home.path().join("data")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let status = status(home.path());
    assert_eq!(status["running"], true, "{status}");
    assert!(is_alive(pid_of(&status)));
    stop_at(home.path());
}

/// B12: where the default port is taken, by another daemon or by another program, any will do.
#[tokio::test]
async fn b12_it_starts_where_the_default_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:2468");
    let home = tempfile::tempdir().unwrap();
    let mut relay = Relay::start(home.path(), "mock");
    relay.open(home.path()).await;
    let url = status(home.path())["url"].as_str().unwrap().to_owned();
    // A daemon that had the port may have stopped meanwhile.
    assert!(taken.is_err() || url != "http://127.0.0.1:2468", "{url}");
    relay.leave().await;
    stop_at(home.path());
}
