//! Every class of failure of a model, each followed by a prompt that works.

use omniglot_schema::{ErrorCode, StopReason};

use super::Dialect;
use crate::models::{Failure, Reply};

pub async fn a_throttled_request_is_a_rate_limit(agent: &Dialect) {
    fails(agent, Failure::RateLimit, ErrorCode::RateLimit).await;
}

pub async fn a_key_that_is_refused_is_a_matter_of_auth(agent: &Dialect) {
    fails(agent, Failure::Unauthorized, ErrorCode::ProviderAuth).await;
}

pub async fn a_refused_request_is_an_api_error(agent: &Dialect) {
    fails(agent, Failure::BadRequest, ErrorCode::ApiError).await;
}

pub async fn a_prompt_that_is_too_long_is_an_overflow(agent: &Dialect) {
    fails(agent, Failure::Overflow, ErrorCode::ContextOverflow).await;
}

pub async fn a_failing_server_is_an_api_error(agent: &Dialect) {
    fails(agent, Failure::Server, ErrorCode::ApiError).await;
}

pub async fn an_overloaded_server_is_an_api_error(agent: &Dialect) {
    fails(agent, Failure::Overloaded, ErrorCode::ApiError).await;
}

pub async fn a_broken_stream_ends_the_turn_with_an_error(agent: &Dialect) {
    erring(agent, Reply::text("Half of an").cut(), |_| true).await;
}

/// Some agents treat an empty answer as an answer, others as a failure; all of them continue.
pub async fn an_empty_answer_ends_the_turn(agent: &Dialect) {
    let fixture = agent.fixture([Reply::empty().forever()]).await;
    let turn = fixture.turn("Say nothing.").await;
    assert!(matches!(turn.stop_reason(), StopReason::EndTurn | StopReason::Error), "{turn}");
    let next = fixture.answered("And now?", Reply::text("Better.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Better.", StopReason::EndTurn), "{next}");
    fixture.session.history().await;
}

async fn fails(agent: &Dialect, failure: Failure, code: ErrorCode) {
    erring(agent, Reply::fails(failure), |found| found == Some(code)).await;
}

/// The agent may retry as often as it likes.
async fn erring(agent: &Dialect, reply: Reply, right: impl Fn(Option<ErrorCode>) -> bool) {
    let fixture = agent.fixture([reply.forever()]).await;
    let turn = fixture.turn("This will fail.").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    assert!(right(turn.error().and_then(|error| error.code)), "{turn}");
    let next = fixture.answered("And now?", Reply::text("Better.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Better.", StopReason::EndTurn), "{next}");
    fixture.session.history().await;
}
