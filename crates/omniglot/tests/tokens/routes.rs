//! Every route of the scope table, called for a session of somebody else: none tells or changes anything of it.

use futures_util::StreamExt as _;
use omniglot_schema::{CreateSessionRequest, EventData, PermissionReply, Scope, UniversalEventType};
use omniglot_testkit::daemon::Daemon;
use omniglot_testkit::session_driver::SessionDriver;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::{Holder, ask_permission, daemon, labelled, limited_to_x};

/// A word that stands in everything that a foreign session has: title, directory, files, labels, messages.
const CANARY: &str = "canary";
/// A word of the session that the token sees.
const OWN: &str = "own-words";

/// The rows of the table, as they stand in the source: `METHOD /path`.
fn table() -> Vec<(Method, &'static str)> {
    let source = include_str!("../../../omniglot-server/src/faces/scopes.rs");
    let (code, _) = source.split_once("#[cfg(test)]").unwrap();
    let row = |text: &'static str| {
        let (method, path) = text.split_once(" /")?;
        let is_method = ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method);
        is_method.then(|| (method.parse().unwrap(), &text[text.len() - path.len() - 1..]))
    };
    code.split('"').filter_map(row).filter(|(_, path)| !path.contains(char::is_whitespace)).collect()
}

/// Two sessions of somebody else, one waiting for a permission and one for an answer, and the ids of what they have.
struct Foreign {
    asking: SessionDriver,
    events: u64,
    permission: String,
    question: String,
    queued: String,
    blob: String,
    message: String,
    opencode_permission: String,
    opencode_question: String,
}

impl Foreign {
    async fn make(daemon: &Daemon) -> Self {
        let directory = daemon.work().join(format!("{CANARY}-directory"));
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join(format!("{CANARY}-file.txt")), CANARY).unwrap();
        std::fs::write(directory.join("file.txt"), CANARY).unwrap();
        let mut request = CreateSessionRequest {
            title: Some(format!("{CANARY} title")),
            directory: Some(directory.to_string_lossy().into_owned()),
            ..labelled("y")
        };
        request.labels.insert("of".into(), format!("{CANARY}-label"));
        let asking = SessionDriver::create_with(&daemon.client, "other", &request).await;
        let turn = asking.turn(&format!("{CANARY} picture [[image]]"), PermissionReply::Once).await;
        let told = serde_json::to_string(&turn.events).unwrap();
        let blob = told.split("/blobs/").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
        let permission = ask_permission(&asking).await;
        let queued = asking.post(&format!("{CANARY} that waits")).await.message_id.0;
        let questioning = SessionDriver::create_with(&daemon.client, "other2", &request).await;
        questioning.post(&format!("{CANARY} [[question]]")).await;
        let asked =
            |event: &omniglot_schema::UniversalEvent| event.kind() == UniversalEventType::QuestionRequested;
        let question = match questioning.wait_for(0, asked).await.data {
            EventData::QuestionRequested(asked) => asked.question_id.0,
            other => panic!("{other:?}"),
        };
        let first = async |path: &str, at: &str| {
            let url = format!("{}/opencode{path}", daemon.url);
            let answer = reqwest::Client::new().get(url).basic_auth("opencode", Some(&daemon.token));
            let answer: Value = answer.send().await.unwrap().json().await.unwrap();
            answer.pointer(at).and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}")).to_owned()
        };
        Self {
            events: asking.client.detail(&asking.id).await.unwrap().info.event_count,
            message: first("/session/ses_other/message", "/0/info/id").await,
            opencode_permission: first("/permission", "/0/id").await,
            opencode_question: first("/question", "/0/id").await,
            asking,
            permission,
            question,
            queued,
            blob,
        }
    }

    /// Returns the address that a row of the table has for these sessions.
    fn address(&self, path: &str) -> String {
        let session = if path.contains("question") { "other2" } else { "other" };
        let (opencode, id) = match path {
            path if path.starts_with("/opencode/session/") => (format!("ses_{session}"), ""),
            path if path.starts_with("/opencode/permission") => (String::new(), &*self.opencode_permission),
            path if path.starts_with("/opencode/question") => (String::new(), &*self.opencode_question),
            _ => (String::new(), "global"),
        };
        let mut filled = path.to_owned();
        if path.starts_with("/opencode/session/{session}/permissions") {
            filled = filled.replace("{id}", &self.opencode_permission);
        }
        let of_session = if opencode.is_empty() { id } else { &opencode };
        for (name, value) in [
            ("{session_id}", session),
            ("{session}", &opencode),
            ("{id}", of_session),
            ("{permission_id}", &self.permission),
            ("{question_id}", &self.question),
            ("{message_id}", &self.queued),
            ("{message}", &self.message),
            ("{name}", &self.blob),
            ("{agent}", "mock"),
            ("{server_id}", "c"),
            ("{token_id}", "none"),
            ("{process_id}", "none"),
            ("{hook}", "none"),
        ] {
            filled = filled.replace(name, value);
        }
        assert!(!filled.contains('{'), "{path}: nobody says what stands here: {filled}");
        match path {
            "/v1/fs/move" => filled + "?session_id=other",
            "/v1/fs/entries" => filled + "?session_id=other&path=.",
            path if path.starts_with("/v1/fs/") => filled + "?session_id=other&path=file.txt",
            "/v1/search" => format!("{filled}?q={CANARY}"),
            "/v1/events/sse" => filled + "?offset=0&deltas=true",
            _ => filled,
        }
    }
}

/// Returns a body that the route takes, so that nothing but the session can be refused.
fn body(method: &Method, path: &str) -> Value {
    let text = json!([{ "type": "text", "text": "x" }]);
    match path {
        "/v1/sessions/{session_id}" if *method == Method::PATCH => json!({ "title": "changed" }),
        "/v1/sessions" => json!({ "agent": "mock", "labels": { "app": "y" } }),
        "/v1/sessions/{session_id}" => json!({ "agent": "mock", "title": "changed" }),
        "/v1/sessions/{session_id}/fork" => json!({ "sessionId": "copy" }),
        "/v1/fs/move" => json!({ "from": "file.txt", "to": "moved.txt" }),
        "/v1/acp/{server_id}" => {
            json!({ "jsonrpc": "2.0", "id": 1, "method": "session/load",
                "params": { "sessionId": "other", "cwd": "/", "mcpServers": [] } })
        }
        path if path.ends_with("/messages") || path.ends_with("/messages/stream") => {
            json!({ "message": "x" })
        }
        path if path.ends_with("/permissions/{id}") => json!({ "response": "once" }),
        path if path.contains("/permission") => json!({ "reply": "once" }),
        path if path.ends_with("/reply") => json!({ "answers": [["x"]] }),
        path if path.ends_with("/command") => json!({ "command": "x", "arguments": "" }),
        path if path.ends_with("/shell") => json!({ "agent": "build", "command": "true" }),
        path if path.starts_with("/opencode/session/") => json!({ "parts": text }),
        _ => json!({}),
    }
}

/// Reads an answer to its end; of a stream so much that it has told what the token sees.
async fn read(response: Response, own: &SessionDriver) -> String {
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let mut bytes = response.bytes_stream();
    let mut read = Vec::new();
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        while let Some(chunk) = bytes.next().await {
            read.extend(chunk.unwrap());
        }
        return String::from_utf8_lossy(&read).into_owned();
    }
    own.turn(&format!("{OWN} [[text:1]]"), PermissionReply::Once).await;
    while !String::from_utf8_lossy(&read).contains(OWN) {
        read.extend(bytes.next().await.expect("a stream that goes on").unwrap());
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// A session that exists may be known by its id alone: creating it again says so.
const TAKEN: &str = "POST /v1/sessions/{session_id}";

#[tokio::test]
async fn no_route_tells_or_changes_anything_of_a_session_with_another_label() {
    let daemon = daemon();
    let mine = SessionDriver::create_with(&daemon.client, "mine", &labelled("x")).await;
    let foreign = Foreign::make(&daemon).await;
    let table = table();
    assert!(table.len() > 120, "{}", table.len());
    for scope in [Scope::Read, Scope::Answer, Scope::Drive] {
        let mut token = limited_to_x(scope);
        token.name = format!("app-x-{scope}");
        let holder = Holder::of(&daemon, &token).await;
        holder.acp("session/load", json!({ "sessionId": "mine", "cwd": "/", "mcpServers": [] })).await;
        // Its end is the end of the client.
        let (ends, others): (Vec<_>, Vec<_>) = table
            .iter()
            .partition(|(method, path)| *method == Method::DELETE && *path == "/v1/acp/{server_id}");
        for (method, path) in others.into_iter().chain(ends) {
            let address = foreign.address(path);
            let mut request = holder.request(method.clone(), &address);
            if *path == "/v1/fs/upload-batch" {
                request = request.header("content-type", "application/x-tar").body(vec![0; 1024]);
            } else if *method != Method::GET {
                request = request.json(&body(method, path));
            } else if path.starts_with("/v1/acp/") {
                request = request.header("accept", "text/event-stream");
            }
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            let told = read(response, &mine).await;
            let named = format!("{scope}: {method} {address}: {status} {told}");
            assert!(!told.contains(CANARY), "{named}");
            if address.contains("other") {
                let taken = status == 409 && format!("{method} {path}") == TAKEN;
                assert!([403, 404].contains(&status) || taken, "{named}");
            }
            assert!(status < 500, "{named}");
        }
    }
    let asking = &foreign.asking;
    let detail = asking.client.detail(&asking.id).await.unwrap();
    assert_eq!(detail.info.event_count, foreign.events, "nothing has happened in it");
    assert_eq!(detail.info.title.as_deref(), Some("canary title"));
    let directory = daemon.work().join(format!("{CANARY}-directory"));
    assert_eq!(std::fs::read_to_string(directory.join("file.txt")).unwrap(), CANARY);
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 2);
}
