//! Named tokens and the audit, for an `admin`.

use axum::Json;
use http::StatusCode;
use omniglot_schema::{AuditResponse, CreateTokenRequest, CreatedToken, ProblemDetails, TokenListResponse};
use omniglot_store::AuditQuery;

use crate::app::{App, complete};
use crate::faces::rest::wire::query::AuditListQuery;
use crate::http::body::JsonBody;
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// List Tokens
///
/// Returns all named tokens, also those that are revoked or expired, oldest first. Needs the scope `admin`.
#[utoipa::path(get, path = "/v1/tokens", tag = "access",
    responses((status = 200, description = "The tokens, without their secrets", body = TokenListResponse), Refusals))]
pub(crate) async fn list_tokens(app: App, _: NoQuery) -> Json<TokenListResponse> {
    Json(TokenListResponse { tokens: app.hub.tokens() })
}

/// Create Token
///
/// Makes a named token. Its secret is in this answer and nowhere else. Needs the scope `admin`.
#[utoipa::path(post, path = "/v1/tokens", tag = "access",
    request_body = CreateTokenRequest,
    responses(
        (status = 200, description = "The token with its secret", body = CreatedToken),
        (status = 409, description = "A valid token has this name", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn create_token(
    app: App,
    _: NoQuery,
    body: JsonBody<CreateTokenRequest>,
) -> Result<Json<CreatedToken>, Problem> {
    complete(async move { app.hub.create_token(body.value).await }).await.map(Json)
}

/// Revoke Token
///
/// Refuses the token from now on and ends its open streams within a second. Needs the scope `admin`.
#[utoipa::path(delete, path = "/v1/tokens/{token_id}", tag = "access",
    params(("token_id" = String, Path, description = "Token id")),
    responses((status = 204, description = "Token revoked, now or before"), Refusals))]
pub(crate) async fn revoke_token(
    app: App,
    PathOf(id): PathOf<String>,
    _: NoQuery,
) -> Result<StatusCode, Problem> {
    complete(async move { app.hub.revoke_token(&id).await }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Read Audit
///
/// Returns the calls that changed something or were to change it, oldest first. Needs the scope `admin`.
#[utoipa::path(get, path = "/v1/audit", tag = "access", params(AuditListQuery),
    responses((status = 200, description = "Entries of the audit", body = AuditResponse), Refusals))]
pub(crate) async fn get_audit(
    app: App,
    QueryOf(query): QueryOf<AuditListQuery>,
) -> Result<Json<AuditResponse>, Problem> {
    let limit = query.limit();
    let (after, since_ms) = (query.after.unwrap_or(0), query.since.unwrap_or(0));
    // One more tells whether there is more.
    let mut entries = app.hub.audit(AuditQuery { after, since_ms, limit: limit + 1 }).await?;
    let has_more = entries.len() > limit;
    entries.truncate(limit);
    Ok(Json(AuditResponse { entries, has_more }))
}
