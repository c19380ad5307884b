//! The events of all sessions as one stream.

use axum::response::Response;
use http::HeaderMap;
use omniglot_runtime::CommitPosition;
use omniglot_schema::ProblemDetails;

use crate::app::App;
use crate::faces::rest::state::all_events::AllEventsStream;
use crate::faces::rest::wire::cursor::AllCursor;
use crate::faces::rest::wire::query::AllEventsQuery;
use crate::http::extract::QueryOf;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Subscribe to the Events of All Sessions (SSE)
///
/// Opens an SSE stream over all sessions that the token sees, in the order in which their events were committed:
/// first all events after the cursor, then one `event: caught_up`, then events as they are committed. Its `id`s
/// are cursors of this stream, not of a session; a frame may have an `id` alone. `event: deleted` names a session
/// that was deleted, `event: damaged` an event that cannot be read any more. Events that a fork has copied are left
/// out: they happened in its origin.
#[utoipa::path(get, path = "/v1/events/sse", tag = "sessions",
    params(
        AllEventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last frame seen"),
    ),
    responses(
        (status = 200, description = "SSE event stream", content_type = "text/event-stream", body = String),
        (status = 410, description = "The cursor is of another log, too old, or beyond the end",
            body = ProblemDetails, content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn get_all_events_sse(
    app: App,
    QueryOf(query): QueryOf<AllEventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let cursor = AllCursor::of(&headers, query.offset.as_deref())?;
    let head = app.hub.commit_head().await?;
    let after = match cursor {
        Some(cursor) => cursor.within(&head)?,
        None => CommitPosition { no: head.last, partly: None },
    };
    let feed = app.hub.all_events(after, query.filter());
    Ok(AllEventsStream::new(feed, head, after, app.limits.heartbeat, app.stop).into_response())
}
