//! The agents that the daemon can drive.

use agent_client_protocol_schema::v1::SessionConfigOption;
use axum::Json;
use futures_util::{StreamExt as _, stream};
use omniglot_runtime::RuntimeError;
use omniglot_schema::{
    AgentCheck, AgentInfo, AgentListResponse, AgentModelsResponse, AgentModesResponse, ErrorType,
    SessionState,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::{App, complete};
use crate::faces::rest::wire::query::AgentQuery;
use crate::http::config_options;
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// The number of agents that are asked concurrently.
const AT_ONCE: usize = 4;

/// An agent, with the settings of its sessions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentDetail {
    #[serde(flatten)]
    info: AgentInfo,
    /// The settings in the form of an ACP session's configuration options.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    config_options: Option<Vec<SessionConfigOption>>,
    /// The reason why the options are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct AgentDetails {
    agents: Vec<AgentDetail>,
}

/// List Agents
///
/// Returns all available coding agents and their installation status.
#[utoipa::path(get, path = "/v1/agents", tag = "agents", params(AgentQuery),
    responses((status = 200, description = "List of available agents", body = AgentListResponse), Refusals))]
pub(crate) async fn list_agents(app: App, QueryOf(query): QueryOf<AgentQuery>) -> Json<AgentDetails> {
    learn_versions(&app, &query).await;
    let details = app.hub.agents().into_iter().map(|info| detailed(&app, info, &query));
    Json(AgentDetails { agents: stream::iter(details).buffered(AT_ONCE).collect().await })
}

/// Get Agent
///
/// Returns one agent.
#[utoipa::path(get, path = "/v1/agents/{agent}", tag = "agents",
    params(("agent" = String, Path, description = "Agent id"), AgentQuery),
    responses((status = 200, description = "The agent", body = AgentDetail), Refusals))]
pub(crate) async fn get_agent(
    app: App,
    PathOf(agent): PathOf<String>,
    QueryOf(query): QueryOf<AgentQuery>,
) -> Result<Json<AgentDetail>, Problem> {
    app.hub.knows_agent(&agent)?;
    learn_versions(&app, &query).await;
    let info = app.hub.agents().into_iter().find(|info| info.id == agent);
    // Both calls use the same catalog.
    let info = info.ok_or_else(|| Problem::new(ErrorType::NotFound, format!("no agent {agent}")))?;
    Ok(Json(detailed(&app, info, &query).await))
}

/// A list is returned at once; the next one has the versions that were not known.
async fn learn_versions(app: &App, query: &AgentQuery) {
    match query.versions {
        true => app.hub.learn_versions().await,
        false => app.hub.begin_to_learn_versions(),
    }
}

/// An agent that does not answer is listed without its options.
async fn detailed(app: &App, info: AgentInfo, query: &AgentQuery) -> AgentDetail {
    let plain = AgentDetail { info, config_options: None, config_error: None };
    if !query.config {
        return plain;
    }
    match options(app, &plain.info.id).await {
        Ok(options) => AgentDetail { config_options: Some(options), ..plain },
        Err(error) => AgentDetail { config_error: Some(error.to_string()), ..plain },
    }
}

async fn options(app: &App, agent: &str) -> Result<Vec<SessionConfigOption>, RuntimeError> {
    let (models, modes) = (app.hub.models(agent).await?, app.hub.modes(agent).await?);
    Ok(config_options::options(&SessionState {
        model: models.default_model,
        models: Some(models.models.into()),
        modes: Some(modes.modes.into()),
        ..SessionState::default()
    }))
}

/// List Agent Models
///
/// Returns the available LLM models for an agent.
#[utoipa::path(get, path = "/v1/agents/{agent}/models", tag = "agents",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "Available models", body = AgentModelsResponse), Refusals))]
pub(crate) async fn get_agent_models(
    app: App,
    PathOf(agent): PathOf<String>,
    _: NoQuery,
) -> Result<Json<AgentModelsResponse>, Problem> {
    Ok(Json(app.hub.models(&agent).await?))
}

/// List Agent Modes
///
/// Returns the available interaction modes for an agent.
#[utoipa::path(get, path = "/v1/agents/{agent}/modes", tag = "agents",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "Available modes", body = AgentModesResponse), Refusals))]
pub(crate) async fn get_agent_modes(
    app: App,
    PathOf(agent): PathOf<String>,
    _: NoQuery,
) -> Result<Json<AgentModesResponse>, Problem> {
    Ok(Json(app.hub.modes(&agent).await?))
}

/// Check Agent
///
/// Starts the agent, does the handshake, opens a session that is not used further and ends it; returns the
/// findings. An agent that does not work is no failure of this request.
#[utoipa::path(post, path = "/v1/agents/{agent}/check", tag = "agents",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "What was found out", body = AgentCheck), Refusals))]
pub(crate) async fn check_agent(
    app: App,
    PathOf(agent): PathOf<String>,
    _: NoQuery,
) -> Result<Json<AgentCheck>, Problem> {
    complete(async move { app.hub.check_agent(&agent).await }).await.map(Json)
}
