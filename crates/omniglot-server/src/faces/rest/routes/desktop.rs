//! The desktop that clients of sandbox-agent may ask for: this daemon has none.

use axum::Json;
use omniglot_schema::{
    DesktopRecordingListResponse, DesktopState, DesktopStatusResponse, DesktopStreamStatusResponse, ErrorType,
};

use crate::http::extract::NoQuery;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// The routes that would do something with a desktop; not described, since nothing can be done with them.
pub(crate) const NOT_SERVED: &[&str] = &[
    "/v1/desktop/clipboard",
    "/v1/desktop/display/info",
    "/v1/desktop/keyboard/down",
    "/v1/desktop/keyboard/press",
    "/v1/desktop/keyboard/type",
    "/v1/desktop/keyboard/up",
    "/v1/desktop/launch",
    "/v1/desktop/mouse/click",
    "/v1/desktop/mouse/down",
    "/v1/desktop/mouse/drag",
    "/v1/desktop/mouse/move",
    "/v1/desktop/mouse/position",
    "/v1/desktop/mouse/scroll",
    "/v1/desktop/mouse/up",
    "/v1/desktop/open",
    "/v1/desktop/recording/start",
    "/v1/desktop/recording/stop",
    "/v1/desktop/recordings/{id}",
    "/v1/desktop/recordings/{id}/download",
    "/v1/desktop/screenshot",
    "/v1/desktop/screenshot/region",
    "/v1/desktop/start",
    "/v1/desktop/stop",
    "/v1/desktop/stream/signaling",
    "/v1/desktop/stream/start",
    "/v1/desktop/stream/stop",
    "/v1/desktop/windows",
    "/v1/desktop/windows/focused",
    "/v1/desktop/windows/{id}/focus",
    "/v1/desktop/windows/{id}/move",
    "/v1/desktop/windows/{id}/resize",
];

/// Get Desktop Status
///
/// Says that there is no desktop.
#[utoipa::path(get, path = "/v1/desktop/status", tag = "desktop",
    responses((status = 200, description = "Inactive", body = DesktopStatusResponse), Refusals))]
pub(crate) async fn get_desktop_status(_: NoQuery) -> Json<DesktopStatusResponse> {
    let state = DesktopState::Inactive;
    Json(DesktopStatusResponse { state, missing_dependencies: vec![], processes: vec![] })
}

/// List Desktop Recordings
///
/// Returns no recordings: there is no desktop.
#[utoipa::path(get, path = "/v1/desktop/recordings", tag = "desktop",
    responses((status = 200, description = "None", body = DesktopRecordingListResponse), Refusals))]
pub(crate) async fn list_desktop_recordings(_: NoQuery) -> Json<DesktopRecordingListResponse> {
    Json(DesktopRecordingListResponse { recordings: vec![] })
}

/// Get Desktop Stream Status
///
/// Says that nothing is streamed: there is no desktop.
#[utoipa::path(get, path = "/v1/desktop/stream/status", tag = "desktop",
    responses((status = 200, description = "Not active", body = DesktopStreamStatusResponse), Refusals))]
pub(crate) async fn get_desktop_stream_status(_: NoQuery) -> Json<DesktopStreamStatusResponse> {
    Json(DesktopStreamStatusResponse { active: false })
}

pub(crate) async fn no_desktop() -> Problem {
    let kind = ErrorType::DesktopDependenciesMissing;
    let none: Vec<String> = vec![];
    Problem::new(kind, "this daemon has no desktop")
        .with("code", kind.as_str())
        .with("missingDependencies", none)
}
