//! The public sandbox-agent server as a subject: ACP over HTTP, our agents behind its `mock` launcher.
//!
//! It has no disk, no token here and no telemetry; its environment is empty and its HOME a temporary one.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::idle::healthy;
use crate::subject::{Agent, Programs, Subject};
use crate::subscriber::Subscriber;

pub(crate) struct Peer {
    server: Server,
    address: String,
    session: String,
}

/// The server process, which is killed when this value is dropped.
struct Server {
    child: Child,
    _home: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the process has ended already.
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}

impl Subject for Peer {
    const NAME: &'static str = "sandbox-agent 0.4.2";

    fn command(programs: &Programs, home: &Path, port: u16) -> anyhow::Result<Command> {
        let mut command = Command::new(programs.peer.as_ref().context("no peer")?);
        command.args(["server", "--no-token", "--no-telemetry", "--host", "127.0.0.1", "--port"]);
        command.arg(port.to_string()).env_clear().current_dir(home);
        command.env("HOME", home).env("PATH", "/usr/bin:/bin");
        // Else the server would abort a flood after two minutes.
        command.env("SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS", "600000");
        Ok(command)
    }

    async fn start(programs: &Programs, agent: Agent) -> anyhow::Result<Self> {
        let home = TempDir::new()?;
        install(programs, agent, home.path())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Self::command(programs, home.path(), port)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Server { child, _home: home };
        let began = Instant::now();
        while !healthy(port) {
            anyhow::ensure!(began.elapsed() < Duration::from_secs(10), "the peer does not start");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut peer = Self { server, address: format!("127.0.0.1:{port}"), session: String::new() };
        peer.call("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}})).await?;
        let opened = peer.call("session/new", &json!({"cwd": "/tmp", "mcpServers": []})).await?;
        let id = opened.pointer("/result/sessionId").and_then(Value::as_str);
        peer.session = id.with_context(|| opened.to_string())?.to_owned();
        Ok(peer)
    }

    fn pid(&self) -> u32 {
        self.server.child.id()
    }

    /// Earlier messages are replayed, and count.
    async fn subscribe(&self) -> anyhow::Result<Subscriber> {
        let mut subscriber = Subscriber::connect(&self.address, "/v1/acp/bench", "", 0).await?;
        subscriber.until(b"\r\n\r\n").await?;
        Ok(subscriber)
    }

    async fn turn(&self, prompt: &str) -> anyhow::Result<u64> {
        let prompt = json!([{"type": "text", "text": prompt}]);
        self.call("session/prompt", &json!({"sessionId": self.session, "prompt": prompt})).await?;
        // A new stream begins with the last messages that the server has kept.
        self.subscribe().await?.last_of_all().await
    }
}

impl Peer {
    async fn call(&self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let body = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).to_string();
        let mut socket = TcpStream::connect(&self.address).await?;
        let head = format!(
            "POST /v1/acp/bench?agent=mock HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        socket.write_all(format!("{head}{body}").as_bytes()).await?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
        anyhow::ensure!(head.contains(" 200 "), "{method}: {answer}");
        Ok(serde_json::from_str(body)?)
    }
}

/// Installs our agent as the one that the server starts as `mock`.
fn install(programs: &Programs, agent: Agent, home: &Path) -> anyhow::Result<()> {
    let command = match agent {
        Agent::Mock => format!("{:?} mock-agent", programs.omniglot),
        Agent::Clock => format!("{:?} agent", programs.bench),
    };
    let folder = home.join(".local/share/sandbox-agent/bin/agent_processes");
    fs::create_dir_all(&folder)?;
    let launcher = folder.join("mock-acp");
    fs::write(&launcher, format!("#!/bin/sh\nexec {command}\n"))?;
    Ok(fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))?)
}
