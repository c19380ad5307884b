//! A client of the face that uses nothing but HTTP.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use omniglot_testkit::daemon::{Daemon, Setup};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde_json::{Value, json};

/// Longer than any step here takes; a test that waits so long has failed.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Face {
    base: String,
    token: String,
    headers: HeaderMap,
    http: reqwest::Client,
}

impl Face {
    pub(crate) fn of(daemon: &Daemon) -> Self {
        Self::at(daemon, "/opencode")
    }

    pub(crate) fn at(daemon: &Daemon, prefix: &str) -> Self {
        let base = format!("{}{prefix}", daemon.url);
        Self { base, token: daemon.token.clone(), headers: HeaderMap::new(), http: reqwest::Client::new() }
    }

    pub(crate) fn with_token(self, token: String) -> Self {
        Self { token, ..self }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    /// As `opencode run` and the terminal interface, which say who they are.
    pub(crate) fn of_a_program(daemon: &Daemon) -> Self {
        let http = reqwest::Client::builder().user_agent("opencode/1.18.33").build().unwrap();
        Self { http, ..Self::of(daemon) }
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let request = request.basic_auth("opencode", Some(&self.token)).headers(self.headers.clone());
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        tokio::time::timeout(TEST_TIMEOUT, request.send()).await.expect("an answer in time").unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        ok(self.ask(Method::GET, path, None).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        ok(self.ask(Method::POST, path, Some(body)).await).await
    }

    /// Returns the status and the message that a client would display.
    pub(crate) async fn refused(&self, method: Method, path: &str, body: Option<Value>) -> (u16, String) {
        let response = self.ask(method, path, body).await;
        let status = response.status().as_u16();
        assert!(status >= 400, "{path} was not refused");
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind, "application/json");
        let body: Value = response.json().await.unwrap();
        (status, body["data"]["message"].as_str().unwrap().to_owned())
    }

    /// Creates a session and returns its id.
    pub(crate) async fn session(&self) -> String {
        let session = self.post("/session", json!({})).await;
        session["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn prompt(&self, session: &str, text: &str) -> Value {
        self.post(&format!("/session/{session}/message"), text_prompt(text)).await
    }

    /// Returns at once.
    pub(crate) async fn begin(&self, session: &str, text: &str) {
        let path = format!("/session/{session}/prompt_async");
        let response = self.ask(Method::POST, &path, Some(text_prompt(text))).await;
        assert_eq!(response.status().as_u16(), 204);
    }

    pub(crate) async fn stream(&self, path: &str) -> Events {
        let response = self.ask(Method::GET, path, None).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let bytes = response.bytes_stream().map(|bytes| bytes.unwrap().to_vec()).boxed();
        Events { bytes, read: String::new() }
    }
}

pub(crate) fn text_prompt(text: &str) -> Value {
    json!({ "parts": [{ "type": "text", "text": text }] })
}

async fn ok(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().to_string());
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{url}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error}: {text}"))
}

/// An open event stream.
pub(crate) struct Events {
    bytes: BoxStream<'static, Vec<u8>>,
    read: String,
}

impl Events {
    /// Returns the next frame's data; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((frame, rest)) = self.read.split_once("\n\n") {
                let value = serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap();
                self.read = rest.to_owned();
                return Some(value);
            }
            let more =
                tokio::time::timeout(TEST_TIMEOUT, self.bytes.next()).await.expect("an event in time")?;
            self.read.push_str(std::str::from_utf8(&more).expect("whole characters"));
        }
    }

    /// Returns everything up to the first event of this type, which is the last.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen = vec![];
        let all = async {
            while let Some(frame) = self.next().await {
                let is_last = event(&frame)["type"] == kind;
                seen.push(frame);
                if is_last {
                    return true;
                }
            }
            false
        };
        let found = tokio::time::timeout(TEST_TIMEOUT, all).await.unwrap_or(false);
        assert!(found, "the stream has no {kind}: {seen:?}");
        seen
    }
}

/// Returns the event of a frame of either stream.
pub(crate) fn event(frame: &Value) -> &Value {
    frame.get("payload").unwrap_or(frame)
}

pub(crate) fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| event(frame)["type"].as_str().unwrap()).collect()
}

/// Returns the assistant's text in a message.
pub(crate) fn said(message: &Value) -> String {
    let parts = message["parts"].as_array().unwrap();
    let texts = parts.iter().filter(|part| part["type"] == "text");
    texts.map(|part| part["text"].as_str().unwrap()).collect()
}

pub(crate) fn encoded(path: &std::path::Path) -> String {
    path.to_str().unwrap().replace('/', "%2F")
}
