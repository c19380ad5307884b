//! ACP over HTTP, in the form of the published SDK of sandbox-agent: one URL is one client. `streamable_http` has
//! the form of the protocol's own libraries, at one URL for all.
//!
//! A POST carries one message of the client and is held until its answer exists; the GET is the stream of
//! messages to it; DELETE ends the client and none of its sessions. Once a client is connected, every failure
//! is a JSON-RPC error under status 200: the SDK's process exits on any other.

mod headers;
mod methods;
mod streamable_http;

use std::time::Duration;

use agent_client_protocol_schema::v1::Error;
use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use omniglot_schema::{ErrorType, Scope};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{App, Limits, Unscoped};
use crate::faces::acp::Face;
use crate::faces::acp::state::connection::cursor::Cursor;
use crate::faces::acp::state::connection::registry::{ClientName, Listed};
use crate::faces::acp::state::connection::stream::{Carries, Outflow};
use crate::faces::acp::state::connection::{From, Reply, Shared};
use crate::faces::acp::wire::rpc::{self, Incoming, Unread};
use crate::http::body;
use crate::http::extract::{NoQuery, PathOf, QueryOf};
use crate::http::idempotency::idempotency_key;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;
use headers::{accepts, last_event_id, wanted_reply};
use methods::{Call, Taken};

/// The longest message. Images are inline, a third longer than their bytes, and the SDK's process exits on a
/// refusal; so this limit is higher than that of other bodies.
const LONGEST_MESSAGE: usize = 32 << 20;

/// A GET and the first POST of a client are often sent at the same time.
const FIRST_POST_TIMEOUT: Duration = Duration::from_secs(1);

/// The routes of this face with their description.
pub(crate) fn table() -> OpenApiRouter<Unscoped<Face>> {
    OpenApiRouter::new()
        .routes(routes!(
            streamable_http::get_acp_stream,
            streamable_http::post_acp_message,
            streamable_http::delete_acp_connection
        ))
        .routes(routes!(post_acp, get_acp, delete_acp))
}

/// The clients that use ACP over HTTP.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AcpServerList {
    /// The clients, by their ids.
    servers: Vec<AcpServer>,
}

/// A client that uses ACP over HTTP.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AcpServer {
    /// The id in the path of its requests.
    server_id: String,
    /// The agent that it uses.
    agent: String,
    /// Milliseconds since 1970.
    created_at_ms: i64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentQuery {
    /// The agent of this client's sessions; the configured one when absent.
    #[serde(default, deserialize_with = "crate::http::extract::text")]
    agent: Option<String>,
}

/// The unparsed body of a POST.
pub(crate) struct Message(Bytes);

impl FromRequest<Unscoped<Face>> for Message {
    type Rejection = Problem;

    async fn from_request(request: Request, face: &Unscoped<Face>) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let limits = face.limits();
        let limits = Limits { max_body: limits.max_body.max(LONGEST_MESSAGE), ..limits };
        let bytes = body::read(&head.headers, body, limits).await?;
        body::require_json(&head.headers)?;
        Ok(Self(bytes))
    }
}

/// Returns the clients that are connected, oldest first; only those of an agent, if one is named.
fn list(face: &Face, agent: Option<&str>) -> Json<AcpServerList> {
    let server = |Listed { id, agent, created }| AcpServer {
        server_id: id,
        agent: agent.unwrap_or_else(|| face.app.hub.default_agent().to_owned()),
        created_at_ms: created.as_millisecond(),
    };
    let is_wanted = |server: &AcpServer| agent.is_none_or(|agent| server.agent == agent);
    let caller = face.app.hub.caller();
    let shown = |name: &ClientName| caller.may(Scope::Admin) || name.token.as_deref() == caller.token_id();
    Json(AcpServerList {
        servers: face.connections.list(shown).into_iter().map(server).filter(is_wanted).collect(),
    })
}

/// Send ACP Message
///
/// Accepts one JSON-RPC message of a client. A request is answered with its response, for as long as that
/// takes; everything else with 202. The first message makes the connection.
#[utoipa::path(post, path = "/v1/acp/{server_id}", tag = "acp",
    params(
        ("server_id" = String, Path, description = "Names the client; of its own choosing"),
        AgentQuery,
        ("Prefer" = Option<String>, Header,
            description = "`respond-async`: 202 as soon as the message is taken, the answer only on the stream"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "A repeated prompt with the same key and body is the same prompt, kept 24 hours; a \
                session that is made or forked again so is the first one"),
        ("Last-Event-ID" = Option<String>, Header,
            description = "The id of the last event that was received: what came before it need not be kept"),
    ),
    request_body(content = Object, description = "A JSON-RPC 2.0 message of the Agent Client Protocol",
        example = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } })),
    responses(
        (status = 200, description = "The JSON-RPC response, also when it is an error", body = Object),
        (status = 202, description = "Taken"),
        Refusals,
    ))]
pub(crate) async fn post_acp(
    face: Face,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<AgentQuery>,
    headers: HeaderMap,
    Message(body): Message,
) -> Result<Response, Problem> {
    accepts(&headers, "application/json")?;
    let message = match Incoming::parse(&body) {
        Ok(message) => message,
        Err(unread) => return unreadable(unread),
    };
    let connection = match connect(&face, &id, query.agent, &message)? {
        Ok(connection) => connection,
        Err(refused) => return Ok(json(refused)),
    };
    deliver(face.app, connection, message, &headers, &body, wanted_reply(&headers)).await
}

/// Carries out one message of a client, and answers its POST.
async fn deliver(
    app: App,
    connection: Shared,
    message: Incoming,
    headers: &HeaderMap,
    body: &Bytes,
    reply: Reply,
) -> Result<Response, Problem> {
    if let Incoming::Request { params, .. } | Incoming::Notification { params, .. } = &message {
        methods::recall(&app, &connection, params).await;
    }
    if let Ok(Some(Cursor { beside, .. })) = last_event_id(headers) {
        connection.outbox.received(beside);
    }
    match message {
        Incoming::Notification { method, params } => {
            carry_out(async move { methods::notified(&app, &connection, &method, &params).await }).await
        }
        Incoming::Answer { id, result } => {
            let answered = carry_out(async move { methods::answered(&app, &connection, id, result).await });
            // An agent that does not read it must not hold up what the client says next, such as a cancel.
            timeout(ANSWER_TIMEOUT, answered)
                .await
                .unwrap_or_else(|_| Ok(StatusCode::ACCEPTED.into_response()))
        }
        Incoming::Request { id, method, params } => {
            let call = Call { id, method, params, key: idempotency_key(headers, body)? };
            serve_request(app, connection, call, reply).await
        }
    }
}

/// Waits for the answer, or until the client's next message is ordered after the request.
async fn serve_request(app: App, connection: Shared, call: Call, reply: Reply) -> Result<Response, Problem> {
    if reply == Reply::Stream && connection.outbox.owes_too_much() {
        return Err(unread_answers());
    }
    let broken_off = rpc::answer::<()>(&call.id, &Err(Error::internal_error()));
    let Taken { begun, answer } = methods::take(app, connection, call, reply);
    match reply {
        Reply::Stream => {
            // Nothing is ever sent: dropping the sender signals that the request has begun.
            drop(begun.await);
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Reply::Both => Ok(json(answer.await.unwrap_or(broken_off))),
    }
}

/// How long the client of an answer waits until the agent has it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Carries out a message without an answer, to its end, also when the client disconnects.
async fn carry_out(work: impl Future<Output = ()> + Send + 'static) -> Result<Response, Problem> {
    if let Err(error) = tokio::spawn(work).await {
        tracing::error!(%error, "a message of an ACP client broke off");
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Follow ACP Connection
///
/// Every message to the client, as server-sent events whose data is one JSON-RPC message each. Their ids are
/// positions in the sessions' logs: a client that reconnects with `Last-Event-ID` misses nothing, also after
/// a restart of the daemon.
#[utoipa::path(get, path = "/v1/acp/{server_id}", tag = "acp",
    params(
        ("server_id" = String, Path, description = "Names the client"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received"),
    ),
    responses((status = 200, description = "SSE event stream", content_type = "text/event-stream", body = String),
        Refusals))]
pub(crate) async fn get_acp(
    face: Face,
    PathOf(id): PathOf<String>,
    _: NoQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    accepts(&headers, "text/event-stream")?;
    let cursor = last_event_id(&headers)?;
    let connection = match &cursor {
        Some(cursor) => revive(&face, &id, cursor).await?,
        None => {
            let name = face.client_name(&id);
            face.connections.expect(&name, FIRST_POST_TIMEOUT).await.ok_or_else(|| unknown(&id))?
        }
    };
    Ok(Outflow::new(face.app, connection, cursor, Carries::Everything).into_response())
}

/// End ACP Connection
///
/// Ends the client's stream. Its sessions continue and can be loaded again.
#[utoipa::path(delete, path = "/v1/acp/{server_id}", tag = "acp",
    params(("server_id" = String, Path, description = "Names the client")),
    responses((status = 204, description = "Ended, or never known"), Refusals))]
pub(crate) async fn delete_acp(face: Face, PathOf(id): PathOf<String>, _: NoQuery) -> StatusCode {
    face.connections.remove(&face.client_name(&id));
    StatusCode::NO_CONTENT
}

/// Returns the connection of that name, made by its first message. A missing agent is an answer, so that the
/// client can report it to its user.
fn connect(
    face: &Face,
    id: &str,
    agent: Option<String>,
    message: &Incoming,
) -> Result<Result<Shared, Bytes>, Problem> {
    let known = agent.as_deref().map_or(Ok(()), |agent| face.app.hub.knows_agent(agent));
    match (known, message) {
        (Ok(()), _) => {}
        (Err(error), Incoming::Request { id, .. }) => {
            return Ok(Err(rpc::answer::<()>(id, &Err(methods::error(error)))));
        }
        (Err(error), Incoming::Notification { .. } | Incoming::Answer { .. }) => return Err(error.into()),
    }
    let connection = face.connection(id)?;
    if let Some(agent) = agent {
        connection.choose(agent).map_err(|other| other_agent(id, other))?;
    }
    Ok(Ok(connection))
}

/// A client with a cursor needs no state of the daemon: the cursor names the sessions that it follows.
async fn revive(face: &Face, id: &str, cursor: &Cursor) -> Result<Shared, Problem> {
    let mut records = vec![];
    for (no, spot) in &cursor.sessions {
        // A session that does not exist was deleted.
        if let Some(record) = face.app.hub.record_numbered(*no).await? {
            let place = spot.within(&record)?;
            records.push((record, place));
        }
    }
    if records.is_empty() && !cursor.sessions.is_empty() {
        let detail = "no session of the cursor exists any more";
        return Err(Problem::new(ErrorType::Gone, detail).hint("follow the connection without Last-Event-ID"));
    }
    let connection = face.connection(id)?;
    if !connection.outbox.knows(cursor.beside) {
        // The oldest of a client's sessions most likely has the agent that the client chose.
        if let Some((oldest, _)) = records.first() {
            connection.recall(&oldest.agent);
        }
        for (record, place) in &records {
            if !connection.follows(&record.id) {
                connection.follow(&face.app.hub, record, From::LogPosition(*place));
            }
        }
    }
    Ok(connection)
}

/// A library never sends an invalid message; but a request that is valid in part gets its answer.
fn unreadable(Unread { id, error }: Unread) -> Result<Response, Problem> {
    match id {
        Some(id) => Ok(json(rpc::answer::<()>(&id, &Err(*error)))),
        None => {
            let Error { message, data, .. } = *error;
            let why = data.map(|data| format!(": {data}")).unwrap_or_default();
            Err(Problem::invalid(format!("not one JSON-RPC message: {message}{why}")))
        }
    }
}

fn json(body: Bytes) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

fn unread_answers() -> Problem {
    Problem::overloaded("too many answers wait on the stream of this client").hint(
        "read the stream, and say with Last-Event-ID what was read; or send requests without respond-async",
    )
}

fn unknown(id: &str) -> Problem {
    Problem::new(ErrorType::SessionNotFound, format!("no ACP connection {id}"))
        .hint("the first POST to this address makes the connection")
}

fn other_agent(id: &str, agent: &str) -> Problem {
    Problem::new(ErrorType::Conflict, format!("the ACP connection {id} is for agent {agent}"))
        .hint("choose another id for another agent")
}
