//! A daemon with processes, and calls to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_testkit::daemon::{Daemon, Setup};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

pub(crate) fn daemon() -> Daemon {
    setup().start()
}

pub(crate) fn setup() -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config("[processes]\nenabled = true\n")
}

pub(crate) fn request(daemon: &Daemon, method: Method, path: &str) -> RequestBuilder {
    let url = format!("{}/v1/processes{path}", daemon.url);
    reqwest::Client::new().request(method, url).bearer_auth(&daemon.token)
}

pub(crate) async fn get(daemon: &Daemon, path: &str) -> Value {
    good(request(daemon, Method::GET, path).send().await.unwrap()).await
}

pub(crate) async fn post(daemon: &Daemon, path: &str, body: Value) -> Value {
    good(request(daemon, Method::POST, path).json(&body).send().await.unwrap()).await
}

async fn good(response: Response) -> Value {
    let (url, status) = (response.url().clone(), response.status());
    let text = response.text().await.unwrap();
    assert_eq!(status, 200, "{url}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// Expects a problem; returns it.
pub(crate) async fn refused(request: RequestBuilder, status: u16, kind: &str) -> Value {
    let response = request.send().await.unwrap();
    let found = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    assert_eq!(found, status, "{problem}");
    assert_eq!(problem["type"], format!("urn:sandbox-agent:error:{kind}"), "{problem}");
    problem
}

pub(crate) async fn post_refused(daemon: &Daemon, path: &str, body: Value, status: u16, kind: &str) -> Value {
    refused(request(daemon, Method::POST, path).json(&body), status, kind).await
}

/// A command for a shell.
pub(crate) fn shell(script: &str) -> Value {
    json!({ "command": "sh", "args": ["-c", script] })
}

/// Starts a process; returns its id.
pub(crate) async fn start(daemon: &Daemon, request: Value) -> String {
    let info = post(daemon, "", request).await;
    assert_eq!((&info["status"], &info["owner"]), (&json!("running"), &json!("user")), "{info}");
    info["id"].as_str().unwrap().to_owned()
}

/// Starts a shell in a terminal.
pub(crate) async fn start_in_terminal(daemon: &Daemon, script: &str) -> String {
    let mut request = shell(script);
    request["tty"] = json!(true);
    start(daemon, request).await
}

/// Waits for the end of a process that ends by itself; returns what is known about it.
pub(crate) async fn wait_exited(daemon: &Daemon, id: &str) -> Value {
    loop {
        let info = get(daemon, &format!("/{id}")).await;
        if info["status"] == "exited" {
            return info;
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) fn bytes(entry: &Value) -> Vec<u8> {
    assert_eq!(entry["encoding"], "base64", "{entry}");
    STANDARD.decode(entry["data"].as_str().unwrap()).unwrap()
}

/// Returns the data of entries, joined.
pub(crate) fn text(entries: &[Value]) -> String {
    String::from_utf8(entries.iter().flat_map(bytes).collect()).unwrap()
}

/// The server-sent events of a log.
pub(crate) struct Follower {
    response: Response,
    held: String,
}

impl Follower {
    pub(crate) async fn open(daemon: &Daemon, id: &str, query: &str) -> Self {
        let request = request(daemon, Method::GET, &format!("/{id}/logs?follow=true{query}"));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, held: String::new() }
    }

    /// Returns the next entry; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((frame, rest)) = self.held.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.held = rest;
                if !frame.starts_with(':') {
                    return Some(entry(&frame));
                }
                continue;
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.held.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Reads until the data of all streams, joined, has `wanted`; returns the entries.
    pub(crate) async fn until(&mut self, wanted: &str) -> Vec<Value> {
        let mut entries = vec![];
        while !text(&entries).contains(wanted) {
            entries.push(self.next().await.expect("more output"));
        }
        entries
    }
}

fn entry(frame: &str) -> Value {
    let lines: Vec<&str> = frame.lines().collect();
    let [event, id, data] = lines[..] else { panic!("{frame:?}") };
    let entry: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!((event, id), ("event: log", &*format!("id: {}", entry["sequence"])));
    entry
}

/// Waits until a process has told something, and returns it.
pub(crate) async fn said(daemon: &Daemon, id: &str, wanted: &str) -> String {
    text(&Follower::open(daemon, id, "").await.until(wanted).await)
}
