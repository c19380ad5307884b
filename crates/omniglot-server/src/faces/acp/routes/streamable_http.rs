//! ACP over HTTP, in the form of the protocol's own libraries (`agent-client-protocol-http`): one URL for all
//! clients, which name themselves by headers.
//!
//! `initialize` is answered with the id of a new connection. Every later POST carries the id and is answered 202 at
//! once; what it has to tell comes on a stream. The stream without a session has the messages that are about none,
//! and each session has a stream of its own. Everything else is that of the other form.

use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{ACCEPT, HeaderValue};
use http::{HeaderMap, StatusCode};
use omniglot_schema::{ErrorType, SessionId};
use uuid::Uuid;

use super::headers::{accepts, last_event_id};
use super::{
    AcpServerList, AgentQuery, Message, connect, deliver, json, list, methods, serve_request, unreadable,
};
use crate::faces::acp::Face;
use crate::faces::acp::state::connection::stream::{Carries, Outflow};
use crate::faces::acp::state::connection::{Reply, Shared};
use crate::faces::acp::wire::rpc::Incoming;
use crate::http::extract::QueryOf;
use crate::http::idempotency::idempotency_key;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;
use methods::Call;

const CONNECTION: &str = "acp-connection-id";
const SESSION: &str = "acp-session-id";

/// Send ACP Message Of One URL
///
/// The streamable HTTP transport of the Agent Client Protocol. `initialize` is answered with its response and the
/// header `Acp-Connection-Id`; every other message carries that header, is answered with 202, and its response comes
/// on a stream.
#[utoipa::path(post, path = "/v1/acp", tag = "acp",
    params(
        AgentQuery,
        ("Acp-Connection-Id" = Option<String>, Header, description = "The connection; absent from `initialize`"),
        ("Acp-Session-Id" = Option<String>, Header, description = "The session that the message is about"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "A repeated prompt with the same key and body is the same prompt, kept 24 hours"),
    ),
    request_body(content = Object, description = "A JSON-RPC 2.0 message of the Agent Client Protocol",
        example = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } })),
    responses(
        (status = 200, description = "The response to `initialize`, also when it is an error", body = Object,
            headers(("Acp-Connection-Id" = String, description = "The connection, which later requests name"))),
        (status = 202, description = "Taken"),
        Refusals,
    ))]
pub(crate) async fn post_acp_message(
    face: Face,
    QueryOf(query): QueryOf<AgentQuery>,
    headers: HeaderMap,
    Message(body): Message,
) -> Result<Response, Problem> {
    accepts(&headers, "application/json")?;
    let message = match Incoming::parse(&body) {
        Ok(message) => message,
        Err(unread) => return unreadable(unread),
    };
    if let Incoming::Request { method, .. } = &message
        && method == "initialize"
    {
        return initialize(face, query.agent, message, &headers, &body).await;
    }
    let connection = named(&face, &headers)?;
    if let Some(session) = session(&headers)?
        && let Incoming::Request { params, .. } | Incoming::Notification { params, .. } = &message
        && methods::named(params).is_some_and(|named| named != session)
    {
        return Err(Problem::invalid("Acp-Session-Id names another session than params.sessionId"));
    }
    deliver(face.app, connection, message, &headers, &body, Reply::Stream).await
}

/// A handshake that is refused leaves no connection.
async fn initialize(
    face: Face,
    agent: Option<String>,
    message: Incoming,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response, Problem> {
    let id = format!("acp_{}", Uuid::new_v4().simple());
    let connection = match connect(&face, &id, agent, &message)? {
        Ok(connection) => connection,
        Err(refused) => return Ok(json(refused)),
    };
    let Incoming::Request { id: request, method, params } = message else {
        return Err(Problem::invalid("`initialize` is a request"));
    };
    let call = Call { id: request, method, params, key: idempotency_key(headers, body)? };
    let mut response = serve_request(face.app.clone(), connection.clone(), call, Reply::Both).await?;
    match HeaderValue::try_from(&id) {
        Ok(value) if connection.is_introduced() => drop(response.headers_mut().insert(CONNECTION, value)),
        _ => face.connections.remove(&face.client_name(&id)),
    }
    Ok(response)
}

/// List ACP Connections, Or Follow One
///
/// Without `Acp-Connection-Id`: the clients that are connected, oldest first. With it: a stream of messages to that
/// client, as server-sent events whose data is one JSON-RPC message each; those about the session of
/// `Acp-Session-Id`, or without that header those about none.
#[utoipa::path(get, path = "/v1/acp", tag = "acp",
    params(
        AgentQuery,
        ("Acp-Connection-Id" = Option<String>, Header, description = "The connection to follow"),
        ("Acp-Session-Id" = Option<String>, Header, description = "The session to follow on it"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received"),
    ),
    responses(
        (status = 200, content(
            (AcpServerList = "application/json"),
            (String = "text/event-stream"),
        ), description = "Connected clients, or an SSE event stream"),
        Refusals,
    ))]
pub(crate) async fn get_acp_stream(
    face: Face,
    QueryOf(query): QueryOf<AgentQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if !headers.contains_key(CONNECTION) && !wants_stream(&headers) {
        return Ok(list(&face, query.agent.as_deref()).into_response());
    }
    accepts(&headers, "text/event-stream")?;
    let connection = named(&face, &headers)?;
    let carries = session(&headers)?.map_or(Carries::Connection, Carries::Session);
    Ok(Outflow::new(face.app, connection, last_event_id(&headers)?, carries).into_response())
}

/// End ACP Connection Of One URL
///
/// Ends the client's streams. Its sessions continue and can be loaded again.
#[utoipa::path(delete, path = "/v1/acp", tag = "acp",
    params(AgentQuery, ("Acp-Connection-Id" = String, Header, description = "The connection")),
    responses((status = 202, description = "Ended"), Refusals))]
pub(crate) async fn delete_acp_connection(
    face: Face,
    // The address is the same for all requests of a client.
    _: QueryOf<AgentQuery>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let connection = named(&face, &headers)?;
    face.connections.remove(&face.client_name(&connection.id));
    Ok(StatusCode::ACCEPTED)
}

/// Returns the connection that the headers name.
fn named(face: &Face, headers: &HeaderMap) -> Result<Shared, Problem> {
    let id = text(headers, CONNECTION)?.ok_or_else(|| {
        Problem::invalid("the header Acp-Connection-Id is missing")
            .hint("`initialize` is answered with it, and every later request names it")
    })?;
    face.connections.find(&face.client_name(id)).ok_or_else(|| {
        Problem::new(ErrorType::NotFound, format!("no ACP connection {id}"))
            .hint("send `initialize` again, without Acp-Connection-Id, and load the session")
    })
}

fn session(headers: &HeaderMap) -> Result<Option<SessionId>, Problem> {
    let parse =
        |id| SessionId::parse(id).map_err(|error| Problem::invalid(format!("Acp-Session-Id: {error}")));
    text(headers, SESSION)?.map(parse).transpose()
}

fn text<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Problem> {
    let read = |value: &'a HeaderValue| {
        value.to_str().map_err(|_| Problem::invalid(format!("the header {name} is no text")))
    };
    headers.get(name).map(read).transpose()
}

/// Whether a GET asks for a stream and nothing else.
fn wants_stream(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|accept| accept.as_bytes().starts_with(b"text/event-stream"))
}
