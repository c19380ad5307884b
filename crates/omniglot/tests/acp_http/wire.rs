//! A client made of nothing but HTTP.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt as _;
use omniglot_client::{Client, FrameStream};
use omniglot_testkit::daemon::Daemon;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

#[derive(Clone)]
pub(crate) struct Wire {
    http: reqwest::Client,
    client: Client,
    url: String,
    base: String,
    token: String,
    id: String,
    pub(crate) agent: &'static str,
}

static CALLS: AtomicU64 = AtomicU64::new(0);

impl Wire {
    pub(crate) fn new(daemon: &Daemon, id: &str) -> Self {
        let base = format!("{}/v1/acp", daemon.url.trim_end_matches('/'));
        Self {
            http: reqwest::Client::new(),
            client: daemon.client.clone(),
            url: format!("{base}/{id}"),
            base,
            token: daemon.token.clone(),
            id: id.to_owned(),
            agent: "mock",
        }
    }

    pub(crate) async fn post(&self, message: &Value) -> (u16, Value) {
        self.post_to(self.agent, message).await
    }

    pub(crate) async fn post_to(&self, agent: &str, message: &Value) -> (u16, Value) {
        let request = self.http.post(format!("{}?agent={agent}", self.url)).bearer_auth(&self.token);
        let response = request.json(message).send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default())
    }

    /// The key of a message is derived from its id, so that a repeated message has the same key.
    pub(crate) async fn post_async(&self, message: &Value) -> u16 {
        let request = self.http.post(&self.url).bearer_auth(&self.token).json(message);
        let key = format!("call-{}", message["id"]);
        let request = request.header("prefer", "respond-async").header("idempotency-key", key);
        request.send().await.unwrap().status().as_u16()
    }

    /// Sends a message; dropping the result skips the answer.
    pub(crate) async fn say(&self, message: &Value) -> TcpStream {
        let address = self.url.trim_start_matches("http://");
        let (host, path) = address.split_once('/').unwrap();
        let (token, body) = (&self.token, message.to_string());
        let head = format!(
            "POST /{path}?agent=mock HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut connection = TcpStream::connect(host).await.unwrap();
        connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        connection
    }

    pub(crate) fn request(&self, method: &str, params: Value) -> Value {
        let id = CALLS.fetch_add(1, Ordering::Relaxed);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        let (status, answer) = self.post(&self.request(method, params)).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    pub(crate) async fn hello(&self) {
        let answer = self.call("initialize", json!({ "protocolVersion": 1 })).await;
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    }

    pub(crate) async fn session(&self, daemon: &Daemon) -> String {
        self.hello().await;
        self.new_session(daemon).await
    }

    pub(crate) async fn new_session(&self, daemon: &Daemon) -> String {
        let made = self.call("session/new", json!({ "cwd": daemon.work(), "mcpServers": [] })).await;
        made["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    pub(crate) async fn prompt(&self, session: &str, text: &str) -> Value {
        self.call("session/prompt", words(session, text)).await
    }

    pub(crate) fn begin_prompt(&self, session: &str, text: &str) -> JoinHandle<Value> {
        let (wire, session, text) = (self.clone(), session.to_owned(), text.to_owned());
        tokio::spawn(async move { wire.prompt(&session, &text).await })
    }

    /// Allows the request, once; returns the status of the POST.
    pub(crate) async fn allow(&self, asked: &Value) -> u16 {
        let options = asked["params"]["options"].as_array().unwrap();
        let option = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } });
        self.post(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": outcome })).await.0
    }

    pub(crate) async fn stream(&self, last: Option<&str>) -> Stream {
        let frames = self.client.acp_stream(&self.id, last).await.unwrap();
        Stream { frames, heard: vec![] }
    }

    pub(crate) async fn status_of_stream(&self, last: Option<&str>) -> u16 {
        let request = self.http.get(&self.url).bearer_auth(&self.token);
        request.header("last-event-id", last.unwrap_or_default()).send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn raw(&self, content: &str, accept: &str, body: &'static str) -> u16 {
        let request = self.http.post(&self.url).bearer_auth(&self.token).body(body);
        let request = request.header("content-type", content).header("accept", accept);
        request.send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn leave(&self) -> u16 {
        self.http.delete(&self.url).bearer_auth(&self.token).send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn servers(&self) -> Vec<String> {
        let response = self.http.get(&self.base).bearer_auth(&self.token).send().await.unwrap();
        let list: Value = response.json().await.unwrap();
        let servers = list["servers"].as_array().unwrap();
        servers.iter().map(|server| server["serverId"].as_str().unwrap().to_owned()).collect()
    }
}

/// One message of the stream, with the client's cursor after it.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) message: Value,
}

pub(crate) struct Stream {
    frames: FrameStream,
    pub(crate) heard: Vec<Frame>,
}

impl Stream {
    /// `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let frame = self.frames.next().await?.unwrap();
        let message = serde_json::from_str(&frame.data).unwrap();
        Some(Frame { id: frame.id.unwrap(), message })
    }

    /// Reads to the first message that `wanted` accepts; the messages before it are kept in `heard`.
    pub(crate) async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Frame {
        loop {
            let frame = self.next().await.expect("the stream goes on");
            let found = wanted(&frame.message);
            self.heard.push(Frame { id: frame.id.clone(), message: frame.message.clone() });
            if found {
                return frame;
            }
        }
    }
}

pub(crate) fn words(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

pub(crate) fn is_update(message: &Value, kind: &str) -> bool {
    message["params"]["update"]["sessionUpdate"] == kind
}

pub(crate) fn asks(message: &Value) -> bool {
    message["method"] == "session/request_permission"
}
