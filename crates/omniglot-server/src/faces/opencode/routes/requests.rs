//! The open permissions and questions of agents, and the answers to them.

use axum::Json;
use http::StatusCode;
use omniglot_schema::{SessionDetail, SessionId};

use super::parameters::Path;
use crate::app::complete;
use crate::faces::opencode::Face;
use crate::faces::opencode::routes::bodies::{OptionalBody, PermissionAnswer, QuestionAnswer};
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::session_view::SessionView;
use crate::faces::opencode::wire::ids;
use crate::faces::opencode::wire::{PermissionRequest, QuestionRequest};
use crate::http::problem::Problem;

pub(crate) async fn permissions(
    face: Face,
    directory: Directory,
) -> Result<Json<Vec<PermissionRequest>>, Refusal> {
    let open = |live: &SessionView| live.projector().permissions().into_iter().cloned().collect();
    gather(&face, &directory, open).await
}

pub(crate) async fn questions(
    face: Face,
    directory: Directory,
) -> Result<Json<Vec<QuestionRequest>>, Refusal> {
    let open = |live: &SessionView| live.projector().questions().into_iter().cloned().collect();
    gather(&face, &directory, open).await
}

async fn gather<T>(
    face: &Face,
    directory: &Directory,
    open: impl Fn(&SessionView) -> Vec<T>,
) -> Result<Json<Vec<T>>, Refusal> {
    let mut all = vec![];
    for SessionDetail { info, pending, .. } in face.app.hub.unfinished().await? {
        if !pending.is_empty() && directory.shows(info.directory.as_deref()) {
            all.extend(face.view(&info.session_id, &open).await?);
        }
    }
    Ok(Json(all))
}

pub(crate) async fn reply_permission(
    face: Face,
    Path(id): Path<String>,
    OptionalBody(answer): OptionalBody<PermissionAnswer>,
) -> Result<Json<bool>, Refusal> {
    let (session, permission) = ids::permission_of(&id).ok_or_else(|| unknown(&id))?;
    let reply = answer.reply.ok_or_else(|| Refusal::invalid("`reply` is once, always or reject"))?;
    let (hub, asked) = (face.app.hub.clone(), session.clone());
    let replied =
        complete(
            async move { hub.reply_permission(&asked, permission.as_str(), reply, answer.message).await },
        );
    replied.await.map_err(|problem| refused(problem, &session))?;
    Ok(Json(true))
}

/// The older route, which names the session too.
pub(crate) async fn reply_permission_in(
    face: Face,
    Path((_, id)): Path<(String, String)>,
    answer: OptionalBody<PermissionAnswer>,
) -> Result<Json<bool>, Refusal> {
    reply_permission(face, Path(id), answer).await
}

pub(crate) async fn reply_question(
    face: Face,
    Path(id): Path<String>,
    OptionalBody(answer): OptionalBody<QuestionAnswer>,
) -> Result<Json<bool>, Refusal> {
    resolve(face, id, Some(answer.answers)).await
}

pub(crate) async fn reject_question(face: Face, Path(id): Path<String>) -> Result<Json<bool>, Refusal> {
    resolve(face, id, None).await
}

async fn resolve(face: Face, id: String, answers: Option<Vec<Vec<String>>>) -> Result<Json<bool>, Refusal> {
    let (session, question) = ids::question_of(&id).ok_or_else(|| unknown(&id))?;
    let (hub, asked): (_, SessionId) = (face.app.hub.clone(), session.clone());
    let replied = complete(async move { hub.reply_question(&asked, question.as_str(), answers).await });
    replied.await.map_err(|problem| refused(problem, &session))?;
    Ok(Json(true))
}

/// A reply that resolves nothing is 404, the only status that these routes have for it; the message says why.
fn refused(problem: Problem, session: &SessionId) -> Refusal {
    let problem = match problem.details().status {
        409 => problem.status(StatusCode::NOT_FOUND),
        _ => problem,
    };
    Refusal::of(problem.session(session))
}

fn unknown(id: &str) -> Refusal {
    Refusal::not_found(format!("no request {id}"))
}
