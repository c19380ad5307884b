//! The one list of version 2 of OpenCode's API that its web page needs.

use std::collections::BTreeMap;

use axum::Json;
use http::HeaderMap;
use http::header::ORIGIN;
use serde::Serialize;

use crate::faces::opencode::Face;
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::prompts::is_program;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::session_view::quick_record;
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{Session, SessionModel, SessionTime, Tokens};

/// The list of sessions in the form of version 2, which the first screen of the web page is made from.
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

/// Lists the sessions for the web page: a browser names an `Origin`, which was checked to be an allowed one. A program
/// that looks for version 2 of the API names none, and finds nothing.
pub(crate) async fn list(
    face: Face,
    directory: Directory,
    headers: HeaderMap,
) -> Result<Json<ApiSessions>, Refusal> {
    if !headers.contains_key(ORIGIN) || is_program(&headers) {
        return Err(no_version_2());
    }
    let sessions = face.app.hub.list_with_state(Default::default()).await?;
    let shown = sessions.into_iter().filter(|info| directory.shows(info.directory.as_deref()));
    let data = shown.map(quick_record).map(ApiSession::from).collect();
    Ok(Json(ApiSessions { data, cursor: BTreeMap::new() }))
}

pub(crate) fn no_version_2() -> Refusal {
    Refusal::not_found("this is version 1 of OpenCode's API; there is no version 2 below /api")
}
