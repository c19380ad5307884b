//! Failures that OpenCode gets over by itself (it tries again, it compacts, it goes on), and what follows those
//! that end a turn.

use std::process::Command;

use omniglot_schema::{Activity, CreateSessionRequest, EventData, StopReason, UniversalEvent};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Failure, Reply, Request};
use omniglot_testkit::session_driver::{Turn, labels};
use tempfile::TempDir;

use crate::{OPENCODE, ended_so};

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

/// A context that is full is compacted and the turn goes on.
#[tokio::test]
async fn errors_context_overflow() {
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

/// A stream that breaks is begun again.
#[tokio::test]
async fn errors_broken_stream() {
    let fixture = OPENCODE.fixture([Reply::text("Half of an").cut(), Reply::text("A whole answer.")]).await;
    let turn = fixture.turn("Speak.").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    assert!(turn.text().ends_with("A whole answer."), "{turn}");
    assert_eq!(counted(&turn, "opencode.retry"), 1, "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_model_that_does_not_exist_fails_the_turn_once() {
    let forced = |request: &mut CreateSessionRequest| {
        (request.model, request.force) = (Some("scripted/no-such-model".to_owned()), true);
    };
    let fixture = OPENCODE.fixture_with([], forced).await;
    let turn = fixture.turn("Speak.").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(omniglot_schema::ErrorCode::ApiError), "{turn}");
    assert!(error.message.contains("no-such-model"), "{error:?}");
    fixture.session.history().await;
}

/// Failures that end a turn: two of them at once, the others after all attempts of OpenCode.
const FATAL: [Failure; 4] = [Failure::Unauthorized, Failure::BadRequest, Failure::Server, Failure::RateLimit];

/// How often each of them is followed by another message.
const ROUNDS: usize = 7;

fn failing(failure: Failure) -> String {
    format!("Fail with {failure:?}.")
}

/// A session whose model fails as the prompt says, and answers every other prompt. It works in a repository of
/// git, of which OpenCode takes a snapshot between the error and the end of its work: that takes a while.
async fn failing_fixture() -> (Fixture, TempDir) {
    let repository = TempDir::new().unwrap();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(&repository).status().unwrap();
    assert!(made.success(), "{made}");
    let fails = FATAL.map(|failure| {
        let prompt = failing(failure);
        Reply::fails(failure).when(move |request: &Request| request.last_says(&prompt)).forever()
    });
    let replies = fails.into_iter().chain([Reply::text("Better.").forever()]);
    let there = |request: &mut CreateSessionRequest| {
        request.directory = Some(repository.path().display().to_string());
    };
    (OPENCODE.fixture_with(replies, there).await, repository)
}

#[tokio::test]
async fn a_message_that_waited_behind_a_failing_one_is_answered() {
    let (fixture, _repository) = failing_fixture().await;
    let mut seen = 0;
    for failure in FATAL.repeat(ROUNDS) {
        fixture.session.post(&failing(failure)).await;
        fixture.session.post("And now?").await;
        let failed = fixture.session.wait_for(seen, ended_so(StopReason::Error)).await.sequence;
        seen = fixture.session.wait_for(failed, ended_so(StopReason::EndTurn)).await.sequence;
    }
    let turn = Turn { events: fixture.session.history().await };
    assert_eq!(turn.text(), "Better.".repeat(FATAL.len() * ROUNDS), "{turn}");
}

#[tokio::test]
async fn a_message_that_follows_a_failed_turn_at_once_is_answered() {
    let (fixture, _repository) = failing_fixture().await;
    for failure in FATAL.repeat(ROUNDS) {
        let turn = fixture.turn(&failing(failure)).await;
        assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
        let next = fixture.turn("And now?").await;
        assert_eq!((next.text().as_str(), next.stop_reason()), ("Better.", StopReason::EndTurn), "{next}");
    }
    fixture.session.history().await;
}
