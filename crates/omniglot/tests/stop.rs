//! A stop in mid-turn: every client receives the end of the turn before the connection closes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use futures_util::StreamExt as _;
use omniglot_client::{EventStream, SseItem, StreamFrom};
use omniglot_schema::{ErrorCode, EventData, ResolvedBy, UniversalEvent, UniversalEventType};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::session_driver::{SessionDriver, message};

/// Returns everything until the daemon closes the stream, which it does without breaking it off.
async fn rest(mut stream: EventStream) -> Vec<UniversalEvent> {
    let mut events = vec![];
    while let Some(item) = stream.next().await {
        if let SseItem::Event { event, .. } = item.expect("the stream ends, it does not break") {
            events.push(*event);
        }
    }
    events
}

#[track_caller]
fn ends_the_turn(events: &[UniversalEvent]) {
    let resolved = events.iter().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => data.metadata.as_ref()?.resolved_by,
        _ => None,
    });
    assert_eq!(resolved, Some(ResolvedBy::Restart), "{events:?}");
    let error = events.iter().find_map(|event| match &event.data {
        EventData::Error(error) => error.code,
        _ => None,
    });
    assert_eq!(error, Some(ErrorCode::DaemonRestarted), "{events:?}");
    let ends = events.iter().filter(|event| event.kind() == UniversalEventType::TurnEnded).count();
    assert_eq!(ends, 1, "{events:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_in_mid_turn_is_told_to_everybody_who_watches() {
    let mut daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let watching = tokio::spawn(rest(session.watch(StreamFrom::Start).await));
    let posted = daemon.client.post_stream(&session.id, &message("[[text:5]] [[permission]]"), None).await;
    let turn = tokio::spawn(rest(posted.unwrap().1));
    session.wait_for(0, |event| event.kind() == UniversalEventType::PermissionRequested).await;
    let stopped = tokio::task::spawn_blocking(move || {
        daemon.stop();
        daemon
    });
    let (watched, turn) = (watching.await.unwrap(), turn.await.unwrap());
    ends_the_turn(&watched);
    ends_the_turn(&turn);
    assert_eq!(turn.last().unwrap().kind(), UniversalEventType::TurnEnded);

    let daemon = stopped.await.unwrap().restart();
    let history = SessionDriver::of(&daemon.client, "s").history().await;
    let json = |events: &[UniversalEvent]| -> Vec<String> {
        events.iter().map(|event| serde_json::to_string(event).unwrap()).collect()
    };
    assert_eq!(json(&watched), json(&history), "nothing that was committed was kept back");
}
