//! The CORS headers that let a page of an allowed origin read our answers.
//!
//! `access` decides which origins are allowed; there is no `*`.

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderValue, Method, StatusCode};

pub(crate) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

pub(crate) fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key, if-range, last-event-id, range, x-opencode-directory",
        ),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Lets `origin` read the response; without an origin the response stays unchanged.
pub(crate) fn admit(mut response: Response, origin: Option<HeaderValue>) -> Response {
    if let Some(origin) = origin {
        let exposed =
            "content-range, etag, omniglot-message-id, omniglot-delivery, omniglot-epoch, retry-after";
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    response
}
