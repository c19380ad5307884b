//! Sessions: create, list, show, change, fork, cancel, terminate, delete.

use axum::Json;
use http::StatusCode;
use omniglot_runtime::RuntimeError;
use omniglot_schema::{
    CancelRequest, CreateSessionRequest, CreateSessionResponse, CreatedSession, ForkRequest, ProblemDetails,
    QueueOnCancel, SessionDetail, SessionId, SessionListResponse, SessionPatch,
};
use omniglot_store::StoreError;

use crate::app::{App, complete};
use crate::faces::rest::wire::query::{DeleteQuery, Include, ListQuery};
use crate::http::body::{JsonBody, OptionalJson};
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::problem::{InSession as _, Problem};
use crate::http::refusals::Refusals;

/// List Sessions
///
/// Returns all sessions, also ended ones, newest first.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(ListQuery),
    responses((status = 200, description = "List of sessions", body = SessionListResponse), Refusals))]
pub(crate) async fn list_sessions(
    app: App,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Json<SessionListResponse>, Problem> {
    let after = query.after.clone();
    let listed = match query.include {
        Some(Include::State) => app.hub.list_with_state(query.into()).await,
        None => app.hub.list(query.into()).await,
    };
    let sessions = listed.map_err(|error| match (error, after) {
        (RuntimeError::Store(StoreError::NoSession), Some(after)) => {
            Problem::invalid(format!("query: after: no session {after}"))
                .hint("it may have been deleted; list again from the beginning")
        }
        (error, _) => error.into(),
    })?;
    Ok(Json(SessionListResponse { sessions }))
}

/// Create Session
///
/// Creates a new agent session with the given configuration.
#[utoipa::path(post, path = "/v1/sessions/{session_id}", tag = "sessions",
    params(("session_id" = String, Path, description = "Client session id")),
    request_body = CreateSessionRequest,
    responses(
        (status = 200, description = "Session created", body = CreateSessionResponse),
        (status = 409, description = "Session already exists", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn create_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
    body: JsonBody<CreateSessionRequest>,
) -> Result<Json<CreateSessionResponse>, Problem> {
    let session = id.clone();
    complete(async move { app.hub.create(session, body.value).await }).await.in_session(&id).map(Json)
}

/// Create Session with a New Id
///
/// Creates a session under an id that the daemon makes. A client that may have to repeat the call chooses the id
/// itself: `POST /v1/sessions/{session_id}` makes no second session.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions",
    request_body = CreateSessionRequest,
    responses((status = 200, description = "Session created", body = CreatedSession), Refusals))]
pub(crate) async fn create_new_session(
    app: App,
    _: NoQuery,
    body: JsonBody<CreateSessionRequest>,
) -> Result<Json<CreatedSession>, Problem> {
    complete(async move { app.hub.create_new(body.value).await }).await.map(Json)
}

/// Get Session
///
/// Returns one session with its state, open requests and counters.
#[utoipa::path(get, path = "/v1/sessions/{session_id}", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    responses((status = 200, description = "The session", body = SessionDetail), Refusals))]
pub(crate) async fn get_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
) -> Result<Json<SessionDetail>, Problem> {
    app.hub.detail(&id).await.in_session(&id).map(Json)
}

/// Change Session
///
/// Changes the title, the model, its effort or the modes: at once where the agent runs and is idle, else
/// before its next prompt. A value that the agent does not have is refused with the list of its values.
#[utoipa::path(patch, path = "/v1/sessions/{session_id}", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    request_body = SessionPatch,
    responses((status = 200, description = "The session as it is now", body = SessionDetail), Refusals))]
pub(crate) async fn patch_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
    body: JsonBody<SessionPatch>,
) -> Result<Json<SessionDetail>, Problem> {
    let session = id.clone();
    complete(async move { app.hub.configure(&session, body.value).await }).await.in_session(&id).map(Json)
}

/// Fork Session
///
/// Makes a new session whose agent has the memory of this one's, where the agent supports it. Its events begin
/// with `session.started`, which names this session, and copies of what was said here, up to `beforeTurn` if that is
/// given and the agent can go back.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/fork", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    request_body = ForkRequest,
    responses(
        (status = 200, description = "Session created", body = CreateSessionResponse),
        (status = 409, description = "Session already exists", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn fork_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
    body: JsonBody<ForkRequest>,
) -> Result<Json<CreateSessionResponse>, Problem> {
    let session = id.clone();
    let ForkRequest { session_id, before_turn } = body.value;
    complete(async move { app.hub.fork(&session, session_id, before_turn).await })
        .await
        .in_session(&id)
        .map(Json)
}

/// Delete Session
///
/// Terminates the session and deletes all its data. The id may be used again.
#[utoipa::path(delete, path = "/v1/sessions/{session_id}", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id"), DeleteQuery),
    responses(
        (status = 204, description = "Session deleted"),
        (status = 409, description = "Its worktree has work that is nowhere else, or another session works in it", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn delete_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    QueryOf(query): QueryOf<DeleteQuery>,
) -> Result<StatusCode, Problem> {
    let session = id.clone();
    let force = query.force.unwrap_or_default();
    complete(async move { app.hub.delete_with(&session, force).await }).await.in_session(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancel Turn
///
/// Resolves open requests and interrupts the running turn; does nothing when there is none. Queued
/// messages stay unless `queue` is `drop`.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/cancel", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    request_body = Option<CancelRequest>,
    responses((status = 204, description = "The turn is being cancelled"), Refusals))]
pub(crate) async fn cancel_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
    OptionalJson(request): OptionalJson<CancelRequest>,
) -> Result<StatusCode, Problem> {
    let queue = request.and_then(|request| request.queue).unwrap_or(QueueOnCancel::Keep);
    let session = id.clone();
    complete(async move { app.hub.cancel(&session, queue).await }).await.in_session(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Terminate Session
///
/// Terminates a running session and cleans up resources.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/terminate", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id")),
    responses((status = 204, description = "Session terminated"), Refusals))]
pub(crate) async fn terminate_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    _: NoQuery,
) -> Result<StatusCode, Problem> {
    let session = id.clone();
    complete(async move { app.hub.terminate(&session).await }).await.in_session(&id)?;
    Ok(StatusCode::NO_CONTENT)
}
