//! Hooks: how their calls go, dead letters, and a call that tries one; for an `admin`.

use axum::Json;
use omniglot_schema::{
    DeadLettersResponse, ErrorType, EventId, HookListResponse, HookRetryResponse, HookTestResponse,
};

use crate::app::App;
use crate::faces::rest::wire::query::{DeadLettersQuery, HookRetryQuery};
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// List Hooks
///
/// Returns the hooks of the configuration and how their calls go. Needs the scope `admin`.
#[utoipa::path(get, path = "/v1/hooks", tag = "hooks",
    responses((status = 200, description = "The hooks, without their secrets", body = HookListResponse), Refusals))]
pub(crate) async fn list_hooks(app: App, _: NoQuery) -> Json<HookListResponse> {
    Json(HookListResponse { hooks: app.hooks.list() })
}

/// List Dead Letters
///
/// Returns the calls of a hook that nobody has taken, those that were given up first. Needs the scope `admin`.
#[utoipa::path(get, path = "/v1/hooks/{hook}/dead", tag = "hooks",
    params(("hook" = String, Path, description = "Name of the hook"), DeadLettersQuery),
    responses((status = 200, description = "The dead letters", body = DeadLettersResponse), Refusals))]
pub(crate) async fn list_dead_letters(
    app: App,
    PathOf(name): PathOf<String>,
    QueryOf(query): QueryOf<DeadLettersQuery>,
) -> Result<Json<DeadLettersResponse>, Problem> {
    let (letters, has_more) = app.hooks.dead(&name, query.limit()).ok_or_else(|| unknown(&name))?;
    Ok(Json(DeadLettersResponse { letters, has_more }))
}

/// Retry Dead Letters
///
/// Sends dead letters of a hook again, all or one, and enables a hook whose receiver answered 410. Needs the scope
/// `admin`.
#[utoipa::path(post, path = "/v1/hooks/{hook}/retry", tag = "hooks",
    params(("hook" = String, Path, description = "Name of the hook"), HookRetryQuery),
    responses((status = 200, description = "How many are sent again", body = HookRetryResponse), Refusals))]
pub(crate) async fn retry_hook(
    app: App,
    PathOf(name): PathOf<String>,
    QueryOf(query): QueryOf<HookRetryQuery>,
) -> Result<Json<HookRetryResponse>, Problem> {
    let id = query.id.map(EventId);
    let retried = app.hooks.retry(&name, id.as_ref()).await.ok_or_else(|| unknown(&name))?;
    match (retried, id) {
        (0, Some(id)) => {
            Err(Problem::new(ErrorType::NotFound, format!("hook {name} has no dead letter {id}")))
        }
        (retried, _) => Ok(Json(HookRetryResponse { retried })),
    }
}

/// Test Hook
///
/// Calls the hook at once and tells what became of it. Needs the scope `admin`.
#[utoipa::path(post, path = "/v1/hooks/{hook}/test", tag = "hooks",
    params(("hook" = String, Path, description = "Name of the hook")),
    responses((status = 200, description = "The outcome of the call", body = HookTestResponse), Refusals))]
pub(crate) async fn test_hook(
    app: App,
    PathOf(name): PathOf<String>,
    _: NoQuery,
) -> Result<Json<HookTestResponse>, Problem> {
    app.hooks.test(&name).await.map(Json).ok_or_else(|| unknown(&name))
}

fn unknown(name: &str) -> Problem {
    Problem::new(ErrorType::NotFound, format!("no hook {name}")).hint(
        "`omniglot hooks list` names those of omniglot.toml; a new one counts after a restart of the daemon",
    )
}
