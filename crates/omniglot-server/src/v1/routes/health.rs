//! The daemon itself: whether it lives, whether it can work, and what it can be asked.

use std::sync::LazyLock;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use omniglot_schema::HealthResponse;

use crate::app::App;
use crate::problem::Problem;
use crate::v1::routes::Refusals;

/// Health Check
///
/// Returns the server health status.
#[utoipa::path(get, path = "/v1/health", tag = "meta", security(()),
    responses((status = 200, description = "Server is healthy", body = HealthResponse)))]
pub(crate) async fn get_health() -> Json<HealthResponse> {
    Json(HealthResponse { status: "ok".into() })
}

/// Readiness
///
/// Whether sessions can be served: the log is open and writable, and recovery is done.
#[utoipa::path(get, path = "/readyz", tag = "meta", security(()),
    responses(
        (status = 200, description = "Sessions can be served", body = HealthResponse),
        (status = 503, description = "Not yet, with the reason", body = omniglot_schema::ProblemDetails,
            content_type = "application/problem+json"),
    ))]
pub(crate) async fn get_ready(State(app): State<App>) -> Result<Json<HealthResponse>, Problem> {
    app.hub.ready().map_err(Problem::unavailable)?;
    Ok(Json(HealthResponse { status: "ok".into() }))
}

/// API Description
///
/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "meta",
    responses((status = 200, description = "OpenAPI 3.1"), Refusals))]
pub(crate) async fn get_openapi() -> Response {
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| crate::openapi().to_json().map(Bytes::from).unwrap_or_default());
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}
