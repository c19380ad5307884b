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
use crate::faces::opencode::state::stream::{EventStream, Form};

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
    version: &'static str,
}

pub(crate) async fn health() -> Json<Health> {
    Json(Health { healthy: true, version: VERSION })
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
