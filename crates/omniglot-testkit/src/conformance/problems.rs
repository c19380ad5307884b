//! Refusals: problems in JSON with a kind, a status and words.

use omniglot_client::{ClientError, EventsQuery, StreamFrom};
use omniglot_schema::ErrorType;

use super::{Log, Service};
use crate::session_driver::session_id;

pub async fn a_refusal_is_a_problem_that_names_its_kind(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    let (client, none, message) = (&log.client, session_id("none"), service.message(1));
    let nowhere = (404, ErrorType::SessionNotFound);
    assert_problem(client.detail(&none).await, nowhere);
    assert_problem(client.events(&none, &EventsQuery::default()).await, nowhere);
    assert_problem(client.sse(&none, &StreamFrom::Start, false).await, nowhere);
    assert_problem(client.post(&none, &message, None).await, nowhere);
    assert_problem(client.post_stream(&none, &message, Some("k1")).await, nowhere);
    assert_problem(client.delete(&none).await, nowhere);
    let taken = (409, ErrorType::SessionAlreadyExists);
    assert_problem(client.create(&log.id, &service.request()).await, taken);
    let invalid = (400, ErrorType::InvalidRequest);
    let query = EventsQuery { limit: Some(0), ..EventsQuery::default() };
    assert_problem(client.events(&log.id, &query).await, invalid);
    let stranger = service.client_with("no-token-of-this-service");
    let unknown = (401, ErrorType::TokenInvalid);
    assert_problem(stranger.detail(&log.id).await, unknown);
    assert_problem(stranger.sse(&log.id, &StreamFrom::Start, false).await, unknown);
    assert_problem(stranger.post(&log.id, &message, None).await, unknown);
}

#[track_caller]
fn assert_problem<T>(answer: Result<T, ClientError>, (status, kind): (u16, ErrorType)) {
    let error = answer.err().expect("a refusal");
    let problem = error.problem().expect("a problem in JSON");
    assert_eq!(problem.status, status, "{problem:?}");
    assert_eq!(problem.r#type, format!("urn:sandbox-agent:error:{}", kind.as_str()), "{problem:?}");
    assert!(!problem.title.is_empty() && problem.detail.is_some(), "{problem:?}");
}
