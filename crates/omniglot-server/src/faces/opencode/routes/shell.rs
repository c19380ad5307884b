//! A person's own command in the directory of a session.

use axum::Json;
use omniglot_schema::Scope;

use super::InSession;
use super::prompts::{answer, name_of};
use crate::app::complete;
use crate::faces::opencode::Face;
use crate::faces::opencode::routes::bodies::{OptionalBody, Shell};
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::wire::MessageWithParts;

/// Runs the command as the daemon's user, where the configuration allows processes of clients.
pub(crate) async fn shell(
    face: Face,
    InSession(id): InSession,
    OptionalBody(asked): OptionalBody<Shell>,
) -> Result<Json<MessageWithParts>, Refusal> {
    face.app.need(Scope::Admin, "a command of one's own")?;
    if asked.command.trim().is_empty() {
        return Err(Refusal::invalid("`command` is missing").session(&id));
    }
    let name = name_of(asked.message_id.as_deref());
    let (hub, session, ids) = (face.app.hub.clone(), id.clone(), vec![name.clone()]);
    let posted = complete(async move { hub.run_in_session(&session, asked.command, ids).await });
    let posted = posted.await.map_err(|problem| Refusal::of(problem).session(&id))?;
    answer(&face, &id, &name, &posted).await
}
