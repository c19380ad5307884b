//! The contents of a session: messages, todos, changed files.

use axum::Json;
use serde::Deserialize;

use super::Shown;
use super::parameters::{Path, Query};
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
    shown: Shown,
    Query(query): Query<MessagesQuery>,
) -> Result<Json<Vec<MessageWithParts>>, Refusal> {
    let page = |live: &SessionView| newest(messages(live, &shown), &query);
    Ok(Json(face.view(&shown.session, page).await?))
}

/// Returns the messages of the session; those of an unknown subagent are none.
fn messages<'a>(live: &'a SessionView, shown: &Shown) -> &'a [MessageWithParts] {
    match &shown.subagent {
        Some(subagent) => live.projector().messages_of(subagent).unwrap_or_default(),
        None => live.projector().messages(),
    }
}

fn newest(messages: &[MessageWithParts], query: &MessagesQuery) -> Vec<MessageWithParts> {
    let place = |id: &String| messages.iter().position(|message| message.info.id().as_str() == id);
    let end = query.before.as_ref().and_then(place).unwrap_or(messages.len());
    let start = end.saturating_sub(query.limit.unwrap_or(usize::MAX));
    messages.get(start..end).unwrap_or_default().to_vec()
}

pub(crate) async fn show(
    face: Face,
    shown: Shown,
    Path((_, message)): Path<(String, String)>,
) -> Result<Json<MessageWithParts>, Refusal> {
    let is_it = |found: &&MessageWithParts| found.info.id().as_str() == message;
    let found = face.view(&shown.session, |live| messages(live, &shown).iter().find(is_it).cloned()).await?;
    found.map(Json).ok_or_else(|| Refusal::not_found(format!("no message {message}")).session(&shown.session))
}

/// Lists the tasks of the agent; a subagent has none of its own.
pub(crate) async fn todos(face: Face, shown: Shown) -> Result<Json<Vec<Todo>>, Refusal> {
    if shown.subagent.is_some() {
        return Ok(Json(vec![]));
    }
    Ok(Json(face.view(&shown.session, |live| live.projector().todos().to_vec()).await?))
}

#[derive(Deserialize)]
pub(crate) struct DiffQuery {
    #[serde(rename = "messageID")]
    message_id: Option<String>,
}

pub(crate) async fn diff(
    face: Face,
    shown: Shown,
    Query(query): Query<DiffQuery>,
) -> Result<Json<Vec<FileDiff>>, Refusal> {
    // The changes of subagents count as those of their agent.
    if shown.subagent.is_some() {
        return Ok(Json(vec![]));
    }
    let message = query.message_id.as_deref();
    Ok(Json(face.view(&shown.session, |live| live.projector().diffs(message)).await?))
}
