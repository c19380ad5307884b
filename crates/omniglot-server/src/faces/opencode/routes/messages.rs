//! The contents of a session: messages, todos, changed files.

use axum::Json;
use axum::extract::{Path, Query};
use serde::Deserialize;

use super::InSession;
use crate::faces::opencode::Face;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::session_view::SessionView;
use crate::faces::opencode::wire::{FileDiff, MessageWithParts, Todo};

#[derive(Deserialize)]
pub(crate) struct MessagesQuery {
    limit: Option<usize>,
    /// Only messages before this one.
    before: Option<String>,
}

/// Lists the newest messages that the limit allows, oldest first.
pub(crate) async fn list(
    face: Face,
    InSession(id): InSession,
    Query(query): Query<MessagesQuery>,
) -> Result<Json<Vec<MessageWithParts>>, Refusal> {
    let page = |live: &SessionView| newest(live.projector().messages(), &query);
    Ok(Json(face.view(&id, page).await?))
}

fn newest(messages: &[MessageWithParts], query: &MessagesQuery) -> Vec<MessageWithParts> {
    let place = |id: &String| messages.iter().position(|message| message.info.id().as_str() == id);
    let end = query.before.as_ref().and_then(place).unwrap_or(messages.len());
    let start = end.saturating_sub(query.limit.unwrap_or(usize::MAX));
    messages.get(start..end).unwrap_or_default().to_vec()
}

pub(crate) async fn show(
    face: Face,
    InSession(id): InSession,
    Path((_, message)): Path<(String, String)>,
) -> Result<Json<MessageWithParts>, Refusal> {
    let found = face.view(&id, |live| live.projector().message(&message).cloned()).await?;
    found.map(Json).ok_or_else(|| Refusal::not_found(format!("no message {message}")).session(&id))
}

pub(crate) async fn todos(face: Face, InSession(id): InSession) -> Result<Json<Vec<Todo>>, Refusal> {
    Ok(Json(face.view(&id, |live| live.projector().todos().to_vec()).await?))
}

#[derive(Deserialize)]
pub(crate) struct DiffQuery {
    #[serde(rename = "messageID")]
    message_id: Option<String>,
}

pub(crate) async fn diff(
    face: Face,
    InSession(id): InSession,
    Query(query): Query<DiffQuery>,
) -> Result<Json<Vec<FileDiff>>, Refusal> {
    let message = query.message_id.as_deref();
    Ok(Json(face.view(&id, |live| live.projector().diffs(message)).await?))
}
