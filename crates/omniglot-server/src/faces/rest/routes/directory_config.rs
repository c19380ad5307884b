//! The configuration of a directory: MCP servers and skills for the sessions that are created there. For an `admin`,
//! who sees it as it was written.

use axum::Json;
use http::StatusCode;
use omniglot_schema::{McpServerConfig, SkillsConfig};

use crate::app::{App, complete};
use crate::faces::rest::wire::query::{McpConfigQuery, SkillsConfigQuery};
use crate::http::body::JsonBody;
use crate::http::extract::QueryOf;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Get MCP Server Of Directory
///
/// Returns the MCP server that is configured for the directory by this name, with its secrets. Needs the scope
/// `admin`.
#[utoipa::path(get, path = "/v1/config/mcp", tag = "config", params(McpConfigQuery),
    responses((status = 200, description = "The MCP server", body = McpServerConfig), Refusals))]
pub(crate) async fn get_mcp_config(
    app: App,
    QueryOf(query): QueryOf<McpConfigQuery>,
) -> Result<Json<McpServerConfig>, Problem> {
    Ok(Json(app.hub.directory_config(&query.directory, &query.mcp_name).await?))
}

/// Set MCP Server Of Directory
///
/// Gives an MCP server to every session that is created in the directory from now on. A session's own server of the
/// same name counts more. Needs the scope `admin`.
#[utoipa::path(put, path = "/v1/config/mcp", tag = "config", params(McpConfigQuery),
    request_body = McpServerConfig,
    responses((status = 204, description = "The MCP server is configured"), Refusals))]
pub(crate) async fn put_mcp_config(
    app: App,
    QueryOf(query): QueryOf<McpConfigQuery>,
    body: JsonBody<McpServerConfig>,
) -> Result<StatusCode, Problem> {
    let McpConfigQuery { directory, mcp_name } = query;
    complete(async move { app.hub.set_directory_config(&directory, &mcp_name, &body.value).await }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Delete MCP Server Of Directory
///
/// Takes the MCP server away from sessions to come. Needs the scope `admin`.
#[utoipa::path(delete, path = "/v1/config/mcp", tag = "config", params(McpConfigQuery),
    responses((status = 204, description = "No such MCP server is configured, now or before"), Refusals))]
pub(crate) async fn delete_mcp_config(
    app: App,
    QueryOf(query): QueryOf<McpConfigQuery>,
) -> Result<StatusCode, Problem> {
    let McpConfigQuery { directory, mcp_name } = query;
    complete(async move { app.hub.delete_directory_config::<McpServerConfig>(&directory, &mcp_name).await })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get Skills Of Directory
///
/// Returns the sources of skills that are configured for the directory by this name. Needs the scope `admin`.
#[utoipa::path(get, path = "/v1/config/skills", tag = "config", params(SkillsConfigQuery),
    responses((status = 200, description = "The sources of skills", body = SkillsConfig), Refusals))]
pub(crate) async fn get_skills_config(
    app: App,
    QueryOf(query): QueryOf<SkillsConfigQuery>,
) -> Result<Json<SkillsConfig>, Problem> {
    Ok(Json(app.hub.directory_config(&query.directory, &query.skill_name).await?))
}

/// Set Skills Of Directory
///
/// Gives the skills of these sources to every session that is created in the directory from now on; they are fetched
/// then. A session's own skill of the same name counts more. Needs the scope `admin`.
#[utoipa::path(put, path = "/v1/config/skills", tag = "config", params(SkillsConfigQuery),
    request_body = SkillsConfig,
    responses((status = 204, description = "The skills are configured"), Refusals))]
pub(crate) async fn put_skills_config(
    app: App,
    QueryOf(query): QueryOf<SkillsConfigQuery>,
    body: JsonBody<SkillsConfig>,
) -> Result<StatusCode, Problem> {
    let SkillsConfigQuery { directory, skill_name } = query;
    complete(async move { app.hub.set_directory_config(&directory, &skill_name, &body.value).await }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Delete Skills Of Directory
///
/// Takes the skills away from sessions to come. Needs the scope `admin`.
#[utoipa::path(delete, path = "/v1/config/skills", tag = "config", params(SkillsConfigQuery),
    responses((status = 204, description = "No such skills are configured, now or before"), Refusals))]
pub(crate) async fn delete_skills_config(
    app: App,
    QueryOf(query): QueryOf<SkillsConfigQuery>,
) -> Result<StatusCode, Problem> {
    let SkillsConfigQuery { directory, skill_name } = query;
    complete(async move { app.hub.delete_directory_config::<SkillsConfig>(&directory, &skill_name).await })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
