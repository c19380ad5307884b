//! The agents that the daemon can drive.

use axum::Json;
use axum::extract::State;
use omniglot_schema::{AgentCheck, AgentListResponse, AgentModelsResponse, AgentModesResponse};

use crate::app::{App, complete};
use crate::problem::Problem;
use crate::v1::extract::{NoQuery, PathOf};
use crate::v1::routes::Refusals;

/// List Agents
///
/// Returns all available coding agents and their installation status.
#[utoipa::path(get, path = "/v1/agents", tag = "agents",
    responses((status = 200, description = "List of available agents", body = AgentListResponse), Refusals))]
pub(crate) async fn list_agents(State(app): State<App>, _: NoQuery) -> Json<AgentListResponse> {
    Json(AgentListResponse { agents: app.hub.agents() })
}

/// List Agent Models
///
/// Returns the available LLM models for an agent.
#[utoipa::path(get, path = "/v1/agents/{agent}/models", tag = "agents",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "Available models", body = AgentModelsResponse), Refusals))]
pub(crate) async fn get_agent_models(
    State(app): State<App>,
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
    State(app): State<App>,
    PathOf(agent): PathOf<String>,
    _: NoQuery,
) -> Result<Json<AgentModesResponse>, Problem> {
    Ok(Json(app.hub.modes(&agent).await?))
}

/// Check Agent
///
/// Starts the agent, shakes hands, opens a session that nobody uses and ends it; tells what was found out.
/// An agent that does not work is no failure of this request.
#[utoipa::path(post, path = "/v1/agents/{agent}/check", tag = "agents",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "What was found out", body = AgentCheck), Refusals))]
pub(crate) async fn check_agent(
    State(app): State<App>,
    PathOf(agent): PathOf<String>,
    _: NoQuery,
) -> Result<Json<AgentCheck>, Problem> {
    complete(async move { app.hub.check_agent(&agent).await }).await.map(Json)
}
