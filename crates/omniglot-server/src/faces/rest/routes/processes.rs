//! Processes: their limits, running a command to its end, starting, looking, stopping. Their output and input are
//! in `process_io`, their terminal is in `process_terminal`.

use std::time::Duration;

use axum::Json;
use http::StatusCode;
use omniglot_runtime::UserProcess;
use omniglot_schema::{
    ProblemDetails, ProcessConfig, ProcessCreateRequest, ProcessInfo, ProcessListResponse, ProcessRunRequest,
    ProcessRunResponse,
};

use crate::app::{App, complete};
use crate::faces::rest::wire::process::{ProcessListQuery, SignalQuery};
use crate::http::body::JsonBody;
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Get Process Limits
///
/// Returns the limits of processes. Needs the scope `admin` and `[processes] enabled = true`, as all of these routes.
#[utoipa::path(get, path = "/v1/processes/config", tag = "processes",
    responses((status = 200, description = "The limits", body = ProcessConfig), Refusals))]
pub(crate) async fn get_process_config(app: App, _: NoQuery) -> Result<Json<ProcessConfig>, Problem> {
    Ok(Json(app.hub.process_limits()?))
}

/// Set Process Limits
///
/// Replaces the limits of processes until the daemon stops. A process that runs keeps the size of its log.
#[utoipa::path(post, path = "/v1/processes/config", tag = "processes", request_body = ProcessConfig,
    responses((status = 200, description = "The limits from now on", body = ProcessConfig), Refusals))]
pub(crate) async fn set_process_config(
    app: App,
    _: NoQuery,
    body: JsonBody<ProcessConfig>,
) -> Result<Json<ProcessConfig>, Problem> {
    Ok(Json(app.hub.set_process_limits(body.value)?))
}

/// Run Process
///
/// Runs a command to its end and returns its output. It is killed with all its descendants when its time is over,
/// or when the client hangs up.
#[utoipa::path(post, path = "/v1/processes/run", tag = "processes", request_body = ProcessRunRequest,
    responses(
        (status = 200, description = "The command has ended", body = ProcessRunResponse),
        (status = 429, description = "Too many processes run", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn run_process(
    app: App,
    _: NoQuery,
    body: JsonBody<ProcessRunRequest>,
) -> Result<Json<ProcessRunResponse>, Problem> {
    Ok(Json(app.hub.run_process(&body.value).await?))
}

/// List Processes
///
/// Returns all processes, also those that have exited and were not deleted, oldest first.
#[utoipa::path(get, path = "/v1/processes", tag = "processes", params(ProcessListQuery),
    responses((status = 200, description = "The processes", body = ProcessListResponse), Refusals))]
pub(crate) async fn list_processes(
    app: App,
    QueryOf(query): QueryOf<ProcessListQuery>,
) -> Result<Json<ProcessListResponse>, Problem> {
    let mut processes = app.hub.list_processes()?;
    processes.retain(|process| query.owner.is_none_or(|owner| owner == process.owner));
    Ok(Json(ProcessListResponse { processes }))
}

/// Start Process
///
/// Starts a process that runs until it exits, is stopped, or the daemon stops. Its descendants end with it.
#[utoipa::path(post, path = "/v1/processes", tag = "processes", request_body = ProcessCreateRequest,
    responses(
        (status = 200, description = "The process runs", body = ProcessInfo),
        (status = 429, description = "Too many processes run", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn create_process(
    app: App,
    _: NoQuery,
    body: JsonBody<ProcessCreateRequest>,
) -> Result<Json<ProcessInfo>, Problem> {
    complete(async move { app.hub.start_process(body.value).await }).await.map(Json)
}

/// Get Process
///
/// Returns a process, running or exited.
#[utoipa::path(get, path = "/v1/processes/{process_id}", tag = "processes",
    params(("process_id" = String, Path, description = "Process id")),
    responses((status = 200, description = "The process", body = ProcessInfo), Refusals))]
pub(crate) async fn get_process(
    app: App,
    PathOf(id): PathOf<String>,
    _: NoQuery,
) -> Result<Json<ProcessInfo>, Problem> {
    Ok(Json(app.hub.process(&id)?.info()))
}

/// Delete Process
///
/// Forgets a process that has exited, and its output.
#[utoipa::path(delete, path = "/v1/processes/{process_id}", tag = "processes",
    params(("process_id" = String, Path, description = "Process id")),
    responses(
        (status = 204, description = "The process is forgotten"),
        (status = 409, description = "The process is still running", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn delete_process(
    app: App,
    PathOf(id): PathOf<String>,
    _: NoQuery,
) -> Result<StatusCode, Problem> {
    app.hub.delete_process(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop Process
///
/// Sends SIGTERM to the process; its descendants end with it. One that has exited stays as it is.
#[utoipa::path(post, path = "/v1/processes/{process_id}/stop", tag = "processes",
    params(("process_id" = String, Path, description = "Process id"), SignalQuery),
    responses((status = 200, description = "The process as it is now", body = ProcessInfo), Refusals))]
pub(crate) async fn stop_process(
    app: App,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<SignalQuery>,
) -> Result<Json<ProcessInfo>, Problem> {
    signal(&app, &id, &query, UserProcess::terminate).await
}

/// Kill Process
///
/// Sends SIGKILL to the process and all its descendants. One that has exited stays as it is.
#[utoipa::path(post, path = "/v1/processes/{process_id}/kill", tag = "processes",
    params(("process_id" = String, Path, description = "Process id"), SignalQuery),
    responses((status = 200, description = "The process as it is now", body = ProcessInfo), Refusals))]
pub(crate) async fn kill_process(
    app: App,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<SignalQuery>,
) -> Result<Json<ProcessInfo>, Problem> {
    signal(&app, &id, &query, UserProcess::kill).await
}

async fn signal(
    app: &App,
    id: &str,
    query: &SignalQuery,
    send: fn(&UserProcess),
) -> Result<Json<ProcessInfo>, Problem> {
    let process = app.hub.process(id)?;
    send(&process);
    if let Some(wait) = query.wait_ms {
        process.wait(Duration::from_millis(wait)).await;
    }
    Ok(Json(process.info()))
}
