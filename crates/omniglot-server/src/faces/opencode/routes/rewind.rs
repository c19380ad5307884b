//! `/undo` and `/redo`: the conversation is taken back from a message on, with the files that were changed from there
//! on, and brought back.

use axum::Json;
use omniglot_runtime::RuntimeError;
use omniglot_runtime::error::RestoreError;
use omniglot_runtime::snapshots::Rewind;
use omniglot_schema::{SessionId, TurnId};

use super::InSession;
use super::sessions::record;
use crate::app::complete;
use crate::faces::opencode::Face;
use crate::faces::opencode::routes::bodies::{OptionalBody, Revert};
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::wire::Session;
use crate::http::problem::Problem;

/// Takes the conversation back from the message on. One that is taken back further is brought back up to there.
pub(crate) async fn revert(
    face: Face,
    InSession(id): InSession,
    OptionalBody(asked): OptionalBody<Revert>,
) -> Result<Json<Session>, Refusal> {
    if asked.part_id.is_some() {
        let detail = "a message is taken back as a whole; leave out `partID`";
        return Err(Refusal::invalid(detail).session(&id));
    }
    let found = face.view(&id, |live| live.projector().turns_from(&asked.message_id)).await?;
    let no_message = || Refusal::not_found(format!("no message {}", asked.message_id)).session(&id);
    rewind(&face, &id, found.ok_or_else(no_message)?).await
}

/// Brings back everything that is taken back.
pub(crate) async fn unrevert(face: Face, InSession(id): InSession) -> Result<Json<Session>, Refusal> {
    rewind(&face, &id, vec![]).await
}

async fn rewind(face: &Face, id: &SessionId, turns: Vec<TurnId>) -> Result<Json<Session>, Refusal> {
    let mut restored = face.view(id, |live| live.projector().taken_back()).await?;
    restored.retain(|turn| !turns.contains(turn));
    if !turns.is_empty() || !restored.is_empty() {
        let (hub, session) = (face.app.hub.clone(), id.clone());
        let done = complete(async move { Ok(hub.rewind(&session, Rewind { turns, restored }).await) });
        done.await?.map_err(|error| refused(error).session(id))?;
    }
    record(face, id).await
}

/// The advice is for people at a screen, who have no members of a request.
fn refused(error: RuntimeError) -> Refusal {
    let advice = match &error {
        RuntimeError::Busy => Some("interrupt the turn first"),
        RuntimeError::Restore(RestoreError::Changed { .. } | RestoreError::NoEnd(_)) => Some(
            "nothing was taken back; `omniglot sessions revert --force` in a shell restores files all the same",
        ),
        _ => None,
    };
    let problem = Problem::from(error);
    Refusal::of(match advice {
        Some(advice) => problem.hint(advice),
        None => problem,
    })
}
