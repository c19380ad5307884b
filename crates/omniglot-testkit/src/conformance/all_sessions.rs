//! The stream over all sessions: its order, its cursors, what it tells beside events.

use futures_util::StreamExt as _;
use omniglot_client::{FrameStream, SseFrame};
use omniglot_schema::{UniversalEvent, UniversalEventType};

use super::{Log, Service, json};

/// Reads the stream behind a cursor until it has caught up; the last frame says so.
async fn replay(service: &impl Service, after: &str) -> Vec<SseFrame> {
    let mut stream = service.client().all_events(Some(after), true).await.expect("the stream opens");
    until(&mut stream, |frame| frame.event == "caught_up").await
}

/// Reads up to and including the frame that is wanted.
async fn until(stream: &mut FrameStream, wanted: impl Fn(&SseFrame) -> bool) -> Vec<SseFrame> {
    let mut frames = vec![];
    loop {
        let frame = stream.next().await.expect("the stream stays open").expect("a frame");
        frames.push(frame.clone());
        if wanted(&frame) {
            return frames;
        }
    }
}

fn event(frame: &SseFrame) -> Option<UniversalEvent> {
    frame.event.is_empty().then(|| serde_json::from_str(&frame.data).expect("an event"))
}

fn events(frames: &[SseFrame]) -> Vec<&SseFrame> {
    frames.iter().filter(|frame| frame.event.is_empty()).collect()
}

fn is_end_of_turn(frame: &SseFrame) -> bool {
    event(frame).is_some_and(|event| event.kind() == UniversalEventType::TurnEnded)
}

async fn status(service: &impl Service, after: &str) -> Option<u16> {
    service.client().all_events(Some(after), false).await.err().and_then(|error| error.status())
}

pub async fn the_stream_over_all_sessions_tells_each_log_in_its_order(service: &mut impl Service) {
    let logs = [Log::with_turn(service, "one").await, Log::with_turn(service, "other").await];
    let frames = replay(service, "0").await;
    for log in logs {
        let told: Vec<_> =
            frames.iter().filter_map(event).filter(|event| event.session_id == log.id).collect();
        let whole = json(&log.events().await);
        assert_eq!(whole.get(..told.len()), Some(&*json(&told)), "{}", log.id);
        assert!(told.iter().any(|event| event.kind() == UniversalEventType::TurnEnded), "{}", log.id);
    }
    let mut few = service.client().all_events(Some("0"), false).await.expect("the stream opens");
    let few = until(&mut few, |frame| frame.event == "caught_up").await;
    let is_delta =
        |frame: &SseFrame| event(frame).is_some_and(|event| event.kind() == UniversalEventType::ItemDelta);
    assert!(
        frames.iter().any(is_delta) && !few.iter().any(is_delta),
        "deltas are told to those who want them"
    );
}

pub async fn the_stream_over_all_sessions_goes_on_after_any_of_its_frames(service: &mut impl Service) {
    Log::with_turn(service, "one").await;
    Log::with_turn(service, "other").await;
    let whole = replay(service, "0").await;
    let last =
        whole.last().and_then(|frame| frame.id.clone()).expect("a cursor of the word that all is told");
    let whole = events(&whole);
    for (seen, frame) in whole.iter().enumerate() {
        let cursor = frame.id.as_deref().expect("a cursor");
        let again = replay(service, cursor).await;
        let (rest, again) = (whole.get(seen + 1..).unwrap_or_default(), events(&again));
        assert_eq!(again.get(..rest.len()), Some(rest), "after {cursor}");
    }
    // What has come since is not what was told.
    assert!(replay(service, &last).await.iter().all(|frame| !whole.contains(&frame)));
}

pub async fn the_stream_over_all_sessions_begins_now_unless_it_has_a_cursor(service: &mut impl Service) {
    let log = Log::with_turn(service, "s").await;
    let before = log.events().await.len() as u64;
    let mut stream = service.client().all_events(None, true).await.expect("the stream opens");
    let mut told = until(&mut stream, |frame| frame.event == "caught_up").await;
    log.turn(service).await;
    told.extend(until(&mut stream, is_end_of_turn).await);
    let told: Vec<_> = told.iter().filter_map(event).collect();
    let first = told.first().expect("events").sequence;
    assert!(first > before, "{first} was there before");
    let from = usize::try_from(first).expect("a short log") - 1;
    assert_eq!(json(&log.events().await).get(from..from + told.len()), Some(&*json(&told)));
}

pub async fn the_stream_over_all_sessions_tells_of_a_deleted_session(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    let mut stream = service.client().all_events(None, false).await.expect("the stream opens");
    until(&mut stream, |frame| frame.event == "caught_up").await;
    log.client.delete(&log.id).await.expect("the session is deleted");
    let told = until(&mut stream, |frame| frame.event == "deleted").await;
    let deleted: serde_json::Value = serde_json::from_str(&told.last().expect("a frame").data).expect("JSON");
    assert_eq!(deleted.get("session_id").and_then(|id| id.as_str()), Some(log.id.as_str()));
    // Others go on.
    Log::with_turn(service, "other").await;
    until(&mut stream, is_end_of_turn).await;
}

pub async fn a_cursor_over_all_sessions_outlives_a_crash_and_nonsense_is_refused(service: &mut impl Service) {
    Log::with_turn(service, "s").await;
    let before = replay(service, "0").await;
    let before = events(&before);
    let (first, last) = (before.first().expect("events"), before.last().expect("events"));
    service.crash();
    let cursor = first.id.as_deref().expect("a cursor");
    let after = replay(service, cursor).await;
    let (rest, after) = (before.get(1..).unwrap_or_default(), events(&after));
    assert_eq!(after.get(..rest.len()), Some(rest), "told again as it was told");
    for nonsense in ["nonsense", ".", "x.y"] {
        assert_eq!(status(service, nonsense).await, Some(400), "{nonsense}");
    }
    let (epoch, _) = last.id.as_deref().and_then(|id| id.split_once('.')).expect("EPOCH.NUMBER");
    assert_eq!(status(service, &format!("{epoch}.999999999")).await, Some(410), "beyond the end");
    assert_eq!(status(service, "other.1").await, Some(410), "of another store");
}
