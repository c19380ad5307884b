//! Reading a session's log: page by page, or as it grows.

use std::collections::HashMap;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use omniglot_runtime::RuntimeError;
use omniglot_schema::{EventsResponse, ProblemDetails, Scope, SessionId};
use omniglot_store::{Page, SessionRecord, StoredEvent, StoredFrame};

use crate::app::App;
use crate::faces::rest::state::feed::HubFeed;
use crate::faces::rest::state::sse::{EventStream, Raw, Wanted};
use crate::faces::rest::wire::cursor::Cursor;
use crate::faces::rest::wire::query::{EventsQuery, SseQuery};
use crate::http::extract::{PathOf, QueryOf};
use crate::http::problem::{InSession as _, Problem};
use crate::http::raw;
use crate::http::refusals::Refusals;

/// A page ends once it holds this many bytes: raw frames add to the bytes that the hub counted.
const PAGE: usize = 8 << 20;

/// The number of events whose frames are fetched at a time.
const RAW_GROUP: usize = 64;

/// Get Events
///
/// Returns session events with optional offset-based pagination.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/events", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id"), EventsQuery),
    responses(
        (status = 200, description = "Session events", body = EventsResponse, headers(
            ("Omniglot-Epoch" = String, description = "Changes when the log is another one"),
        )),
        (status = 410, description = "The offset is beyond the end", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn get_events(
    app: App,
    PathOf(id): PathOf<SessionId>,
    QueryOf(query): QueryOf<EventsQuery>,
) -> Result<Response, Problem> {
    require_for_raw(&app, query.include_raw)?;
    let record = app.hub.record(&id).await.in_session(&id)?;
    let after = Cursor::at(query.offset.unwrap_or(0)).within(&record).in_session(&id)?;
    let raw = Raw::from(query.include_raw);
    let page = app.hub.events(&record, after, query.limit(), query.types).await.in_session(&id)?;
    let body = render(&app, &record, &page, raw).await.in_session(&id)?;
    Ok(with_epoch(([(CONTENT_TYPE, "application/json")], body).into_response(), &record))
}

/// Subscribe to Events (SSE)
///
/// Opens an SSE stream for real-time session events: first all events after the cursor, then one `event:
/// caught_up`, then events as they are committed; only those of `types`. It stays open after `session.ended`;
/// a deleted session's stream ends with `event: deleted`.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/events/sse", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        SseQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last event seen; EPOCH.SEQUENCE"),
    ),
    responses(
        (status = 200, description = "SSE event stream", content_type = "text/event-stream", body = String),
        (status = 410, description = "The cursor is of another log, or beyond the end", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn get_events_sse(
    app: App,
    PathOf(id): PathOf<SessionId>,
    QueryOf(query): QueryOf<SseQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    require_for_raw(&app, query.include_raw)?;
    let cursor = Cursor::of(&headers, query.offset).in_session(&id)?;
    let record = app.hub.record(&id).await.in_session(&id)?;
    let after = cursor.within(&record).in_session(&id)?;
    let wanted = Wanted {
        epoch: record.epoch.clone(),
        after,
        replay_until: Some(record.last_seq),
        types: query.types,
        raw: query.include_raw.into(),
        heartbeat: app.limits.heartbeat,
    };
    let feed = HubFeed::of_log(app.hub, record.clone(), after);
    Ok(with_epoch(EventStream::new(feed, wanted, app.stop).into_response(), &record))
}

/// Native frames hold what the stream leaves out, such as an agent's system prompt.
pub(super) fn require_for_raw(app: &App, include_raw: bool) -> Result<(), Problem> {
    if include_raw { app.need(Scope::Admin, "`include_raw`") } else { Ok(()) }
}

/// Writes the page as JSON, by copying stored bytes.
async fn render(app: &App, record: &SessionRecord, page: &Page, raw: Raw) -> Result<Bytes, RuntimeError> {
    let size: usize = page.events.iter().map(|event| event.json.len() + 1).sum();
    let mut body = BytesMut::with_capacity(size + 32);
    body.put_slice(br#"{"events":["#);
    let mut written = 0;
    for group in page.events.chunks(RAW_GROUP) {
        let frames = match raw {
            Raw::Omit => HashMap::new(),
            Raw::Include => {
                app.hub.frames(record, &raw::frame_numbers(group.iter().map(|event| &**event))).await?
            }
        };
        let fits = put_events(&mut body, group, &frames);
        written += fits;
        if fits < group.len() {
            break;
        }
    }
    let has_more = page.has_more || written < page.events.len();
    body.put_slice(if has_more { br#"],"hasMore":true}"# } else { br#"],"hasMore":false}"# });
    Ok(body.freeze())
}

/// Adds as many events as fit in the page, but at least one on an empty page; returns the number.
fn put_events(body: &mut BytesMut, events: &[Arc<StoredEvent>], frames: &HashMap<u64, StoredFrame>) -> usize {
    for (index, event) in events.iter().enumerate() {
        if body.len() > PAGE {
            return index;
        }
        if !body.ends_with(b"[") {
            body.put_u8(b',');
        }
        body.put_slice(&raw::with_raw(event, frames));
    }
    events.len()
}

fn with_epoch(mut response: Response, record: &SessionRecord) -> Response {
    if let Ok(epoch) = HeaderValue::from_str(&record.epoch) {
        response.headers_mut().insert("omniglot-epoch", epoch);
    }
    response
}
