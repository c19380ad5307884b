//! Messages to a session: post one, post one and stream its turn, remove one from the queue.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use omniglot_runtime::Posted;
use omniglot_schema::{Delivered, MessageId, MessageRequest, ProblemDetails, SessionId};

use crate::app::{App, complete};
use crate::faces::rest::routes::events::require_for_raw;
use crate::faces::rest::state::feed::HubFeed;
use crate::faces::rest::state::sse::{EventStream, Wanted};
use crate::faces::rest::wire::query::TurnQuery;
use crate::http::body::JsonBody;
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::idempotency::idempotency_key;
use crate::http::problem::{InSession as _, Problem};
use crate::http::refusals::Refusals;

/// Send Message
///
/// Sends a message to a session and returns once it is committed.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/messages", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "A repeat with the same key and body gets the first answer; kept 24 hours"),
    ),
    request_body = MessageRequest,
    responses(
        (status = 204, description = "Message accepted", headers(
            ("Omniglot-Message-Id" = String, description = "Names the message"),
            ("Omniglot-Delivery" = Delivered, description = "What became of it"),
        )),
        (status = 409, description = "A turn runs and `delivery` is `reject`, or the key was used before",
            body = ProblemDetails, content_type = "application/problem+json"),
        (status = 429, description = "The queue is full", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn post_message(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
    headers: HeaderMap,
    body: JsonBody<MessageRequest>,
) -> Result<Response, Problem> {
    let posted = post(&app, &id, &headers, body).await?;
    Ok(with_receipt(StatusCode::NO_CONTENT.into_response(), &posted))
}

/// Send Message (Streaming)
///
/// Sends a message and returns an SSE event stream of the agent's response: from the `turn.started` of the
/// turn that answers it to that turn's `turn.ended`. Closing the connection does not cancel the turn.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/messages/stream", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        TurnQuery,
        ("Idempotency-Key" = Option<String>, Header,
            description = "A repeat with the same key and body gets the same turn; kept 24 hours"),
    ),
    request_body = MessageRequest,
    responses((status = 200, description = "SSE event stream", content_type = "text/event-stream", body = String),
        Refusals))]
pub(crate) async fn post_message_stream(
    app: App,
    PathOf(id): PathOf<SessionId>,
    QueryOf(query): QueryOf<TurnQuery>,
    headers: HeaderMap,
    body: JsonBody<MessageRequest>,
) -> Result<Response, Problem> {
    require_for_raw(&app, query.include_raw)?;
    let posted = post(&app, &id, &headers, body).await?;
    let record = app.hub.record(&id).await.in_session(&id)?;
    let wanted = Wanted {
        epoch: record.epoch.clone(),
        after: posted.after,
        replay_until: None,
        types: vec![],
        raw: query.include_raw.into(),
        heartbeat: app.limits.heartbeat,
    };
    let feed = HubFeed::of_turn(app.hub, record, &posted);
    Ok(with_receipt(EventStream::new(feed, wanted, app.stop).into_response(), &posted))
}

/// Compact Context
///
/// Compacts the agent's context, where the agent supports it: in a turn like any other, which waits for the
/// earlier ones.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/compact", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    responses(
        (status = 204, description = "Accepted as a message", headers(
            ("Omniglot-Message-Id" = String, description = "Names the message"),
            ("Omniglot-Delivery" = Delivered, description = "What became of it"),
        )),
        Refusals,
    ))]
pub(crate) async fn compact_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let session = id.clone();
    let posted = complete(async move { app.hub.compact(&session).await }).await.in_session(&id)?;
    Ok(with_receipt(StatusCode::NO_CONTENT.into_response(), &posted))
}

/// Remove Queued Message
///
/// Removes a message that still waits for the end of the running turn.
#[utoipa::path(delete, path = "/v1/sessions/{session_id}/messages/{message_id}", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        ("message_id" = String, Path, description = "Message id"),
    ),
    responses((status = 204, description = "Message removed"), Refusals))]
pub(crate) async fn delete_message(
    app: App,
    PathOf((id, message)): PathOf<(SessionId, MessageId)>,
    _: NoQuery,
) -> Result<StatusCode, Problem> {
    let session = id.clone();
    complete(async move { app.hub.remove_queued(&session, &message).await }).await.in_session(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn post(
    app: &App,
    id: &SessionId,
    headers: &HeaderMap,
    body: JsonBody<MessageRequest>,
) -> Result<Posted, Problem> {
    let key = idempotency_key(headers, &body.bytes)?;
    let (hub, session) = (app.hub.clone(), id.clone());
    complete(async move { hub.post(&session, body.value, key).await }).await.in_session(id)
}

fn with_receipt(mut response: Response, posted: &Posted) -> Response {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(posted.message_id.as_str()) {
        headers.insert("omniglot-message-id", id);
    }
    headers.insert("omniglot-delivery", HeaderValue::from_static(posted.delivered.as_str()));
    response
}
