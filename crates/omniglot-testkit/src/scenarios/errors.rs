//! Every class of failure of a model, each followed by a prompt that works.

use omniglot_schema::{ErrorCode, StopReason};

use super::Dialect;
use crate::models::{Failure, Reply, Stop};

/// A throttled request is a rate limit.
pub async fn errors_rate_limit(agent: &Dialect) {
    fails(agent, Failure::RateLimit, ErrorCode::RateLimit).await;
}

/// A key that is refused is a matter of auth.
pub async fn errors_credentials(agent: &Dialect) {
    fails(agent, Failure::Unauthorized, ErrorCode::ProviderAuth).await;
}

pub async fn a_refused_request_is_an_api_error(agent: &Dialect) {
    fails(agent, Failure::BadRequest, ErrorCode::ApiError).await;
}

/// A prompt that is too long is an overflow.
pub async fn errors_context_overflow(agent: &Dialect) {
    fails(agent, Failure::Overflow, ErrorCode::ContextOverflow).await;
}

pub async fn a_failing_server_is_an_api_error(agent: &Dialect) {
    fails(agent, Failure::Server, ErrorCode::ApiError).await;
}

/// An overloaded server is an api error.
pub async fn errors_provider(agent: &Dialect) {
    fails(agent, Failure::Overloaded, ErrorCode::ApiError).await;
}

/// A broken stream ends the turn with an error.
pub async fn errors_broken_stream(agent: &Dialect) {
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

pub async fn a_model_that_refuses_is_a_refusal(agent: &Dialect) {
    let fixture = agent.fixture([Reply::text("No.").stop(Stop::Refusal).forever()]).await;
    let turn = fixture.turn("Do evil.").await;
    assert_eq!(turn.stop_reason(), StopReason::Refusal, "{turn}");
    let next = fixture.answered("Do good.", Reply::text("Gladly.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Gladly.", StopReason::EndTurn), "{next}");
    fixture.session.history().await;
}
