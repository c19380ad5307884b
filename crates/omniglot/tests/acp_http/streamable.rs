//! The form of HTTP that the protocol's own libraries have, at one URL for all clients: what no library shows,
//! because it sends nothing wrong. `acp_stdio` plays the scenarios with the library itself.

use futures_util::StreamExt as _;
use omniglot_testkit::daemon::Daemon;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::daemon;
use super::wire::{is_update, words};

struct OneUrl<'a> {
    daemon: &'a Daemon,
    connection: Option<String>,
}

impl<'a> OneUrl<'a> {
    async fn connect(daemon: &'a Daemon) -> Self {
        let mut client = Self { daemon, connection: None };
        let hello = client.post(None, &request(0, "initialize", json!({ "protocolVersion": 1 }))).await;
        assert_eq!(hello.status(), 200);
        client.connection =
            hello.headers().get("acp-connection-id").map(|id| id.to_str().unwrap().to_owned());
        assert!(client.connection.is_some());
        client
    }

    fn request(&self, method: Method, session: Option<&str>) -> RequestBuilder {
        let url = format!("{}/v1/acp?agent=mock", self.daemon.url);
        let mut request = reqwest::Client::new().request(method, url).bearer_auth(&self.daemon.token);
        if let Some(connection) = &self.connection {
            request = request.header("acp-connection-id", connection);
        }
        match session {
            Some(session) => request.header("acp-session-id", session),
            None => request,
        }
    }

    async fn post(&self, session: Option<&str>, message: &Value) -> Response {
        self.request(Method::POST, session).json(message).send().await.unwrap()
    }

    async fn stream(&self, session: Option<&str>) -> Stream {
        let request = self.request(Method::GET, session).header("accept", "text/event-stream");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Stream { bytes: Box::pin(response.bytes_stream()), text: String::new() }
    }
}

struct Stream {
    bytes: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    text: String,
}

impl Stream {
    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
                self.text = rest.to_owned();
                match data {
                    Some(data) => return serde_json::from_str(&data).unwrap(),
                    None => continue,
                }
            }
            let more = self.bytes.next().await.expect("the stream goes on").unwrap();
            self.text.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> (Vec<Value>, Value) {
        let mut before = vec![];
        loop {
            let message = self.next().await;
            if wanted(&message) {
                return (before, message);
            }
            before.push(message);
        }
    }
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn each_stream_has_the_messages_of_its_session_and_no_other() {
    let daemon = daemon();
    let client = OneUrl::connect(&daemon).await;
    let mut connection = client.stream(None).await;
    let mut sessions = vec![];
    for id in 1..=2 {
        let new = request(id, "session/new", json!({ "cwd": daemon.work(), "mcpServers": [] }));
        assert_eq!(client.post(None, &new).await.status(), 202);
        let (before, made) = connection.find(|message| message["id"] == id).await;
        assert!(before.is_empty(), "{before:?}");
        sessions.push(made["result"]["sessionId"].as_str().unwrap().to_owned());
    }
    let (mut first, mut second) =
        (client.stream(Some(&sessions[0])).await, client.stream(Some(&sessions[1])).await);
    for (id, session) in [(3, &sessions[0]), (4, &sessions[1])] {
        let prompt = request(id, "session/prompt", words(session, "[[text:5]]"));
        assert_eq!(client.post(Some(session), &prompt).await.status(), 202);
    }
    for (id, session, stream) in [(3, &sessions[0], &mut first), (4, &sessions[1], &mut second)] {
        let (before, answer) = stream.find(|message| !message["id"].is_null()).await;
        assert_eq!((&answer["id"], &answer["result"]["stopReason"]), (&id.into(), &"end_turn".into()));
        assert!(before.iter().any(|message| is_update(message, "agent_message_chunk")), "{before:?}");
        assert!(
            before.iter().all(|message| message["params"]["sessionId"] == session.as_str()),
            "{before:?}"
        );
    }
    assert_eq!(client.post(None, &request(5, "session/list", json!({}))).await.status(), 202);
    let (before, _) = connection.find(|message| message["id"] == 5).await;
    assert!(before.is_empty(), "{before:?}");
}

#[tokio::test]
async fn a_request_without_its_connection_is_told_what_to_do() {
    let daemon = daemon();
    let list = request(1, "session/list", json!({}));
    let status = async |client: &OneUrl<'_>, method: Method, session: Option<&str>| {
        let request = client.request(method.clone(), session).header("accept", "*/*");
        let request = if method == Method::POST { request.json(&list) } else { request };
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let mut client = OneUrl { daemon: &daemon, connection: None };
    for method in [Method::POST, Method::DELETE] {
        let (code, told) = status(&client, method, None).await;
        assert!(code == 400 && told.contains("initialize"), "{code} {told}");
    }
    client.connection = Some("acp_nobody".into());
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let (code, told) = status(&client, method, None).await;
        assert!(code == 404 && told.contains("initialize"), "{code} {told}");
    }
    let client = OneUrl::connect(&daemon).await;
    let prompt = request(2, "session/prompt", words("a", "[[text]]"));
    assert_eq!(client.post(Some("b"), &prompt).await.status(), 400);
    assert_eq!(status(&client, Method::DELETE, None).await.0, 202);
    assert_eq!(status(&client, Method::DELETE, None).await.0, 404);
}

#[tokio::test]
async fn a_handshake_that_is_refused_leaves_no_connection() {
    let daemon = daemon();
    let client = OneUrl { daemon: &daemon, connection: None };
    let refused = client.post(None, &request(1, "initialize", json!({ "protocolVersion": [] }))).await;
    assert_eq!((refused.status().as_u16(), refused.headers().get("acp-connection-id")), (200, None));
    assert!(refused.json::<Value>().await.unwrap()["error"].is_object());
    let list = client.request(Method::GET, None).send().await.unwrap();
    assert_eq!(list.json::<Value>().await.unwrap(), json!({ "servers": [] }));
}
