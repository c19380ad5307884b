//! The output and input of a process, and the size of its terminal.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use omniglot_schema::{
    ProblemDetails, ProcessInputRequest, ProcessInputResponse, ProcessLogsResponse, ProcessTerminalSize,
};

use crate::app::App;
use crate::faces::rest::state::process_logs;
use crate::faces::rest::wire::process::{LogsQuery, decode, entry};
use crate::http::body::JsonBody;
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// Get Process Logs
///
/// Returns the output of a process as far as it is kept. With `follow=true` the answer is a stream of server-sent
/// events, `event: log`, whose `id` is the sequence of the entry in `data`; it ends when the process is deleted.
#[utoipa::path(get, path = "/v1/processes/{process_id}/logs", tag = "processes",
    params(
        ("process_id" = String, Path, description = "Process id"),
        LogsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The sequence of the last entry seen"),
    ),
    responses((status = 200, description = "The output", content(
        (ProcessLogsResponse = "application/json"),
        (String = "text/event-stream"),
    )), Refusals))]
pub(crate) async fn get_process_logs(
    app: App,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<LogsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let process = app.hub.process(&id)?;
    if query.follow {
        let log = process.read_log(query.wanted(last_event_id(&headers)?));
        return Ok(process_logs::response(log, app.limits.heartbeat, app.stop));
    }
    let wanted = query.wanted(None);
    let entries = process.read_log(wanted).read(usize::MAX).iter().map(entry).collect();
    Ok(Json(ProcessLogsResponse { process_id: id, stream: wanted.stream, entries }).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| Problem::invalid("Last-Event-ID must be the sequence of an entry"))
}

/// Send Process Input
///
/// Gives data to the stdin or the terminal of a process. It waits there until the process reads it.
#[utoipa::path(post, path = "/v1/processes/{process_id}/input", tag = "processes",
    params(("process_id" = String, Path, description = "Process id")),
    request_body = ProcessInputRequest,
    responses(
        (status = 200, description = "The input is accepted", body = ProcessInputResponse),
        (status = 409, description = "The process has exited, or reads no more", body = ProblemDetails,
            content_type = "application/problem+json"),
        (status = 413, description = "The input is longer than the limit", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn send_process_input(
    app: App,
    PathOf(id): PathOf<String>,
    _: NoQuery,
    body: JsonBody<ProcessInputRequest>,
) -> Result<Json<ProcessInputResponse>, Problem> {
    let process = app.hub.process(&id)?;
    let ProcessInputRequest { data, encoding } = body.value;
    let input = decode(data, encoding.as_deref().unwrap_or("base64")).map_err(Problem::invalid)?;
    let bytes_written = input.len() as u64;
    app.hub.write_to_process(&process, input)?;
    Ok(Json(ProcessInputResponse { bytes_written }))
}

/// Resize Process Terminal
///
/// Sets the size of a process's terminal and tells the programs in it.
#[utoipa::path(post, path = "/v1/processes/{process_id}/terminal/resize", tag = "processes",
    params(("process_id" = String, Path, description = "Process id")),
    request_body = ProcessTerminalSize,
    responses(
        (status = 200, description = "The size from now on", body = ProcessTerminalSize),
        (status = 409, description = "The process has no terminal, or has exited", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn resize_process_terminal(
    app: App,
    PathOf(id): PathOf<String>,
    _: NoQuery,
    body: JsonBody<ProcessTerminalSize>,
) -> Result<Json<ProcessTerminalSize>, Problem> {
    app.hub.process(&id)?.resize(body.value).map_err(omniglot_runtime::RuntimeError::from)?;
    Ok(Json(body.value))
}
