//! Bytes from outside that nobody has checked: what agents write, event streams, the bodies of requests.
//!
//! Nothing panics or hangs, every byte of a line is kept or counted, and every request has an answer that is no
//! internal error.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on panics")]

#[path = "serving/daemon.rs"]
#[allow(dead_code, reason = "this test needs less of it than the others")]
mod daemon;

use std::io::Cursor;
use std::time::Duration;

use daemon::{Daemon, id};
use jiff::Timestamp;
use omniglot_client::{SseFrame, SseParser};
use omniglot_runtime::process::lines::{Line, LineReader};
use omniglot_schema::UniversalEvent;
use omniglot_store::{NewEvent, NewSession, RecordUpdate};
use omniglot_testkit::fuzz::{self, Edit};
use omniglot_timeline::{Draft, Identity, SessionStarted, Stamp, Timeline};
use proptest::prelude::*;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Runtime;

/// Bytes in which line ends, field names and broken characters are frequent.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => any::<u8>().prop_map(|byte| vec![byte]),
        3 => prop_oneof![Just("\n"), Just("\r"), Just("\r\n"), Just("\n\n"), Just("\u{feff}")].prop_map(Vec::from),
        2 => prop_oneof![Just("data:"), Just("event: "), Just("id:"), Just(": x"), Just("ü")].prop_map(Vec::from),
        1 => (0usize..5_000).prop_map(|length| vec![b'z'; length]),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseFrame> {
    let mut parser = SseParser::default();
    let mut frames = vec![];
    for chunk in chunks {
        parser.feed(chunk);
        frames.extend(std::iter::from_fn(|| parser.next_frame()));
    }
    frames
}

/// Reads `written`, of which the reader gets `first` bytes alone.
async fn lines(written: &[u8], first: usize, cap: usize) -> Vec<Line> {
    let (head, tail) = written.split_at(first);
    let mut reader = LineReader::new(Cursor::new(head).chain(Cursor::new(tail)), cap);
    let mut lines = vec![];
    while let Some(batch) = reader.next_batch().await.unwrap() {
        lines.extend(batch);
    }
    lines
}

fn length(line: &Line) -> u64 {
    match line {
        Line::Whole(line) | Line::Partial(line) => line.len() as u64,
        Line::TooLong { length, .. } => *length,
    }
}

proptest! {
    #![proptest_config(fuzz::config(500))]

    #[test]
    fn every_byte_of_a_line_is_kept_or_counted(
        written in bytes(),
        first in any::<prop::sample::Index>(),
        cap in prop_oneof![1usize..50, Just(4_096)],
    ) {
        let written: Vec<u8> = written.into_iter().filter(|byte| *byte != b'\r').collect();
        let first = first.index(written.len() + 1);
        let read = Runtime::new().unwrap().block_on(lines(&written, first, cap));
        let ends = written.iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(read.iter().map(length).sum::<u64>(), (written.len() - ends) as u64);
        prop_assert!(read.iter().all(|line| line.size() <= cap.max(4_096)));
    }

    #[test]
    fn an_event_stream_has_the_same_frames_wherever_it_is_cut(
        written in bytes(),
        at in any::<prop::sample::Index>(),
        size in 1usize..7,
    ) {
        let (head, tail) = written.split_at(at.index(written.len() + 1));
        let whole = frames([written.as_slice()]);
        prop_assert_eq!(&frames([head, tail]), &whole);
        prop_assert_eq!(&frames(written.chunks(size)), &whole);
    }
}

const INTERNAL: &str = "urn:sandbox-agent:error:internal";

/// The routes that take a body, each with one that fits.
fn routes() -> Vec<(Method, &'static str, Value)> {
    let rpc =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let model = json!({"providerID": "mock", "modelID": "m"});
    let words =
        json!([{"type": "text", "text": "hi"}, {"type": "file", "mime": "text/plain", "url": "file:///x"}]);
    vec![
        (Method::POST, "/v1/sessions/t", json!({"agent": "mock", "cwd": "/", "title": "t", "mcp": {}})),
        (Method::PATCH, "/v1/sessions/s", json!({"title": "t", "model": "m", "variant": "v"})),
        (Method::POST, "/v1/sessions/s/messages", json!({"message": "hi", "attachments": [{"path": "/x"}]})),
        (Method::POST, "/v1/sessions/s/fork", json!({"sessionId": "u"})),
        (Method::POST, "/v1/sessions/v/import", json!({"events": []})),
        (Method::POST, "/v1/sessions/s/permissions/perm_1/reply", json!({"reply": "once", "message": "m"})),
        (Method::POST, "/v1/sessions/s/questions/qst_1/reply", json!({"answers": [["a"]]})),
        (Method::POST, "/v1/sessions/s/cancel", json!({})),
        (
            Method::POST,
            "/v1/acp/c?agent=mock",
            rpc("initialize", json!({"protocolVersion": 1, "clientCapabilities": {"fs": {}}})),
        ),
        (Method::POST, "/v1/acp/c", rpc("session/new", json!({"cwd": "/", "mcpServers": []}))),
        (Method::POST, "/v1/acp/c", rpc("session/prompt", json!({"sessionId": "s", "prompt": words}))),
        (Method::POST, "/v1/acp/c", rpc("session/set_mode", json!({"sessionId": "s", "modeId": "m"}))),
        (
            Method::POST,
            "/v1/acp/c",
            json!({"jsonrpc": "2.0", "id": "r1", "result": {"outcome": {"outcome": "cancelled"}}}),
        ),
        (
            Method::POST,
            "/opencode/session",
            json!({"title": "t", "agent": "mock", "model": model, "permission": []}),
        ),
        (Method::PATCH, "/opencode/session/ses_1", json!({"title": "t", "time": {"archived": 1}})),
        (
            Method::POST,
            "/opencode/session/ses_1/message",
            json!({"messageID": "msg_1", "model": model, "parts": words}),
        ),
        (Method::POST, "/opencode/session/ses_1/prompt_async", json!({"agent": "mock", "parts": words})),
        (
            Method::POST,
            "/opencode/session/ses_1/command",
            json!({"command": "c", "arguments": "a", "model": "a/b"}),
        ),
        (Method::POST, "/opencode/session/ses_1/fork", json!({"messageID": "msg_1"})),
        (Method::POST, "/opencode/permission/per_1/reply", json!({"reply": "once"})),
        (Method::POST, "/opencode/question/que_1/reply", json!({"answers": [["a"]]})),
    ]
}

/// A body that a client should not send.
#[derive(Debug, Clone)]
enum Body {
    Edited(Vec<Edit>),
    Other(Value),
    Bytes(Vec<u8>),
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        6 => proptest::collection::vec(fuzz::edit(), 0..4).prop_map(Body::Edited),
        1 => fuzz::document().prop_map(Body::Other),
        1 => bytes().prop_map(Body::Bytes),
    ]
}

impl Body {
    fn of(&self, fitting: &Value) -> Vec<u8> {
        match self {
            Self::Edited(edits) => {
                let mut body = fitting.clone();
                edits.iter().for_each(|edit| edit.apply(&mut body));
                body.to_string().into_bytes()
            }
            Self::Other(body) => body.to_string().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Creates the session `s`, of which messages, patches and forks are possible.
async fn session(daemon: &Daemon) {
    let identity = Identity { session_id: id("s"), agent: "mock".into() };
    let (mut timeline, mut events) = (Timeline::new(identity, "seed"), vec![]);
    let started = Draft::SessionStarted(SessionStarted::default());
    timeline.apply(started, Stamp::daemon(Timestamp::UNIX_EPOCH), &mut events);
    let stored = |event: &UniversalEvent| NewEvent {
        seq: event.sequence,
        kind: event.kind(),
        time_us: 1,
        json: serde_json::to_string(event).unwrap().into(),
        frame_no: None,
    };
    let fold = serde_json::to_string(&timeline.snapshot()).unwrap();
    let new = NewSession {
        id: id("s"),
        agent: "mock".into(),
        request: r#"{"agent":"mock"}"#.into(),
        created_ms: 1,
        record: RecordUpdate { fold, ended: false, open_from: None },
        frames: vec![],
        events: events.iter().map(|emitted| stored(&emitted.event)).collect(),
        blobs: vec![],
    };
    daemon.store.create(new).await.unwrap().unwrap();
}

#[test]
fn every_body_of_every_face_has_an_answer_that_is_no_internal_error() {
    let runtime = Runtime::new().unwrap();
    let daemon = runtime.block_on(async {
        let daemon = Daemon::start().await;
        session(&daemon).await;
        daemon
    });
    let (client, routes) = (reqwest::Client::new(), routes());
    let cases = (0..routes.len(), body());
    let mut runner = proptest::test_runner::TestRunner::new(fuzz::config(300));
    let tried = runner.run(&cases, |(route, body)| {
        let (method, path, fitting) = &routes[route];
        let request = client.request(method.clone(), format!("{}{path}", daemon.url)).bearer_auth("t");
        let request = request.header("content-type", "application/json").body(body.of(fitting));
        let answer = runtime.block_on(async {
            let answer = request.timeout(Duration::from_secs(20)).send().await?;
            match answer.status().is_server_error() {
                true => answer.text().await,
                false => Ok(String::new()),
            }
        });
        // No agent is installed here, which is an error of another type.
        prop_assert!(
            answer.as_ref().is_ok_and(|text| !text.contains(INTERNAL)),
            "{method} {path}: {answer:?}"
        );
        Ok(())
    });
    tried.unwrap();
    runtime.block_on(daemon.stop());
}
