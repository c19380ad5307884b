//! Installs agents. The runtime runs the installer.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use omniglot_schema::{AgentInstallRequest, AgentInstallResponse, ProblemDetails};

use crate::app::{App, complete};
use crate::http::body::JsonBody;
use crate::http::extract::{NoQuery, PathOf};
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Install Agent
///
/// Installs a version of a coding agent below the data directory, or finds that there is nothing to do. Goes on when
/// the client hangs up. Needs the scope `admin`.
#[utoipa::path(post, path = "/v1/agents/{agent}/install", tag = "agents",
    params(("agent" = String, Path, description = "Agent id")),
    request_body = AgentInstallRequest,
    responses(
        (status = 200, description = "Agent installed, for a client that accepts `application/json`",
            body = AgentInstallResponse),
        (status = 204, description = "Agent installed"),
        (status = 500, description = "Installation failed", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn install_agent(
    app: App,
    PathOf(agent): PathOf<String>,
    _: NoQuery,
    headers: HeaderMap,
    body: JsonBody<AgentInstallRequest>,
) -> Result<Response, Problem> {
    let installed = complete(async move { app.hub.install_agent(&agent, body.value).await }).await?;
    Ok(match accepts_json(&headers) {
        true => Json(installed).into_response(),
        false => StatusCode::NO_CONTENT.into_response(),
    })
}

/// The contract answers without content; a client that names the type gets the details.
fn accepts_json(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = values.flat_map(|value| value.split(','));
    types.any(|media| {
        let essence = media.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    })
}
