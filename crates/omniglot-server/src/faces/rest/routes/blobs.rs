//! Blobs of a session: images, other bytes and long lists that events and state name by their path.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use omniglot_schema::SessionId;

use crate::app::App;
use crate::http::extract::{NoQuery, PathOf};
use crate::http::problem::{InSession as _, Problem};
use crate::http::refusals::Refusals;

/// Get Blob
///
/// Returns an image, a sound, other bytes or a long list of the session's state, as its events name it.
/// A blob never changes.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/blobs/{name}", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        ("name" = String, Path, description = "Name of the blob: the hash of its content, and an extension"),
    ),
    responses(
        (status = 200, description = "The blob, with its own content type",
            content((inline(Bytes) = "*/*"), (serde_json::Value = "application/json")),
            headers(("ETag" = String, description = "Names the content"))),
        (status = 304, description = "The client has it already"),
        Refusals,
    ))]
pub(crate) async fn get_blob(
    app: App,
    PathOf((id, name)): PathOf<(SessionId, String)>,
    _: NoQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let blob = app.hub.blob(&id, &name).await.in_session(&id)?;
    let etag = format!("\"{}\"", blob.name);
    let mut response = if has_it(&headers, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Body::from(blob.bytes).into_response();
        let mime = HeaderValue::try_from(blob.mime);
        let unknown = HeaderValue::from_static("application/octet-stream");
        response.headers_mut().insert(CONTENT_TYPE, mime.unwrap_or(unknown));
        response
    };
    let headers = response.headers_mut();
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(ETAG, etag);
    }
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn has_it(headers: &HeaderMap, etag: &str) -> bool {
    let tags = headers.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    tags.flat_map(|tags| tags.split(',')).any(|tag| matches!(tag.trim(), "*") || tag.trim() == etag)
}

/// The bytes of a picture, a sound or a file.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only its description is used")]
struct Bytes(Vec<u8>);

/// An agent chose these bytes: a browser must neither guess their type nor run anything in them.
const FIXED: [(http::HeaderName, &str); 3] = [
    (CACHE_CONTROL, "private, max-age=31536000, immutable"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
];
