//! The response of every event stream: its headers, and a body that is built as fast as the client reads.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::Stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

pub(crate) fn response<E>(chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Response
where
    E: Into<axum::BoxError> + 'static,
{
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache, no-transform"),
        // Proxies of the nginx family would buffer events otherwise.
        (http::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(chunks)).into_response()
}
