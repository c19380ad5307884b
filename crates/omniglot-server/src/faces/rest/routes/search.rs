//! Search in all sessions.

use axum::Json;
use omniglot_schema::SearchResponse;

use crate::app::App;
use crate::faces::rest::wire::query::SearchQuery;
use crate::http::extract::QueryOf;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Search Sessions
///
/// Finds messages, commands and paths of all sessions that the token sees by their words.
#[utoipa::path(get, path = "/v1/search", tag = "sessions", params(SearchQuery),
    responses((status = 200, description = "The found items", body = SearchResponse), Refusals))]
pub(crate) async fn search(
    app: App,
    QueryOf(query): QueryOf<SearchQuery>,
) -> Result<Json<SearchResponse>, Problem> {
    Ok(Json(app.hub.search(query.q(), query.limit()).await?))
}
