//! Streams over a log that a test writes step by step.

use std::collections::HashMap;

use futures_util::{Stream, StreamExt as _};
use omniglot_schema::UniversalEventType as Type;
use tokio::sync::mpsc;

use super::*;

struct Script {
    next: mpsc::UnboundedReceiver<Followed>,
    frames: HashMap<u64, StoredFrame>,
}

impl Feed for Script {
    async fn next(&mut self, _: usize) -> Result<Followed, RuntimeError> {
        match self.next.recv().await {
            Some(next) => Ok(next),
            None => std::future::pending().await,
        }
    }

    fn caught_up(&self) -> bool {
        self.next.is_empty()
    }

    async fn frames(&self, numbers: Vec<u64>) -> Result<HashMap<u64, StoredFrame>, RuntimeError> {
        Ok(numbers.iter().filter_map(|no| Some((*no, self.frames.get(no)?.clone()))).collect())
    }
}

struct Case {
    wanted: Wanted,
    frames: HashMap<u64, StoredFrame>,
    stop: CancellationToken,
}

impl Case {
    fn new() -> Self {
        Self {
            wanted: Wanted {
                epoch: "e".into(),
                after: 0,
                replay_until: None,
                types: vec![],
                raw: Raw::Omit,
                heartbeat: Duration::from_secs(10),
            },
            frames: HashMap::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Returns the stream as text chunks, over these batches.
    fn over(self, batches: Vec<Followed>) -> impl Stream<Item = String> {
        let (writer, next) = mpsc::unbounded_channel();
        for batch in batches {
            writer.send(batch).unwrap();
        }
        let feed = Script { next, frames: self.frames };
        let stream = event_stream::chunks(EventStream::new(feed, self.wanted, self.stop));
        stream.map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap())
    }

    async fn whole(self, batches: Vec<Followed>) -> String {
        self.over(batches).collect().await
    }
}

fn event(seq: u64, kind: Type, data: &str) -> Arc<StoredEvent> {
    let json = format!(r#"{{"sequence":{seq},"data":{data},"raw":null}}"#);
    Arc::new(StoredEvent { seq, kind, json: json.into(), frame_no: Some(seq) })
}

fn delta(seq: u64) -> Arc<StoredEvent> {
    event(seq, Type::ItemDelta, "{}")
}

fn turn_ended(seq: u64) -> Arc<StoredEvent> {
    event(seq, Type::TurnEnded, "{}")
}

fn ids(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

#[tokio::test]
async fn caught_up_comes_once_right_after_the_replay_and_deleted_ends() {
    let mut case = Case::new();
    case.wanted.replay_until = Some(2);
    let text = case
        .whole(vec![
            Followed::Events(vec![delta(1), delta(2), delta(3)]),
            Followed::Over(TurnOutcome::Deleted),
        ])
        .await;
    insta::assert_snapshot!(text, @r#"
    id: e.1
    data: {"sequence":1,"data":{},"raw":null}

    id: e.2
    data: {"sequence":2,"data":{},"raw":null}

    event: caught_up
    data: {"sequence":2}

    id: e.3
    data: {"sequence":3,"data":{},"raw":null}

    event: deleted
    data: {"sequence":3}
    "#);
}

#[tokio::test]
async fn a_client_at_the_end_is_caught_up_at_once() {
    let mut case = Case::new();
    (case.wanted.after, case.wanted.replay_until) = (5, Some(5));
    let stream = std::pin::pin!(case.over(vec![]));
    assert_eq!(stream.into_future().await.0.unwrap(), "event: caught_up\ndata: {\"sequence\":5}\n\n");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_beats_every_ten_seconds() {
    let begin = Instant::now();
    let beats: Vec<String> = Case::new().over(vec![]).take(3).collect().await;
    assert_eq!(beats, [":\n\n", ":\n\n", ":\n\n"]);
    assert_eq!(begin.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn the_stop_of_the_server_ends_a_quiet_stream() {
    let case = Case::new();
    case.stop.cancel();
    assert_eq!(case.whole(vec![]).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_stream_first_sends_what_is_committed() {
    let case = Case::new();
    case.stop.cancel();
    let log = vec![Followed::Events(vec![delta(1), delta(2)]), Followed::Events(vec![delta(3)])];
    assert_eq!(ids(&case.whole(log).await), ["e.1", "e.2", "e.3"]);
}

#[tokio::test]
async fn a_filtered_stream_keeps_the_ids_of_the_log_and_says_when_it_is_caught_up() {
    let mut case = Case::new();
    case.wanted.types = vec![Type::TurnEnded];
    case.wanted.replay_until = Some(3);
    let log = vec![delta(1), turn_ended(2), delta(3), delta(4)];
    let more = vec![turn_ended(5)];
    let text = case
        .whole(vec![Followed::Events(log), Followed::Events(more), Followed::Over(TurnOutcome::Deleted)])
        .await;
    assert_eq!(ids(&text), ["e.2", "e.5"]);
    let caught_up = text.find("event: caught_up\ndata: {\"sequence\":3}").unwrap();
    assert!(text.find("id: e.2").unwrap() < caught_up && caught_up < text.find("id: e.5").unwrap(), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_beats_also_while_only_unwanted_events_come() {
    let mut case = Case::new();
    case.wanted.types = vec![Type::TurnEnded];
    case.wanted.heartbeat = Duration::ZERO;
    let log = (1..=9).map(|seq| Followed::Events(vec![delta(seq)])).collect();
    let beats: Vec<String> = case.over(log).take(2).collect().await;
    assert_eq!(beats, [":\n\n", ":\n\n"]);
}

#[tokio::test]
async fn each_event_shows_its_frame_when_asked() {
    let mut case = Case::new();
    case.wanted.raw = Raw::Include;
    case.frames.insert(1, StoredFrame::Kept(Bytes::from_static(b"{\"native\":1}")));
    let text = case
        .whole(vec![Followed::Events(vec![delta(1), delta(2)]), Followed::Over(TurnOutcome::Deleted)])
        .await;
    assert!(text.contains(r#"{"sequence":1,"data":{},"raw":{"native":1}}"#), "{text}");
    assert!(text.contains(r#"{"sequence":2,"data":{},"raw":null}"#), "{text}");
}

#[tokio::test]
async fn the_stream_of_a_turn_ends_after_its_last_event() {
    let log = vec![Followed::Events(vec![delta(4), delta(5)]), Followed::Over(TurnOutcome::Ended)];
    let text = Case::new().whole(log).await;
    assert_eq!(ids(&text), ["e.4", "e.5"]);
    assert!(!text.contains("deleted"), "{text}");
}
