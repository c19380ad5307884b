//! Processes in a terminal, over HTTP and over a WebSocket.

use futures_util::{SinkExt as _, StreamExt as _};
use omniglot_schema::{CreateTokenRequest, Scope};
use omniglot_testkit::daemon::Daemon;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::support::{
    daemon, get, post, post_refused, refused, request, said, setup, shell, start, start_in_terminal, text,
    wait_exited,
};

/// A client at a terminal.
struct Terminal(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Terminal {
    async fn open(daemon: &Daemon, id: &str) -> Self {
        let mut terminal = Self::connect(daemon, id, Some(&daemon.token), None).await.unwrap();
        assert_eq!(terminal.frame().await, json!({ "type": "ready", "processId": id }));
        terminal
    }

    async fn connect(
        daemon: &Daemon,
        id: &str,
        token: Option<&str>,
        origin: Option<&str>,
    ) -> Result<Self, tungstenite::Error> {
        let query = token.map(|token| format!("?access_token={token}")).unwrap_or_default();
        let url = format!("{}/v1/processes/{id}/terminal/ws{query}", daemon.url.replace("http", "ws"));
        let mut request = url.into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        connect_async(request).await.map(|(socket, _)| Self(socket))
    }

    async fn send(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// Returns the next message that is output or a frame; `None` when the daemon has closed.
    async fn next(&mut self) -> Option<Message> {
        loop {
            match self.0.next().await?.unwrap() {
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Close(_) => return None,
                message => return Some(message),
            }
        }
    }

    async fn frame(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.next().await.expect("a frame") {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Reads output until it has `wanted`.
    async fn shows(&mut self, wanted: &str) -> String {
        let mut output = String::new();
        while !output.contains(wanted) {
            match self.next().await.expect("more output") {
                Message::Binary(bytes) => output += std::str::from_utf8(&bytes).unwrap(),
                other => panic!("{other:?} after {output:?}"),
            }
        }
        output
    }
}

#[track_caller]
fn refused_with(result: Result<Terminal, tungstenite::Error>, status: u16) {
    match result.err() {
        Some(tungstenite::Error::Http(response)) => assert_eq!(response.status(), status),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_process_in_a_terminal_has_its_size_and_is_told_another() {
    let daemon = daemon();
    let script = "tty; stty size; echo $TERM; trap 'stty size; echo changed; exit 4' WINCH; echo ready; \
                  while :; do sleep 0.05; done";
    let id = start_in_terminal(&daemon, script).await;
    let output = said(&daemon, &id, "ready").await;
    assert!(
        output.contains("/dev/pts/") && output.contains("24 80") && output.contains("xterm-256color"),
        "{output}"
    );
    let resize = format!("/{id}/terminal/resize");
    let size = json!({ "cols": 123, "rows": 45 });
    assert_eq!(post(&daemon, &resize, size.clone()).await, size);
    assert!(said(&daemon, &id, "changed").await.contains("45 123"));
    assert_eq!(wait_exited(&daemon, &id).await["exitCode"], 4);
    let logs = get(&daemon, &format!("/{id}/logs?stream=pty")).await;
    let output = text(logs["entries"].as_array().unwrap());
    assert!(output.ends_with("changed\r\n") && !output.contains("os error"), "{output}");
    post_refused(&daemon, &resize, size.clone(), 409, "conflict").await;
    post_refused(&daemon, &resize, json!({ "cols": 0, "rows": 1 }), 400, "invalid_request").await;
    let piped = start(&daemon, shell("exec sleep 1000")).await;
    post_refused(&daemon, &format!("/{piped}/terminal/resize"), size, 409, "conflict").await;
}

#[tokio::test]
async fn a_key_that_interrupts_does_so() {
    let daemon = daemon();
    let id =
        start_in_terminal(&daemon, "trap 'exit 9' INT; echo ready; while read -r line; do :; done").await;
    said(&daemon, &id, "ready").await;
    post(&daemon, &format!("/{id}/input"), json!({ "data": "\u{3}", "encoding": "utf8" })).await;
    assert_eq!(wait_exited(&daemon, &id).await["exitCode"], 9);
}

#[tokio::test]
async fn a_terminal_is_used_over_a_websocket() {
    let daemon = daemon();
    let script = "echo early; while read -r line; do case $line in size) stty size;; exit) exit 5;; \
                  *) echo \"got $line\";; esac; done";
    let id = start_in_terminal(&daemon, script).await;
    said(&daemon, &id, "early").await;
    let mut terminal = Terminal::open(&daemon, &id).await;
    terminal.shows("early\r\n").await;
    terminal.send(json!({ "type": "input", "data": "h\u{e9}llo\n" })).await;
    terminal.shows("got h\u{e9}llo\r\n").await;
    terminal.send(json!({ "type": "input", "data": "d29ybGQK", "encoding": "base64" })).await;
    terminal.shows("got world\r\n").await;
    terminal.send(json!({ "type": "resize", "cols": 101, "rows": 33 })).await;
    terminal.send(json!({ "type": "input", "data": "size\n" })).await;
    terminal.shows("33 101\r\n").await;
    for wrong in [
        json!({ "type": "nonsense" }),
        json!({ "type": "resize", "cols": 0, "rows": 0 }),
        json!({ "type": "input", "data": "!", "encoding": "base64" }),
        json!({ "type": "input", "data": "x".repeat(65_537) }),
    ] {
        terminal.send(wrong).await;
        assert_eq!(terminal.frame().await["type"], "error");
    }
    let mut second = Terminal::open(&daemon, &id).await;
    second.shows("33 101\r\n").await;
    second.send(json!({ "type": "close" })).await;
    assert!(second.next().await.is_none(), "the process runs on");
    terminal.send(json!({ "type": "input", "data": "exit\n" })).await;
    terminal.shows("exit\r\n").await;
    assert_eq!(terminal.frame().await, json!({ "type": "exit", "exitCode": 5 }));
    assert!(terminal.next().await.is_none());
    let mut late = Terminal::open(&daemon, &id).await;
    late.shows("got world\r\n").await;
    assert_eq!(late.frame().await, json!({ "type": "exit", "exitCode": 5 }));
}

#[tokio::test]
async fn a_terminal_tells_all_output_before_a_killed_process_ends() {
    let daemon = daemon();
    let id = start_in_terminal(&daemon, "seq 20000; echo done; exec sleep 1000").await;
    let mut terminal = Terminal::open(&daemon, &id).await;
    let output = terminal.shows("done\r\n").await;
    assert_eq!(output.lines().count(), 20_001);
    post(&daemon, &format!("/{id}/kill"), json!({})).await;
    assert_eq!(terminal.frame().await, json!({ "type": "exit", "exitCode": null }));
}

#[tokio::test]
async fn only_those_who_may_open_a_terminal() {
    let daemon = daemon();
    let id = start_in_terminal(&daemon, "exec sleep 1000").await;
    refused_with(Terminal::connect(&daemon, &id, None, None).await, 401);
    refused_with(Terminal::connect(&daemon, &id, Some("wrong"), None).await, 401);
    let token = Some(daemon.token.as_str());
    refused_with(Terminal::connect(&daemon, &id, token, Some("https://evil.example")).await, 403);
    refused_with(Terminal::connect(&daemon, "proc_9", token, None).await, 404);
    let own = Some(daemon.url.as_str());
    assert!(Terminal::connect(&daemon, &id, token, own).await.is_ok());
    let drive = CreateTokenRequest {
        name: "driver".into(),
        scope: Scope::Drive,
        sessions: None,
        expires_in_seconds: None,
    };
    let drive = daemon.client.create_token(&drive).await.unwrap().secret;
    refused_with(Terminal::connect(&daemon, &id, Some(&drive), None).await, 403);
    let piped = start(&daemon, shell("exec sleep 1000")).await;
    refused_with(Terminal::connect(&daemon, &piped, token, None).await, 409);
    let plain = request(&daemon, Method::GET, &format!("/{id}/terminal/ws"));
    refused(plain, 400, "invalid_request").await;
    for path in ["", "/config", &format!("/{id}"), &format!("/{id}/logs")] {
        let url = format!("{}/v1/processes{path}?access_token={}", daemon.url, daemon.token);
        refused(reqwest::Client::new().get(url), 401, "token_invalid").await;
    }
}

#[tokio::test]
async fn a_terminal_ends_with_its_token_which_stands_in_no_record() {
    let daemon = daemon();
    let id = start_in_terminal(&daemon, "exec sleep 1000").await;
    let admin = CreateTokenRequest {
        name: "ann".into(),
        scope: Scope::Admin,
        sessions: None,
        expires_in_seconds: None,
    };
    let token = daemon.client.create_token(&admin).await.unwrap();
    let mut terminal = Terminal::connect(&daemon, &id, Some(&token.secret), None).await.unwrap();
    assert_eq!(terminal.frame().await["type"], "ready");
    daemon.client.revoke_token(&token.info.id).await.unwrap();
    assert!(terminal.next().await.is_none());
    assert_eq!(get(&daemon, &format!("/{id}")).await["status"], "running");
    let url = format!("{}/v1/audit", daemon.url);
    let audit = reqwest::Client::new().get(url).bearer_auth(&daemon.token).send().await.unwrap();
    let audit = audit.text().await.unwrap();
    assert!(audit.contains(&format!("GET /v1/processes/{id}/terminal/ws")), "{audit}");
    assert!(!audit.contains(&token.secret) && !audit.contains("access_token"), "{audit}");
}

#[tokio::test]
async fn the_token_in_the_address_of_a_terminal_is_not_logged() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let mut daemon = setup().log_all_to(&log).start();
    let id = start_in_terminal(&daemon, "exec sleep 1000").await;
    let admin = CreateTokenRequest {
        name: "ann".into(),
        scope: Scope::Admin,
        sessions: None,
        expires_in_seconds: None,
    };
    let secret = daemon.client.create_token(&admin).await.unwrap().secret;
    let mut terminal = Terminal::connect(&daemon, &id, Some(&secret), None).await.unwrap();
    assert_eq!(terminal.frame().await["type"], "ready");
    drop(terminal);
    // One that is refused, and one at a route that takes no token in its address.
    let wrong = "a-wrong-secret-in-the-address";
    refused_with(Terminal::connect(&daemon, &id, Some(wrong), None).await, 401);
    let url = format!("{}/v1/processes?access_token={secret}", daemon.url);
    refused(reqwest::Client::new().get(url), 401, "token_invalid").await;
    daemon.stop();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("DEBUG"), "{log}");
    for hidden in [secret.as_str(), wrong, daemon.token.as_str()] {
        assert!(!log.contains(hidden), "{hidden} in {log}");
    }
}
