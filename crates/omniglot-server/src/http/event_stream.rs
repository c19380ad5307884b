//! The response of every event stream: its headers, and a body that is built as fast as the client reads.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use omniglot_runtime::RuntimeError;

/// A stream that is built as fast as its client reads.
pub(crate) trait ChunkSource: Send + 'static {
    /// Returns the next bytes; `None` at the end.
    fn next_chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, RuntimeError>> + Send;
}

pub(crate) fn chunks(source: impl ChunkSource) -> impl Stream<Item = Result<Bytes, RuntimeError>> {
    stream::try_unfold(source, |mut source| async move {
        match source.next_chunk().await {
            Ok(chunk) => Ok(chunk.map(|chunk| (chunk, source))),
            Err(error) => {
                // The response has begun: breaking it off makes the client resume from its cursor.
                tracing::error!(error = &error as &dyn std::error::Error, "an event stream breaks off");
                Err(error)
            }
        }
    })
}

pub(crate) fn response<E>(chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Response
where
    E: Into<axum::BoxError> + 'static,
{
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store, no-transform"),
        // Proxies of the nginx family would buffer events otherwise.
        (http::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(chunks)).into_response()
}
