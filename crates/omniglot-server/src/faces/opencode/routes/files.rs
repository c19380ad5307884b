//! Files of the directory of a request: listed, read and searched, as a person does who opens a project or attaches
//! a file. Nothing leads out of the directory. A token that does not drive, or is limited to some sessions, sees none
//! of it but the folders of its sessions, which the sessions name anyway: so it can open their projects.

mod entries;
mod find;
mod session_folders;
mod text;
mod walk;

use std::path::Path;

use axum::Json;
use http::HeaderMap;
use omniglot_runtime::confined::{OpenError, Root};
use omniglot_schema::Scope;
use serde::{Deserialize, Serialize};

use super::parameters::Query;
use crate::faces::opencode::Face;
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::page_sessions::no_version_2;
use crate::faces::opencode::routes::prompts::is_program;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::project_info::ProjectInfo;
use entries::{Content, Node};
use find::{Entry, Kind, find};
use session_folders::SessionFolders;
use text::Match;

const USUAL: usize = 20;
const MOST: usize = 200;

#[derive(Deserialize)]
pub(crate) struct FindQuery {
    #[serde(default)]
    query: String,
    limit: Option<usize>,
    /// The web page looks for folders alone by `dirs=true`.
    dirs: Option<String>,
    #[serde(rename = "type")]
    kind: Option<Kind>,
}

impl FindQuery {
    fn wants(&self, kind: Kind) -> bool {
        let folders = self.dirs.as_deref() == Some("true");
        self.kind.unwrap_or(if folders { Kind::Directory } else { Kind::File }) == kind
    }
}

/// The newer form, which the terminal interface asks for: the matches, and their directory.
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

/// Finds files for the terminal interface, which has no other route for them. To everybody else there is no version 2.
pub(crate) async fn api_find(
    face: Face,
    directory: Directory,
    headers: HeaderMap,
    Query(query): Query<FindQuery>,
) -> Result<Json<Found>, Refusal> {
    if !is_program(&headers) {
        return Err(no_version_2());
    }
    let place = ProjectInfo::of(&directory.path());
    let limit = query.limit.unwrap_or(USUAL).min(MOST);
    let work = move |root: &Root| Ok(find(root, &query.query, limit, |_| true));
    let data = within(&face, place.directory.clone(), work).await?;
    let project = LocationProject { id: place.project, directory: place.worktree };
    Ok(Json(Found { location: Location { directory: place.directory, project }, data }))
}

/// The older form: paths alone.
pub(crate) async fn find_file(
    face: Face,
    directory: Directory,
    Query(query): Query<FindQuery>,
) -> Result<Json<Vec<String>>, Refusal> {
    let limit = query.limit.unwrap_or(USUAL).min(MOST);
    if !sees_files(&face) {
        let wanted = query.wants(Kind::Directory);
        let folders =
            if wanted { session_folders(&face, &directory.path()).await? } else { Default::default() };
        return Ok(Json(folders.find(&query.query, limit)));
    }
    let work = move |root: &Root| Ok(find(root, &query.query, limit, |kind| query.wants(kind)));
    let found = within(&face, directory.path(), work).await?;
    Ok(Json(found.into_iter().map(|entry| entry.path).collect()))
}

#[derive(Deserialize)]
pub(crate) struct TextQuery {
    pattern: String,
}

pub(crate) async fn find_text(
    face: Face,
    directory: Directory,
    Query(query): Query<TextQuery>,
) -> Result<Json<Vec<Match>>, Refusal> {
    let pattern = text::compiled(&query.pattern).map_err(|error| Refusal::invalid(error.to_string()))?;
    let work = move |root: &Root| Ok(text::find(root, &pattern));
    within(&face, directory.path(), work).await.map(Json)
}

#[derive(Deserialize)]
pub(crate) struct PathQuery {
    #[serde(default)]
    path: String,
}

pub(crate) async fn list(
    face: Face,
    directory: Directory,
    Query(query): Query<PathQuery>,
) -> Result<Json<Vec<Node>>, Refusal> {
    if !sees_files(&face) {
        return Ok(Json(session_folders(&face, &directory.path()).await?.list(Path::new(&query.path))));
    }
    let work = move |root: &Root| entries::list(root, Path::new(&query.path));
    within(&face, directory.path(), work).await.map(Json)
}

pub(crate) async fn content(
    face: Face,
    directory: Directory,
    Query(query): Query<PathQuery>,
) -> Result<Json<Content>, Refusal> {
    let work = move |root: &Root| entries::content(root, Path::new(&query.path));
    within(&face, directory.path(), work).await.map(Json)
}

fn sees_files(face: &Face) -> bool {
    let caller = face.app.hub.caller();
    caller.may(Scope::Drive) && caller.limit().is_none()
}

async fn session_folders(face: &Face, directory: &str) -> Result<SessionFolders, Refusal> {
    let sessions = face.app.hub.list(Default::default()).await?;
    let directories = sessions.into_iter().filter_map(|session| session.directory);
    Ok(SessionFolders::below(directory, directories))
}

/// Runs work that blocks in the directory. One that cannot be opened has nothing in it.
async fn within<T: Default + Send + 'static>(
    face: &Face,
    directory: String,
    work: impl FnOnce(&Root) -> Result<T, OpenError> + Send + 'static,
) -> Result<T, Refusal> {
    face.app.need_no_limit("a look at files")?;
    let hub = face.app.hub.clone();
    let work = tokio::task::spawn_blocking(move || match hub.confined(Path::new(&directory)) {
        Ok(root) => work(&root),
        Err(error @ OpenError::Private(_)) => Err(error),
        Err(_) => Ok(T::default()),
    });
    match work.await {
        Ok(done) => done.map_err(refused),
        Err(error) => Err(Refusal::invalid(format!("the search broke off: {error}"))),
    }
}

fn refused(error: OpenError) -> Refusal {
    match error {
        OpenError::NotFound(_) => Refusal::not_found(error.to_string()),
        _ => Refusal::invalid(error.to_string()),
    }
}
