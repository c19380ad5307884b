//! The server itself: its health, its event streams, and empty lists of features that it does not have.

use std::collections::BTreeMap;

use axum::Json;
use axum::response::Response;
use serde::Serialize;

use crate::faces::opencode::Face;
use crate::faces::opencode::project::VERSION;
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::seen_sessions::SeenSessions;
use crate::faces::opencode::state::session_view::quick_record;
use crate::faces::opencode::state::stream::{EventStream, Form};
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{Session, SessionModel, SessionTime, Tokens};

pub(crate) async fn event(face: Face, directory: Directory) -> Result<Response, Refusal> {
    stream(face, Form::One(directory.path())).await
}

pub(crate) async fn global_event(face: Face) -> Result<Response, Refusal> {
    stream(face, Form::Global).await
}

async fn stream(face: Face, form: Form) -> Result<Response, Refusal> {
    let hub = face.app.hub;
    let reader = face.relay.join(&hub, &form).await?;
    let stream = EventStream::new(reader, form, face.app.limits.heartbeat, face.app.stop);
    Ok(stream.seen_by(SeenSessions::of(hub).await?).into_response())
}

#[derive(Serialize)]
pub(crate) struct Health {
    healthy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
}

pub(crate) async fn health() -> Json<Health> {
    Json(Health { healthy: true, version: Some(VERSION) })
}

pub(crate) async fn api_health() -> Json<Health> {
    Json(Health { healthy: true, version: None })
}

/// The newer list of sessions, which the web page displays first.
#[derive(Serialize)]
pub(crate) struct ApiSessions {
    data: Vec<ApiSession>,
    cursor: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct ApiSession {
    id: Id,
    #[serde(rename = "projectID")]
    project_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<SessionModel>,
    cost: f64,
    tokens: Tokens,
    time: SessionTime,
    title: String,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    directory: String,
}

impl From<Session> for ApiSession {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            project_id: session.project_id,
            agent: session.agent,
            model: session.model,
            cost: session.cost,
            tokens: session.tokens,
            time: session.time,
            title: session.title,
            location: Location { directory: session.directory },
        }
    }
}

pub(crate) async fn api_sessions(face: Face, directory: Directory) -> Result<Json<ApiSessions>, Refusal> {
    let sessions = face.app.hub.list(Default::default()).await?;
    let shown = sessions.into_iter().filter(|info| directory.shows(info.directory.as_deref()));
    let data = shown.map(quick_record).map(ApiSession::from).collect();
    Ok(Json(ApiSessions { data, cursor: BTreeMap::new() }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capabilities {
    background_subagents: bool,
}

pub(crate) async fn capabilities() -> Json<Capabilities> {
    Json(Capabilities { background_subagents: false })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Console {
    console_managed_providers: [(); 0],
    switchable_org_count: u32,
}

pub(crate) async fn console() -> Json<Console> {
    Json(Console { console_managed_providers: [], switchable_org_count: 0 })
}

/// Returns an empty list for features that this daemon leaves to its agents.
pub(crate) async fn empty_list() -> Json<[(); 0]> {
    Json([])
}

pub(crate) async fn empty_record() -> Json<BTreeMap<String, String>> {
    Json(BTreeMap::new())
}
