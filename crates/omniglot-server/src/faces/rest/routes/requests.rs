//! The permissions and questions of agents, and the answers of people.

use axum::Json;
use http::StatusCode;
use omniglot_runtime::RuntimeError;
use omniglot_schema::{
    OpenRequestsResponse, PermissionReplyRequest, ProblemDetails, QuestionReplyRequest, SessionId,
};

use crate::app::{App, complete};
use crate::faces::rest::wire::query::OpenRequestsQuery;
use crate::http::body::JsonBody;
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::problem::{InSession as _, Problem};
use crate::http::refusals::Refusals;

/// List Open Requests
///
/// Returns the permissions and questions of all sessions that wait for a person, whole, oldest session first.
#[utoipa::path(get, path = "/v1/requests", tag = "sessions", params(OpenRequestsQuery),
    responses((status = 200, description = "The open requests", body = OpenRequestsResponse), Refusals))]
pub(crate) async fn list_requests(
    app: App,
    QueryOf(query): QueryOf<OpenRequestsQuery>,
) -> Result<Json<OpenRequestsResponse>, Problem> {
    let page = app.hub.open_requests(query.after.as_ref(), query.limit()).await;
    let page = page.map_err(|error| match (error, &query.after) {
        (RuntimeError::SessionNotFound(_), Some(after)) => {
            Problem::invalid(format!("query: after: no session {after}"))
                .hint("it may have been deleted; list again from the beginning")
        }
        (error, _) => error.into(),
    })?;
    Ok(Json(page))
}

/// Reply to Permission
///
/// Approves or denies a permission request from the agent. Answered once the resolution is committed.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/permissions/{permission_id}/reply", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        ("permission_id" = String, Path, description = "Permission id"),
    ),
    request_body = PermissionReplyRequest,
    responses(
        (status = 204, description = "Permission reply accepted"),
        (status = 409, description = "Resolved before, or the agent does not take the reply", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn reply_permission(
    app: App,
    PathOf((id, permission)): PathOf<(SessionId, String)>,
    _: NoQuery,
    body: JsonBody<PermissionReplyRequest>,
) -> Result<StatusCode, Problem> {
    let (session, request) = (id.clone(), body.value);
    complete(
        async move { app.hub.reply_permission(&session, &permission, request.reply, request.message).await },
    )
    .await
    .in_session(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Reply to Question
///
/// Replies to a human-in-the-loop question from the agent. Answered once the resolution is committed.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/questions/{question_id}/reply", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        ("question_id" = String, Path, description = "Question id"),
    ),
    request_body = QuestionReplyRequest,
    responses(
        (status = 204, description = "Question answered"),
        (status = 409, description = "Resolved before, or the agent does not take the reply", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn reply_question(
    app: App,
    PathOf((id, question)): PathOf<(SessionId, String)>,
    _: NoQuery,
    body: JsonBody<QuestionReplyRequest>,
) -> Result<StatusCode, Problem> {
    answer(app, id, question, Some(body.value.answers)).await
}

/// Reject Question
///
/// Rejects a human-in-the-loop question from the agent.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/questions/{question_id}/reject", tag = "sessions",
    params(
        ("session_id" = String, Path, description = "Session id"),
        ("question_id" = String, Path, description = "Question id"),
    ),
    responses(
        (status = 204, description = "Question rejected"),
        (status = 409, description = "Resolved before, or the agent does not take the reply", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn reject_question(
    app: App,
    PathOf((id, question)): PathOf<(SessionId, String)>,
    _: NoQuery,
) -> Result<StatusCode, Problem> {
    answer(app, id, question, None).await
}

async fn answer(
    app: App,
    id: SessionId,
    question: String,
    answers: Option<Vec<Vec<String>>>,
) -> Result<StatusCode, Problem> {
    let session = id.clone();
    complete(async move { app.hub.reply_question(&session, &question, answers).await })
        .await
        .in_session(&id)?;
    Ok(StatusCode::NO_CONTENT)
}
