//! Files that a person may attach, by a few letters of their path.

mod find;

use std::path::Path;

use axum::Json;
use axum::extract::Query;
use omniglot_runtime::confined::OpenError;
use serde::{Deserialize, Serialize};

use crate::faces::opencode::Face;
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::project_info::ProjectInfo;
use find::{Entry, Kind, find};

const USUAL: usize = 20;
const MOST: usize = 200;

#[derive(Deserialize)]
pub(crate) struct FindQuery {
    #[serde(default)]
    query: String,
    limit: Option<usize>,
}

/// The newer form: the matches, and their directory.
#[derive(Serialize)]
pub(crate) struct Found {
    location: Location,
    data: Vec<Entry>,
}

#[derive(Serialize)]
struct Location {
    directory: String,
    project: LocationProject,
}

#[derive(Serialize)]
struct LocationProject {
    id: String,
    directory: String,
}

pub(crate) async fn api_find(
    face: Face,
    directory: Directory,
    Query(query): Query<FindQuery>,
) -> Result<Json<Found>, Refusal> {
    let place = ProjectInfo::of(&directory.path());
    let data = search(&face, place.directory.clone(), query).await?;
    let project = LocationProject { id: place.project, directory: place.worktree };
    Ok(Json(Found { location: Location { directory: place.directory, project }, data }))
}

/// The older form: paths alone.
pub(crate) async fn find_file(
    face: Face,
    directory: Directory,
    Query(query): Query<FindQuery>,
) -> Result<Json<Vec<String>>, Refusal> {
    let found = search(&face, directory.path(), query).await?;
    Ok(Json(found.into_iter().filter(|entry| entry.kind == Kind::File).map(|entry| entry.path).collect()))
}

async fn search(face: &Face, directory: String, query: FindQuery) -> Result<Vec<Entry>, Refusal> {
    face.app.need_no_limit("a search for files")?;
    let limit = query.limit.unwrap_or(USUAL).min(MOST);
    let hub = face.app.hub.clone();
    let work = tokio::task::spawn_blocking(move || match hub.confined(Path::new(&directory)) {
        Ok(root) => Ok(find(&root, &query.query, limit)),
        Err(error @ OpenError::Private(_)) => Err(Refusal::invalid(error.to_string())),
        // An unreadable directory has nothing to attach.
        Err(_) => Ok(vec![]),
    });
    work.await.unwrap_or_else(|error| Err(Refusal::invalid(format!("the search broke off: {error}"))))
}
