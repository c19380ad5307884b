//! The daemon itself: whether it is running, whether it can serve sessions, and its API description.

use std::sync::LazyLock;

use axum::Json;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use omniglot_runtime::Load;
use omniglot_schema::{DaemonStatus, HealthResponse};

use crate::app::App;
use crate::http::extract::NoQuery;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Health Check
///
/// Returns the server health status.
#[utoipa::path(get, path = "/v1/health", tag = "meta", security(()),
    responses((status = 200, description = "Server is healthy", body = HealthResponse)))]
pub(crate) async fn get_health() -> Json<HealthResponse> {
    Json(HealthResponse { status: "ok".into() })
}

/// Daemon Status
///
/// Returns the version, process id, start time and number of sessions of the daemon.
#[utoipa::path(get, path = "/v1/daemon", tag = "meta",
    responses((status = 200, description = "The daemon", body = DaemonStatus), Refusals))]
pub(crate) async fn get_daemon(app: App, _: NoQuery) -> Result<Json<DaemonStatus>, Problem> {
    app.need_no_limit("the daemon's status")?;
    let Load { sessions, live, busy } = app.hub.load();
    Ok(Json(DaemonStatus {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        started_at: app.started.as_millisecond(),
        sessions: sessions as u64,
        live: live as u64,
        busy: busy as u64,
    }))
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
pub(crate) async fn get_ready(app: App) -> Result<Json<HealthResponse>, Problem> {
    app.hub.ready().map_err(Problem::unavailable)?;
    Ok(Json(HealthResponse { status: "ok".into() }))
}

/// API Description
///
/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "meta",
    responses((status = 200, description = "OpenAPI 3.1"), Refusals))]
pub(crate) async fn get_openapi() -> Response {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(crate::openapi().to_string()));
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}
