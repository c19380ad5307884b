//! Failures that OpenCode handles by itself: it retries, compacts and continues.

use omniglot_schema::{Activity, EventData, StopReason, UniversalEvent};
use omniglot_testkit::models::{Failure, Reply};
use omniglot_testkit::session_driver::{Turn, labels};

use crate::OPENCODE;

/// Returns the activities in the stream, in order.
fn activities(events: &[UniversalEvent]) -> Vec<Option<Activity>> {
    let told = events.iter().filter_map(|event| match &event.data {
        EventData::SessionUpdated(patch) => patch.activity,
        _ => None,
    });
    told.collect()
}

fn counted(turn: &Turn, label: &str) -> usize {
    labels(&turn.events).iter().filter(|told| **told == label).count()
}

#[tokio::test]
async fn an_attempt_that_is_repeated_is_told_and_then_forgotten() {
    let fixture = OPENCODE.fixture([Reply::fails(Failure::Server), Reply::text("Better.")]).await;
    let turn = fixture.turn("Try.").await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("Better.", StopReason::EndTurn), "{turn}");
    assert_eq!(counted(&turn, "opencode.retry"), 1, "{turn}");
    assert_eq!(activities(&turn.events), [Some(Activity::Retrying), None], "{turn}");
    assert!(turn.error().is_none(), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn every_attempt_of_a_throttled_turn_is_told() {
    let fixture = OPENCODE.fixture([Reply::fails(Failure::RateLimit).forever()]).await;
    let turn = fixture.turn("Try.").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    assert_eq!(counted(&turn, "opencode.retry"), fixture.model.conversation().len() - 1, "{turn}");
    assert_eq!(activities(&turn.events).last(), Some(&None), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_context_that_is_full_is_compacted_and_the_turn_goes_on() {
    let fixture = OPENCODE
        .fixture([
            Reply::text("Noted."),
            Reply::fails(Failure::Overflow),
            Reply::text("After the compaction."),
        ])
        .await;
    fixture.turn("Remember this.").await;
    let turn = fixture.turn("Go on.").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    assert!(turn.text().ends_with("After the compaction."), "{turn}");
    assert_eq!(counted(&turn, "opencode.compaction"), 2, "{turn}");
    assert_eq!(activities(&turn.events), [Some(Activity::Compacting), None], "{turn}");
    assert!(turn.error().is_none(), "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_stream_that_breaks_is_begun_again() {
    let fixture = OPENCODE.fixture([Reply::text("Half of an").cut(), Reply::text("A whole answer.")]).await;
    let turn = fixture.turn("Speak.").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    assert!(turn.text().ends_with("A whole answer."), "{turn}");
    assert_eq!(counted(&turn, "opencode.retry"), 1, "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_model_that_does_not_exist_fails_the_turn_once() {
    let fixture =
        OPENCODE.stage_with([], |request| request.model = Some("scripted/no-such-model".to_owned())).await;
    let turn = fixture.turn("Speak.").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(omniglot_schema::ErrorCode::ApiError), "{turn}");
    assert!(error.message.contains("no-such-model"), "{error:?}");
    fixture.session.history().await;
}
