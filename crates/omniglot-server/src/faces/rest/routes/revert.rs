//! Restoring files that a turn changed.

use axum::Json;
use omniglot_schema::{ProblemDetails, RevertRequest, RevertResponse, SessionId};

use crate::app::{App, complete};
use crate::http::body::OptionalJson;
use crate::http::extract::{NoQuery, PathOf};
use crate::http::problem::{InSession as _, Problem};
use crate::http::refusals::Refusals;

/// Revert Turn
///
/// Gives the files that a turn changed the content that they had before it. The transcript gets a status item, and the
/// agent is not told.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/revert", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    request_body = Option<RevertRequest>,
    responses(
        (status = 200, description = "The files are restored", body = RevertResponse),
        (status = 409, description = "A turn runs, files were changed since (`paths`), or there are no snapshots",
            body = ProblemDetails, content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn revert_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
    OptionalJson(request): OptionalJson<RevertRequest>,
) -> Result<Json<RevertResponse>, Problem> {
    let session = id.clone();
    let request = request.unwrap_or_default();
    complete(async move { app.hub.revert(&session, request).await }).await.in_session(&id).map(Json)
}

/// Take Revert Back
///
/// Gives the files the content that they had before a turn was reverted.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/unrevert", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    request_body = Option<RevertRequest>,
    responses(
        (status = 200, description = "The files are restored", body = RevertResponse),
        (status = 409, description = "A turn runs, files were changed since (`paths`), or no turn is reverted",
            body = ProblemDetails, content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn unrevert_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
    OptionalJson(request): OptionalJson<RevertRequest>,
) -> Result<Json<RevertResponse>, Problem> {
    let session = id.clone();
    let request = request.unwrap_or_default();
    complete(async move { app.hub.unrevert(&session, request).await }).await.in_session(&id).map(Json)
}
