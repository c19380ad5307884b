//! The routes of OpenCode's server that its clients need, one file per resource.
//!
//! Any other path answers with a problem in JSON: clients treat that as a server without the feature, while a
//! page would break them.

pub(super) mod bodies;
pub(super) mod credentials;
pub(super) mod directory;
mod files;
mod listings;
mod messages;
mod page_sessions;
mod parameters;
mod projects;
mod prompts;
pub(super) mod refusal;
mod refused_on_screen;
mod requests;
mod rewind;
mod server;
mod sessions;
mod shell;

use axum::Router;
use axum::extract::{FromRequestParts, Path, Request};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use http::request::Parts;
use http::{Method, StatusCode, Uri};
use omniglot_schema::{ErrorType, SessionId};
use tower::ServiceExt as _;
use tower::util::MapRequest;

use super::Face;
use crate::app::Unscoped;
use crate::faces::opencode::wire::ids;
use crate::http::problem::Problem;
use credentials::{PROBE, preferred_agent};
use page_sessions::no_version_2;
use refusal::Refusal;

/// Builds the whole face, to be served below its prefix.
pub(crate) fn router(face: Face) -> MapRequest<Router, fn(Request) -> Request> {
    let state = Unscoped::new(face);
    let router = Router::new()
        .merge(server_table())
        .merge(session_table())
        .merge(request_table())
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(state.clone(), refused_on_screen::show))
        .with_state(state);
    router.map_request(prefer as fn(Request) -> Request)
}

/// The route by which the web page detects an OpenCode server and its protocol.
pub(crate) fn probe() -> Router {
    Router::new().route(PROBE, get(server::health))
}

/// The routes that a client reads when it starts.
fn server_table() -> Router<Unscoped<Face>> {
    Router::new()
        .route("/event", get(server::event))
        .route("/global/event", get(server::global_event))
        .route("/global/health", get(server::health))
        .route("/global/config", get(listings::config))
        // Of version 2 nothing else, and each for one client: the web page lists sessions, and the terminal interface
        // finds files, by no other route.
        .route("/api/session", get(page_sessions::list))
        .route("/api/fs/find", get(files::api_find))
        .route("/find", get(files::find_text))
        .route("/find/file", get(files::find_file))
        .route("/find/symbol", get(server::empty_list))
        .route("/file", get(files::list))
        .route("/file/content", get(files::content))
        .route("/file/status", get(server::empty_list))
        .route("/config", get(listings::config))
        .route("/config/providers", get(listings::config_providers))
        .route("/provider", get(listings::providers))
        .route("/agent", get(listings::agents))
        .route("/command", get(listings::commands))
        .route("/path", get(projects::path))
        .route("/project", get(projects::all))
        .route("/project/current", get(projects::current))
        .route("/project/{id}/directories", get(projects::directories))
        .route("/vcs", get(projects::vcs))
        .route("/lsp", get(server::empty_list))
        .route("/formatter", get(server::empty_list))
        .route("/mcp", get(server::empty_record))
        .route("/provider/auth", get(server::empty_record))
        .route("/experimental/resource", get(server::empty_record))
        .route("/experimental/capabilities", get(server::capabilities))
        .route("/experimental/console", get(server::console))
        .route("/experimental/workspace", get(server::empty_list))
        .route("/experimental/workspace/status", get(server::empty_list))
}

fn session_table() -> Router<Unscoped<Face>> {
    Router::new()
        .route("/session", get(sessions::list).post(sessions::create))
        .route("/session/status", get(sessions::status))
        .route("/session/{id}", get(sessions::show).patch(sessions::change).delete(sessions::delete))
        .route("/session/{id}/children", get(sessions::children))
        .route("/session/{id}/fork", post(sessions::fork))
        .route("/session/{id}/abort", post(sessions::abort))
        .route("/session/{id}/todo", get(messages::todos))
        .route("/session/{id}/diff", get(messages::diff))
        .route("/session/{id}/message", get(messages::list).post(prompts::prompt))
        .route("/session/{id}/message/{message}", get(messages::show))
        .route("/session/{id}/prompt_async", post(prompts::prompt_async))
        .route("/session/{id}/command", post(prompts::command))
        .route("/session/{id}/shell", post(shell::shell))
        .route("/session/{id}/summarize", post(prompts::summarize))
        .route("/session/{id}/revert", post(rewind::revert))
        .route("/session/{id}/unrevert", post(rewind::unrevert))
}

/// The routes of agents' permissions and questions.
fn request_table() -> Router<Unscoped<Face>> {
    Router::new()
        .route("/permission", get(requests::permissions))
        .route("/permission/{id}/reply", post(requests::reply_permission))
        .route("/session/{session}/permissions/{id}", post(requests::reply_permission_in))
        .route("/question", get(requests::questions))
        .route("/question/{id}/reply", post(requests::reply_question))
        .route("/question/{id}/reject", post(requests::reject_question))
}

const VERSION_2: &str = "/api/";

async fn no_route(method: Method, uri: Uri) -> Refusal {
    let path = uri.path();
    if path.starts_with(VERSION_2) {
        return no_version_2();
    }
    Refusal::not_found(match path.rsplit('/').next() {
        Some("share") => "sessions cannot be shared from here".to_owned(),
        _ => format!("{method} {path} is not served for OpenCode's clients"),
    })
}

async fn no_method(method: Method, uri: Uri) -> Refusal {
    if uri.path().starts_with(VERSION_2) {
        return no_version_2();
    }
    let detail = format!("{} has no {method}", uri.path());
    Refusal::of(Problem::new(ErrorType::InvalidRequest, detail).status(StatusCode::METHOD_NOT_ALLOWED))
}

/// The agent that a client's address prefers: `…/opencode/agents/NAME` is the same face.
#[derive(Debug, Clone, Default)]
pub(crate) struct Preferred(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Preferred {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// Removes the agent from the path.
fn prefer(mut request: Request) -> Request {
    let uri = request.uri();
    if let Some((agent, path)) = preferred_agent(uri.path()) {
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let agent = percent_encoding::percent_decode_str(agent).decode_utf8_lossy().into_owned();
        if let Ok(uri) = format!("{path}{query}").parse() {
            *request.uri_mut() = uri;
            request.extensions_mut().insert(Preferred(Some(agent)));
        }
    }
    request
}

/// The session that the path names.
pub(crate) struct InSession(pub(crate) SessionId);

impl<S: Send + Sync> FromRequestParts<S> for InSession {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let id = named(parts, state).await?;
        if ids::agent_of_subagent(&id).is_some() {
            return Err(Refusal::invalid("this session is that of a subagent; use the session of its agent"));
        }
        ids::session_of(&id).map(Self).ok_or_else(|| Refusal::no_session(&id))
    }
}

/// The session that the path names: one of ours, or that of a subagent in it.
pub(crate) struct Shown {
    pub(crate) session: SessionId,
    /// The id of the subagent's session.
    pub(crate) subagent: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Shown {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let id = named(parts, state).await?;
        let agent = ids::agent_of_subagent(&id);
        let session = agent.clone().or_else(|| ids::session_of(&id));
        let session = session.ok_or_else(|| Refusal::no_session(&id))?;
        Ok(Self { session, subagent: agent.map(|_| id) })
    }
}

/// Returns the id that the path has for a session.
async fn named<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<String, Refusal> {
    let Path(names) = Path::<Vec<(String, String)>>::from_request_parts(parts, state)
        .await
        .map_err(|error| Refusal::invalid(error.body_text()))?;
    Ok(names.into_iter().find(|(name, _)| name == "id").map(|(_, id)| id).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[track_caller]
    fn preferred(uri: &str) -> (String, Option<String>) {
        let request = prefer(Request::builder().uri(uri).body(Body::empty()).unwrap());
        let preferred = request.extensions().get::<Preferred>().and_then(|preferred| preferred.0.clone());
        (request.uri().to_string(), preferred)
    }

    #[test]
    fn an_address_may_prefer_an_agent() {
        assert_eq!(preferred("/agents/claude/event?a=b"), ("/event?a=b".into(), Some("claude".into())));
        assert_eq!(preferred("/agents/claude"), ("/".into(), Some("claude".into())));
        assert_eq!(preferred("/agent?x"), ("/agent?x".into(), None));
    }
}
