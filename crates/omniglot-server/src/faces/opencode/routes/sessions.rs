//! Sessions: list, create, show, rename, fork, abort, delete.

use std::collections::{BTreeMap, HashMap};

use axum::Json;
use http::HeaderMap;
use omniglot_schema::{
    CreateSessionRequest, QuestionPolicy, QueueOnCancel, SessionId, SessionInfo, SessionPatch, SessionStatus,
    TurnId,
};
use serde::Deserialize;

use super::parameters::Query;
use super::prompts::is_program;
use super::{InSession, Preferred, Shown};
use crate::app::complete;
use crate::faces::opencode::Face;
use crate::faces::opencode::project::DEFAULT_MODE;
use crate::faces::opencode::routes::bodies::{Change, Fork, NewSession, OptionalBody, may_ask};
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::session_view::{SessionView, quick_record};
use crate::faces::opencode::wire::ids::{self, Id};
use crate::faces::opencode::wire::{Payload, Session, Status};

#[derive(Deserialize)]
pub(crate) struct ListQuery {
    limit: Option<usize>,
    search: Option<String>,
    /// Only sessions that changed since this time, in milliseconds.
    start: Option<f64>,
    /// Without the sessions of subagents.
    #[serde(default)]
    roots: bool,
}

/// Lists sessions, newest first, each with those of its subagents as far as they are in memory: the terminal interface
/// forgets all others whenever it lists.
pub(crate) async fn list(
    face: Face,
    directory: Directory,
    Query(query): Query<ListQuery>,
) -> Result<Json<Vec<Session>>, Refusal> {
    let search = query.search.unwrap_or_default().to_lowercase();
    let start = query.start.unwrap_or(0.0);
    let sessions = face.app.hub.list_with_state(Default::default()).await?;
    let shown = sessions
        .into_iter()
        .filter(|info| directory.shows(info.directory.as_deref()) && info.updated_at as f64 >= start)
        .map(|info| (is_taken_back(&info).then(|| info.session_id.clone()), quick_record(info)))
        .filter(|(_, session)| session.title.to_lowercase().contains(&search));
    let mut subagents = if query.roots { HashMap::new() } else { face.relay.known_subagents().await };
    let mut listed = vec![];
    for (taken_back, mut session) in shown.take(query.limit.unwrap_or(usize::MAX)) {
        if let Some(id) = taken_back {
            let revert = face.view(&id, |live| live.projector().session().revert).await;
            // It may have been deleted meanwhile, and the others are listed all the same.
            session.revert =
                revert.inspect_err(|error| tracing::debug!(%error, session = %id, "not read")).ok().flatten();
        }
        let below = subagents.remove(&session.id).unwrap_or_default();
        listed.push(session);
        listed.extend(below);
    }
    Ok(Json(listed))
}

/// Whether clients hide a part of the session; from which message on, only its log tells.
fn is_taken_back(info: &SessionInfo) -> bool {
    info.state.as_ref().is_some_and(|state| state.reverted_from.is_some())
}

pub(crate) async fn create(
    face: Face,
    directory: Directory,
    preferred: Preferred,
    OptionalBody(new): OptionalBody<NewSession>,
) -> Result<Json<Session>, Refusal> {
    if new.parent_id.is_some() {
        return Err(Refusal::invalid("sessions have no parents here; leave out `parentID`"));
    }
    let chosen = new.model.as_ref().map(|model| model.provider_id.clone());
    let agent = chosen
        .or_else(|| face.catalog.default_agent(preferred.0.as_deref()))
        .ok_or_else(|| Refusal::invalid("no agent is installed"))?;
    let model = new.model.as_ref().map(|model| model.model_id.clone());
    let mode = new.agent.filter(|mode| !face.catalog.is_of_others(&agent, mode));
    let request = CreateSessionRequest {
        agent_mode: mode.filter(|mode| mode != DEFAULT_MODE),
        model: model.filter(|model| !face.catalog.leaves_choice(&agent, model)),
        variant: new.model.and_then(|model| model.variant),
        directory: Some(directory.path()),
        title: new.title,
        questions: (!may_ask(&new.permission)).then_some(QuestionPolicy::Reject),
        ..CreateSessionRequest::new(agent)
    };
    let id = new_session_id()?;
    let (hub, session) = (face.app.hub.clone(), id.clone());
    complete(async move { hub.create(session, request).await }).await?;
    record(&face, &id).await
}

/// Makes an id that ascends with time, as OpenCode's do.
fn new_session_id() -> Result<SessionId, Refusal> {
    let text = uuid::Uuid::now_v7().simple().to_string();
    SessionId::parse(&text).map_err(|error| Refusal::invalid(error.to_string()))
}

pub(crate) async fn show(face: Face, headers: HeaderMap, shown: Shown) -> Result<Json<Session>, Refusal> {
    let Some(subagent) = shown.subagent else {
        if is_program(&headers) {
            tell_subagents(&face, &shown.session).await?;
        }
        return record(&face, &shown.session).await;
    };
    let found = face.view(&shown.session, |live| live.projector().session_of(&subagent)).await?;
    found.map(Json).ok_or_else(|| Refusal::no_session(&subagent))
}

/// The terminal interface never asks for the sessions of subagents; it has those that its stream names.
async fn tell_subagents(face: &Face, id: &SessionId) -> Result<(), Refusal> {
    for info in face.view(id, |live| live.projector().subagent_sessions()).await? {
        let (session_id, directory) = (info.id.clone(), info.directory.clone());
        let payload = Payload::SessionUpdated { session_id, info: Box::new(info) };
        face.relay.announce_to(face.app.hub.caller(), &directory, payload);
    }
    Ok(())
}

pub(super) async fn record(face: &Face, id: &SessionId) -> Result<Json<Session>, Refusal> {
    let session = face.view(id, |live| live.projector().session()).await;
    session.map(Json).map_err(|error| Refusal::from(error).session(id))
}

pub(crate) async fn change(
    face: Face,
    InSession(id): InSession,
    OptionalBody(change): OptionalBody<Change>,
) -> Result<Json<Session>, Refusal> {
    if change.time.is_some_and(|time| time.archived.is_some()) {
        return Err(Refusal::invalid("sessions are not archived here; delete them").session(&id));
    }
    if change.title.is_some() {
        let patch = SessionPatch { title: change.title, ..SessionPatch::default() };
        let (hub, session) = (face.app.hub.clone(), id.clone());
        complete(async move { hub.configure(&session, patch).await }).await?;
    }
    record(&face, &id).await
}

pub(crate) async fn delete(face: Face, InSession(id): InSession) -> Result<Json<bool>, Refusal> {
    let hub = face.app.hub.clone();
    complete(async move { hub.delete(&id).await }).await?;
    Ok(Json(true))
}

/// Lists the sessions of subagents.
pub(crate) async fn children(face: Face, shown: Shown) -> Result<Json<Vec<Session>>, Refusal> {
    let id = shown.subagent.unwrap_or_else(|| ids::session(&shown.session).to_string());
    Ok(Json(face.view(&shown.session, |live| live.projector().below(&id)).await?))
}

pub(crate) async fn fork(
    face: Face,
    InSession(origin): InSession,
    OptionalBody(fork): OptionalBody<Fork>,
) -> Result<Json<Session>, Refusal> {
    let before = match &fork.message_id {
        Some(message) => Some(turn_of(&face, &origin, message).await?),
        None => None,
    };
    let id = new_session_id()?;
    let (hub, session, copy) = (face.app.hub.clone(), origin.clone(), id.clone());
    let done = complete(async move { hub.fork(&session, copy, before).await });
    done.await.map_err(|problem| Refusal::of(problem).session(&origin))?;
    record(&face, &id).await
}

/// Returns the turn that the message began: the copy ends before it.
async fn turn_of(face: &Face, session: &SessionId, message: &str) -> Result<TurnId, Refusal> {
    let found = face.view(session, |live| {
        let projector = live.projector();
        projector.message(message).map(|_| projector.turn_begun_by(message))
    });
    match found.await? {
        Some(Some(turn)) => Ok(turn),
        Some(None) => {
            let detail = "a fork ends before a turn; choose the message that began it";
            Err(Refusal::invalid(detail).session(session))
        }
        None => Err(Refusal::not_found(format!("no message {message}")).session(session)),
    }
}

/// Drops the queue as well: a person who stops the agent does not want it to continue with queued messages.
pub(crate) async fn abort(face: Face, InSession(id): InSession) -> Result<Json<bool>, Refusal> {
    let hub = face.app.hub.clone();
    complete(async move { hub.cancel(&id, QueueOnCancel::Drop).await }).await?;
    Ok(Json(true))
}

/// The sessions that are not idle.
pub(crate) async fn status(face: Face, directory: Directory) -> Result<Json<BTreeMap<Id, Status>>, Refusal> {
    let mut busy = BTreeMap::new();
    for session in face.app.hub.unfinished().await? {
        let shown = directory.shows(session.info.directory.as_deref());
        if shown && session.status != SessionStatus::Idle {
            let look =
                |live: &SessionView| (live.projector().session().id, live.projector().status().clone());
            let (id, status) = face.view(&session.info.session_id, look).await?;
            busy.insert(id, status);
        }
    }
    Ok(Json(busy))
}
