//! The directory of a request, its project and its branch.

use std::collections::BTreeMap;

use axum::Json;
use serde::Serialize;

use crate::faces::opencode::Face;
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::project_info::ProjectInfo;

#[derive(Serialize)]
pub(crate) struct Paths {
    home: String,
    state: String,
    config: String,
    worktree: String,
    directory: String,
}

pub(crate) async fn path(directory: Directory) -> Json<Paths> {
    let ProjectInfo { directory, worktree, .. } = ProjectInfo::of(&directory.path());
    let home = std::env::home_dir().unwrap_or_default().to_string_lossy().into_owned();
    // OpenCode's own folders, which clients only display, do not exist here.
    Json(Paths { state: home.clone(), config: home.clone(), home, worktree, directory })
}

/// A project is not said to be one of git: the web page would ask for what git knows of it, which is not served, and
/// show that nothing has changed. Without git it shows the changes of the session.
#[derive(Serialize)]
pub(crate) struct Project {
    id: String,
    worktree: String,
    time: ProjectTime,
    sandboxes: [(); 0],
}

#[derive(Serialize)]
struct ProjectTime {
    created: i64,
    updated: i64,
}

pub(crate) async fn current(face: Face, directory: Directory) -> Json<Project> {
    let started = face.app.started.as_millisecond();
    Json(project(ProjectInfo::of(&directory.path()), ProjectTime { created: started, updated: started }))
}

/// Lists every project that has a session.
pub(crate) async fn all(face: Face) -> Result<Json<Vec<Project>>, Refusal> {
    let mut projects: BTreeMap<String, Project> = BTreeMap::new();
    for session in face.app.hub.list(Default::default()).await? {
        let place = ProjectInfo::of(&session.directory.unwrap_or_default());
        let time = ProjectTime { created: session.created_at, updated: session.updated_at };
        let known = projects.entry(place.project.clone()).or_insert_with(|| project(place, time));
        known.time.created = known.time.created.min(session.created_at);
        known.time.updated = known.time.updated.max(session.updated_at);
    }
    Ok(Json(projects.into_values().collect()))
}

fn project(place: ProjectInfo, time: ProjectTime) -> Project {
    Project { id: place.project, worktree: place.worktree, time, sandboxes: [] }
}

#[derive(Serialize)]
pub(crate) struct ProjectDirectory {
    directory: String,
}

pub(crate) async fn directories(directory: Directory) -> Json<[ProjectDirectory; 1]> {
    Json([ProjectDirectory { directory: directory.path() }])
}

#[derive(Serialize)]
pub(crate) struct Vcs {
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

pub(crate) async fn vcs(directory: Directory) -> Json<Vcs> {
    Json(Vcs { branch: ProjectInfo::of(&directory.path()).branch() })
}
