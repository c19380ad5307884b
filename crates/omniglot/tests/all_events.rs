//! The stream over all sessions: nothing is lost or doubled, whoever cuts it and wherever.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::collections::BTreeMap;

use omniglot_schema::{
    CreateSessionRequest, CreateTokenRequest, Label, PermissionReply, Scope, UniversalEvent,
    UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id};
use serde_json::Value;

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

/// One frame of the stream.
#[derive(Debug, Clone, Default, PartialEq)]
struct SseFrame {
    id: Option<String>,
    event: Option<String>,
    data: Option<Value>,
}

impl SseFrame {
    fn parse(text: &str) -> Self {
        let mut frame = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => frame.id = Some(id.to_owned()),
                Some(("event", name)) => frame.event = Some(name.to_owned()),
                Some(("data", data)) => frame.data = Some(serde_json::from_str(data).unwrap()),
                _ => assert!(line.is_empty() || line.starts_with(':'), "{line}"),
            }
        }
        frame
    }

    fn is(&self, name: &str) -> bool {
        self.event.as_deref() == Some(name)
    }

    fn universal(&self) -> Option<UniversalEvent> {
        let data = self.data.as_ref().filter(|_| self.event.is_none())?;
        Some(serde_json::from_str(&data.to_string()).unwrap())
    }
}

/// One connection to the stream.
struct Stream {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl Stream {
    async fn open(daemon: &Daemon, token: &str, query: &str, cursor: Option<&str>) -> Self {
        let mut request =
            reqwest::Client::new().get(format!("{}/v1/events/sse?{query}", daemon.url)).bearer_auth(token);
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, buffer: vec![] }
    }

    /// Returns the next whole frame; `None` when the connection has ended.
    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Some(SseFrame::parse(std::str::from_utf8(&frame).unwrap()));
            }
            self.buffer.extend(self.response.chunk().await.ok()??);
        }
    }

    /// Reads up to and including the frame that is wanted.
    async fn until(&mut self, wanted: impl Fn(&SseFrame) -> bool) -> Vec<SseFrame> {
        let mut frames = vec![];
        loop {
            let frame = self.next().await.expect("the stream stays open");
            frames.push(frame.clone());
            if wanted(&frame) {
                return frames;
            }
        }
    }
}

/// Returns the sequences of each session, in the order in which they came.
fn sequences(events: &[UniversalEvent]) -> BTreeMap<String, Vec<u64>> {
    let mut sequences: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for event in events {
        sequences.entry(event.session_id.to_string()).or_default().push(event.sequence);
    }
    sequences
}

async fn turns(session: SessionDriver, count: usize) {
    for _ in 0..count {
        session.turn("[[text:20]] [[tool]]", PermissionReply::Once).await;
    }
}

/// Reads everything from the beginning through connections that are cut after a few bytes each, while sessions
/// work; returns the events and the number of cuts.
async fn read_with_cuts(daemon: &Daemon, mut cuts: usize, mut step: u64) -> Vec<UniversalEvent> {
    let names = ["a", "b", "c"];
    let mut writers = vec![];
    for name in names {
        let session = SessionDriver::create(&daemon.client, name).await;
        writers.push(tokio::spawn(turns(session, 1 + cuts / 300)));
    }
    let (mut cursor, mut events) = ("0".to_owned(), vec![]);
    while cuts > 0 || writers.iter().any(|writer| !writer.is_finished()) {
        cuts = cuts.saturating_sub(1);
        // Some connections end before the first frame, some in the middle of one, some after several.
        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut room = (step >> 33) % 6000;
        let mut stream = Stream::open(daemon, &daemon.token, "deltas=true", Some(&cursor)).await;
        while let Some(Ok(chunk)) = stream.response.chunk().await.transpose() {
            let taken = usize::try_from(room).unwrap().min(chunk.len());
            room -= taken as u64;
            stream.buffer.extend(&chunk[..taken]);
            while let Some(end) = stream.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = stream.buffer.drain(..end + 2).collect();
                let frame = SseFrame::parse(std::str::from_utf8(&frame).unwrap());
                events.extend(frame.universal());
                cursor = frame.id.unwrap_or(cursor);
                room = if frame.event.is_some() { 0 } else { room };
            }
            if room == 0 {
                break;
            }
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let mut stream = Stream::open(daemon, &daemon.token, "deltas=true", Some(&cursor)).await;
    events.extend(stream.until(|frame| frame.is("caught_up")).await.iter().filter_map(SseFrame::universal));
    for name in names {
        let log = SessionDriver::of(&daemon.client, name).history().await;
        let own: Vec<_> = events.iter().filter(|event| event.session_id.as_str() == name).collect();
        assert_eq!(serde_json::to_string(&own).unwrap(), serde_json::to_string(&log).unwrap(), "{name}");
    }
    events
}

/// One of four tests that cut 10,000 times together, each in other places. `OMNIGLOT_CUTS` sets the number of each.
async fn cuts_from(seed: u64) {
    let cuts = std::env::var("OMNIGLOT_CUTS").map_or(2_500, |cuts| cuts.parse().unwrap());
    assert!(!read_with_cuts(&daemon(), cuts, seed).await.is_empty());
}

#[tokio::test]
async fn the_first_quarter_of_10_000_cuts_loses_and_doubles_nothing() {
    cuts_from(1).await;
}

#[tokio::test]
async fn the_second_quarter_of_10_000_cuts_loses_and_doubles_nothing() {
    cuts_from(2).await;
}

#[tokio::test]
async fn the_third_quarter_of_10_000_cuts_loses_and_doubles_nothing() {
    cuts_from(3).await;
}

#[tokio::test]
async fn the_last_quarter_of_10_000_cuts_loses_and_doubles_nothing() {
    cuts_from(4).await;
}

#[tokio::test]
async fn a_stream_goes_on_after_the_daemon_was_killed() {
    let mut daemon = daemon();
    SessionDriver::create(&daemon.client, "a").await.turn("[[text:3]]", PermissionReply::Once).await;
    let mut stream = Stream::open(&daemon, &daemon.token, "offset=0", None).await;
    let before = stream.until(|frame| frame.is("caught_up")).await;
    let cursor = before.last().unwrap().id.clone().unwrap();
    daemon.kill();
    let daemon = daemon.restart();
    SessionDriver::of(&daemon.client, "a").turn("[[text:3]]", PermissionReply::Once).await;
    let mut stream = Stream::open(&daemon, &daemon.token, "", Some(&cursor)).await;
    let after = stream.until(|frame| frame.is("caught_up")).await;
    let events: Vec<_> = before.iter().chain(&after).filter_map(SseFrame::universal).collect();
    let log = SessionDriver::of(&daemon.client, "a").history().await;
    let wanted = log.iter().filter(|event| event.kind() != UniversalEventType::ItemDelta);
    assert_eq!(sequences(&events)["a"], wanted.map(|event| event.sequence).collect::<Vec<_>>());
}

#[tokio::test]
async fn it_begins_now_and_tells_what_comes_also_deletions() {
    let daemon = daemon();
    SessionDriver::create(&daemon.client, "old").await;
    let mut stream = Stream::open(&daemon, &daemon.token, "", None).await;
    let first = stream.next().await.unwrap();
    assert!(first.is("caught_up") && first.id.is_some(), "{first:?}");
    SessionDriver::create(&daemon.client, "new").await;
    daemon.client.delete(&session_id("old")).await.unwrap();
    let frames = stream.until(|frame| frame.is("deleted")).await;
    assert_eq!(frames.last().unwrap().data.as_ref().unwrap()["session_id"], "old");
    let told: Vec<_> = frames.iter().filter_map(SseFrame::universal).collect();
    assert_eq!((told[0].session_id.as_str(), told[0].sequence), ("new", 1));
    // The deletion is told again to whoever was away.
    let mut stream = Stream::open(&daemon, &daemon.token, "", first.id.as_deref()).await;
    stream.until(|frame| frame.is("deleted")).await;
}

#[tokio::test]
async fn it_has_only_what_was_asked_for() {
    let daemon = daemon();
    let labelled = CreateSessionRequest {
        labels: [("app".to_owned(), "shop".to_owned())].into(),
        ..CreateSessionRequest::new("mock")
    };
    let shop = SessionDriver::create_with(&daemon.client, "shop", &labelled).await;
    let other = SessionDriver::create(&daemon.client, "other").await;
    for session in [&shop, &other] {
        session.turn("[[text:3]]", PermissionReply::Once).await;
    }
    let names = |frames: &[SseFrame]| {
        let events: Vec<_> = frames.iter().filter_map(SseFrame::universal).collect();
        sequences(&events).into_keys().collect::<Vec<_>>()
    };
    for (query, expected) in [
        ("offset=0", vec!["other", "shop"]),
        ("offset=0&label=app:shop", vec!["shop"]),
        ("offset=0&label=app:x", vec![]),
        ("offset=0&agent=mock", vec!["other", "shop"]),
        ("offset=0&agent=claude", vec![]),
    ] {
        let mut stream = Stream::open(&daemon, &daemon.token, query, None).await;
        assert_eq!(names(&stream.until(|frame| frame.is("caught_up")).await), expected, "{query}");
    }
    let mut stream = Stream::open(&daemon, &daemon.token, "offset=0&types=turn.ended", None).await;
    let frames = stream.until(|frame| frame.is("caught_up")).await;
    let kinds: Vec<_> = frames.iter().filter_map(SseFrame::universal).map(|event| event.kind()).collect();
    assert_eq!(kinds, [UniversalEventType::TurnEnded; 2]);

    let limited = CreateTokenRequest {
        name: "shop".into(),
        scope: Scope::Read,
        sessions: Some(Label::new("app", "shop").unwrap()),
        expires_in_seconds: None,
    };
    let token = daemon.client.create_token(&limited).await.unwrap().secret;
    let mut stream = Stream::open(&daemon, &token, "offset=0", None).await;
    assert_eq!(names(&stream.until(|frame| frame.is("caught_up")).await), ["shop"]);
    // Nor does it learn of the end of others.
    daemon.client.delete(&other.id).await.unwrap();
    daemon.client.delete(&shop.id).await.unwrap();
    let frames = stream.until(|frame| frame.is("deleted")).await;
    assert_eq!(frames.last().unwrap().data.as_ref().unwrap()["session_id"], "shop");
}

#[tokio::test]
async fn a_cursor_of_another_log_or_beyond_the_end_is_gone() {
    let daemon = daemon();
    SessionDriver::create(&daemon.client, "a").await;
    let status = async |query: &str, cursor: Option<&str>| {
        let url = format!("{}/v1/events/sse?{query}", daemon.url);
        let mut request = reqwest::Client::new().get(url).bearer_auth(&daemon.token);
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor);
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status("", Some("0123456789abcdef.1")).await, 410);
    assert_eq!(status("offset=99", None).await, 410);
    assert_eq!(status("", Some("nonsense")).await, 400);
    assert_eq!(status("offset=-1", None).await, 400);
    assert_eq!(status("deltas=maybe", None).await, 400);
    assert_eq!(status("include_raw=true", None).await, 400);
}

#[tokio::test]
async fn the_copies_of_a_fork_are_not_told_again() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("First words [[text:1]]", PermissionReply::Once).await;
    let mut stream = Stream::open(&daemon, &daemon.token, "deltas=true", None).await;
    daemon.client.fork(&session.id, &session_id("t")).await.unwrap();
    daemon.client.delete(&session_id("t")).await.unwrap();
    let frames = stream.until(|frame| frame.is("deleted")).await;
    let told: Vec<_> = frames.iter().filter_map(SseFrame::universal).collect();
    assert_eq!(told.first().map(UniversalEvent::kind), Some(UniversalEventType::SessionStarted));
    assert!(told.iter().all(|event| event.copied_from().is_none()), "{told:?}");
}

#[tokio::test]
async fn a_place_that_is_damaged_is_told_and_passed() {
    let mut daemon = daemon();
    for name in ["a", "b", "c"] {
        SessionDriver::create(&daemon.client, name).await;
    }
    daemon.stop();
    let database = rusqlite::Connection::open(daemon.data().join("private/omniglot.db")).unwrap();
    let sql = "UPDATE commits SET crc = 0 WHERE session_no = 2";
    let damaged = database.execute(sql, []).unwrap();
    assert!(damaged > 0);
    drop(database);
    let daemon = daemon.restart();
    let mut stream = Stream::open(&daemon, &daemon.token, "offset=0", None).await;
    let frames = stream.until(|frame| frame.is("caught_up")).await;
    assert_eq!(frames.iter().filter(|frame| frame.is("damaged") && frame.id.is_some()).count(), damaged);
    let events: Vec<_> = frames.iter().filter_map(SseFrame::universal).collect();
    assert_eq!(sequences(&events).into_keys().collect::<Vec<_>>(), ["a", "c"]);
}

#[tokio::test]
async fn an_imported_fork_tells_no_copies() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    daemon.client.fork(&session.id, &session_id("t")).await.unwrap();
    let file = daemon.home().join("t.jsonl");
    for args in [["sessions", "export", "t", "--output"], ["sessions", "import", "--as", "u"]] {
        let run = std::process::Command::new(daemon.program())
            .args(args)
            .arg(&file)
            .args(["--data-dir".as_ref(), daemon.data().as_os_str()])
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    let mut stream = Stream::open(&daemon, &daemon.token, "offset=0", None).await;
    let frames = stream.until(|frame| frame.is("caught_up")).await;
    let of_import =
        frames.iter().filter_map(SseFrame::universal).filter(|event| event.session_id.as_str() == "u");
    assert!(of_import.clone().count() > 0);
    assert!(of_import.into_iter().all(|event| event.copied_from().is_none()));
}
