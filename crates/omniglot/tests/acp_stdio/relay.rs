//! The relay itself: its handling of lines that are no messages, and of daemons that exit and restart.

use std::path::Path;
use std::process::Stdio;

use omniglot_schema::PermissionReply;
use omniglot_testkit::daemon::{Daemon, wait_gone};
use omniglot_testkit::session_driver::SessionDriver;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::editor::{daemon, handshake, prompt};

/// `omniglot acp`, driven by hand.
pub(crate) struct Relay {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    /// The messages beside the answers.
    beside: Vec<Value>,
    calls: i64,
}

impl Relay {
    pub(crate) fn start(home: &Path, agent: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_omniglot"))
            .args(["acp", "--agent", agent])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("OMNIGLOT_HOME", home.join("data"))
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdin, lines, beside: vec![], calls: 0 }
    }

    async fn write(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    async fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.calls += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params });
        self.write(&line.to_string()).await;
        self.calls
    }

    async fn finish(&mut self, call: i64) -> Value {
        loop {
            let line = self.read().await;
            if line["id"] == call && line.get("method").is_none() {
                return line;
            }
            self.beside.push(line);
        }
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let call = self.begin(method, params).await;
        self.finish(call).await
    }

    pub(crate) async fn open(&mut self, cwd: &Path) -> String {
        self.open_with(cwd, json!({})).await
    }

    async fn open_with(&mut self, cwd: &Path, can: Value) -> String {
        self.call("initialize", handshake(can)).await;
        let made = self.call("session/new", json!({ "cwd": cwd, "mcpServers": [] })).await;
        made["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// Waits for a line beside the answers.
    async fn see(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.read().await;
            self.beside.push(line.clone());
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Closes stdin; returns its remaining output, its stderr and its exit code.
    pub(crate) async fn leave(mut self) -> (Vec<String>, String, Option<i32>) {
        drop(self.stdin.take());
        let mut rest = vec![];
        while let Some(line) = self.lines.next_line().await.unwrap() {
            rest.push(line);
        }
        let mut complaints = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut complaints).await.unwrap();
        (rest, complaints, self.child.wait().await.unwrap().code())
    }
}

fn is_text(line: &Value) -> bool {
    line["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
}

#[tokio::test]
async fn a_line_that_is_no_message_is_answered_and_harms_nobody() {
    let daemon = daemon();
    let mut relay = Relay::start(daemon.home(), "mock");
    for (line, code) in
        [("hello", -32700), ("[]", -32600), ("{\"jsonrpc\":", -32700), ("\u{7f}\u{0}", -32700)]
    {
        relay.write(line).await;
        let answer = relay.read().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)), "{line}");
    }
    relay.write("").await;
    let session = relay.open(&daemon.work()).await;
    let answer = relay.call("session/prompt", prompt(&session, "[[text]]")).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    let nonsense = relay.call("session/dance", json!({})).await;
    assert_eq!(nonsense["error"]["code"], -32601, "{nonsense}");
    assert_eq!(relay.leave().await.2, Some(0));
}

#[tokio::test]
async fn an_agent_that_is_not_known_is_named_with_what_to_do() {
    let daemon = daemon();
    let mut relay = Relay::start(daemon.home(), "nobody");
    let answer = relay.call("initialize", handshake(json!({}))).await;
    let message = answer["error"].to_string();
    assert!(message.contains("nobody") && message.contains("omniglot"), "{answer}");
}

#[tokio::test]
async fn a_request_that_somebody_else_answers_is_taken_back() {
    let daemon = daemon();
    let mut relay = Relay::start(daemon.home(), "mock");
    let session = relay.open(&daemon.work()).await;
    let call = relay.begin("session/prompt", prompt(&session, "[[permission]]")).await;
    let asked = relay.see(|line| line["method"] == "session/request_permission").await;
    let driver = SessionDriver::of(&daemon.client, &session);
    driver.reply(asked["id"].as_str().unwrap(), PermissionReply::Once).await.unwrap();
    let taken_back = relay.see(|line| line["method"] == "$/cancel_request").await;
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    // An editor may still answer, and the answer has no effect.
    let outcome = json!({ "outcome": { "outcome": "cancelled" } });
    relay.write(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": outcome }).to_string()).await;
    assert_eq!(relay.finish(call).await["result"]["stopReason"], "end_turn");
    assert_eq!(relay.leave().await.2, Some(0));
}

#[tokio::test]
async fn requests_that_are_piped_in_are_answered_before_it_leaves() {
    let daemon = daemon();
    let mut relay = Relay::start(daemon.home(), "mock");
    relay.begin("initialize", handshake(json!({}))).await;
    relay.begin("session/new", json!({ "cwd": daemon.work(), "mcpServers": [] })).await;
    let (lines, _, code) = relay.leave().await;
    let answered = |id: i64| {
        let answer = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        answer.into_iter().any(|line| line["id"] == id && line["result"].is_object())
    };
    assert!(answered(1) && answered(2), "{lines:?}");
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn a_daemon_that_dies_in_a_turn_is_started_again_and_the_turn_is_answered() {
    let mut daemon = daemon();
    let mut relay = Relay::start(daemon.home(), "mock");
    let session = relay.open(&daemon.work()).await;
    let call =
        relay.begin("session/prompt", prompt(&session, "Remember the heron. [[text]] [[silence]]")).await;
    relay.see(is_text).await;
    daemon.kill();
    let answer = relay.finish(call).await;
    assert!(answer["error"]["message"].is_string(), "{answer}");
    let answer = relay.call("session/prompt", prompt(&session, "[[recall]]")).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    let said: String = relay.beside.iter().filter(|line| is_text(line)).map(text).collect();
    assert!(said.contains("heron"), "{said}");
    // Nothing was sent twice.
    assert_eq!(said.matches(&first_text(&relay.beside)).count(), 1, "{said}");
    let (_, complaints, code) = relay.leave().await;
    assert!(complaints.contains("started anew"), "{complaints}");
    assert_eq!(code, Some(0));
    stop(&daemon);
}

#[tokio::test]
async fn a_daemon_that_somebody_restarts_is_found_again() {
    let mut daemon = daemon();
    let mut relay = Relay::start(daemon.home(), "mock");
    let session = relay.open(&daemon.work()).await;
    relay.call("session/prompt", prompt(&session, "[[text]]")).await;
    daemon.stop();
    let daemon = daemon.restart();
    let answer = relay.call("session/prompt", prompt(&session, "[[text]]")).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert_eq!(relay.leave().await.2, Some(0));
    drop(daemon);
}

#[tokio::test]
async fn what_the_editor_can_do_is_known_to_a_daemon_that_was_started_anew() {
    let mut daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "what is saved").unwrap();
    let mut relay = Relay::start(daemon.home(), "mock");
    let session = relay.open_with(&daemon.work(), json!({ "fs": { "readTextFile": true } })).await;
    relay.call("session/prompt", prompt(&session, "[[text]]")).await;
    daemon.stop();
    let daemon = daemon.restart();
    // Another client prompts, so that the editor receives the request only by its stream.
    let driver = SessionDriver::of(&daemon.client, &session);
    relay.call("session/list", json!({})).await;
    driver.post("[[fs]]").await;
    let asked = relay.see(|line| line["method"] == "fs/read_text_file").await;
    let content = json!({ "content": "unsaved" });
    relay.write(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": content }).to_string()).await;
    let mut said = String::new();
    while !said.contains("README.md") {
        said.push_str(text(&relay.see(is_text).await));
    }
    assert!(said.contains("7 characters"), "{said}");
    assert_eq!(relay.leave().await.2, Some(0));
}

#[tokio::test]
async fn without_a_daemon_it_starts_one_that_stays() {
    let home = tempfile::tempdir().unwrap();
    let mut relay = Relay::start(home.path(), "mock");
    let session = relay.open(home.path()).await;
    let answer = relay.call("session/prompt", prompt(&session, "Remember the heron. [[text]]")).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(relay.leave().await.2, Some(0));
    let mut next = Relay::start(home.path(), "mock");
    next.call("initialize", handshake(json!({}))).await;
    let listed = next.call("session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session.as_str(), "{listed}");
    next.leave().await;
    stop_at(home.path());
}

fn text(line: &Value) -> &str {
    line["params"]["update"]["content"]["text"].as_str().unwrap_or_default()
}

fn first_text(lines: &[Value]) -> String {
    let first = lines.iter().find(|line| is_text(line)).map(text);
    first.expect("a text").to_owned()
}

/// Stops the daemon that the relay has started in place of a dead one.
fn stop(daemon: &Daemon) {
    stop_at(daemon.home());
}

pub(crate) fn stop_at(home: &Path) {
    let lock = std::process::Command::new(env!("CARGO_BIN_EXE_omniglot"))
        .args(["daemon", "status", "--json"])
        .env_clear()
        .env("OMNIGLOT_HOME", home.join("data"))
        .output()
        .unwrap();
    let status: Value = serde_json::from_slice(&lock.stdout).unwrap();
    let stopped = std::process::Command::new(env!("CARGO_BIN_EXE_omniglot"))
        .args(["daemon", "stop"])
        .env_clear()
        .env("OMNIGLOT_HOME", home.join("data"))
        .output()
        .unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    wait_gone(u32::try_from(status["pid"].as_u64().unwrap()).unwrap());
}
