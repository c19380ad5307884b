//! Ends of a turn that only this agent reports in this way: limits, refusals, retries.

use omniglot_schema::{ContentPart, ErrorCode, ItemRole, ItemStatus, StopReason, UniversalEventType};
use omniglot_testkit::models::{Failure, Reply, Stop};
use omniglot_testkit::session_driver::labels;

use super::CLAUDE;
use super::follow::{is, turn_after};

#[tokio::test]
async fn an_answer_that_hits_the_token_limit_is_continued() {
    let cut = Reply::text("Half of an ").stop(Stop::MaxTokens);
    let fixture = CLAUDE.fixture([cut, Reply::text("answer.")]).await;
    let turn = fixture.turn("Say much.").await;
    assert_eq!(
        (turn.text().as_str(), turn.stop_reason()),
        ("Half of an answer.", StopReason::EndTurn),
        "{turn}"
    );
    assert_eq!(turn.items().iter().filter(|item| item.role == Some(ItemRole::User)).count(), 1);
}

#[tokio::test]
async fn an_answer_that_hits_the_token_limit_again_and_again_says_so() {
    let fixture = CLAUDE.fixture([Reply::text("On and on. ").stop(Stop::MaxTokens).forever()]).await;
    let turn = fixture.turn("Say much.").await;
    assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::OutputLength), "{turn}");
    let next = fixture.answered("Stop.", Reply::text("Stopped.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Stopped.", StopReason::EndTurn), "{next}");
}

#[tokio::test]
async fn a_request_that_is_tried_again_says_so_and_the_turn_succeeds() {
    let fixture = CLAUDE.fixture([Reply::fails(Failure::Overloaded), Reply::text("At last.")]).await;
    let turn = fixture.turn("Try.").await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("At last.", StopReason::EndTurn), "{turn}");
    assert!(labels(&turn.events).contains(&"claude.retry"), "{turn}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    assert_eq!(state.activity, None);
}

#[tokio::test]
async fn a_key_without_the_right_is_a_matter_of_auth() {
    let fixture = CLAUDE.fixture([Reply::fails(Failure::Forbidden).forever()]).await;
    let turn = fixture.turn("Try.").await;
    assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::ProviderAuth), "{turn}");
}

#[tokio::test]
async fn a_turn_whose_stream_breaks_tells_what_it_used() {
    let (half, gate) = Reply::text("Half of an").hold();
    let fixture = CLAUDE.fixture([half.cut()]).await;
    fixture.model.push(Reply::fails(Failure::BadRequest).forever());
    fixture.session.post("Answer.").await;
    gate.reached().await;
    // What the CLI has not read of an answer it cannot count.
    fixture.session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    gate.open();
    let turn = turn_after(&fixture, 0).await;
    let used = turn.ended().usage.as_ref().and_then(|usage| usage.total_tokens);
    assert!(used.is_some_and(|used| used > 0), "{turn}");
}

#[tokio::test]
async fn trap_a_stream_that_breaks_leaves_a_half_answer_only_where_claude_keeps_it() {
    let fixture = CLAUDE.fixture([Reply::text("Half of an").cut(), Reply::text("A whole answer.")]).await;
    let turn = fixture.turn("Answer.").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    let said: Vec<_> = turn
        .items()
        .into_iter()
        .filter(|item| item.role == Some(ItemRole::Assistant) && item.status == ItemStatus::Completed)
        .flat_map(|item| item.content.clone())
        .collect();
    // Claude repeats the request, or asks to continue after the half: it depends on how far it had read.
    let kept = fixture.model.last().text().contains("Half of an");
    let half = kept.then_some("Half of an");
    let wanted: Vec<_> = half.into_iter().chain(["A whole answer."]).map(ContentPart::text).collect();
    assert_eq!(said, wanted, "{turn}");
}
