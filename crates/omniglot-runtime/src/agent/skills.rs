//! The skills of sessions: fetched and checked before the session exists, kept below the shared directory, given to
//! the agent in its own way, and removed with the session.
//!
//! `skills/KEY/` belongs to one session: `skills/` with a folder for each skill, and a manifest. The key is a hash of
//! the session's id. A folder without a session is what a killed daemon has left, and goes with the next start.

mod copy;
mod find;
mod git;
mod project;
mod source;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniglot_agents::{SessionSkills, SkillsDir};
use omniglot_schema::SessionId;
use serde::{Deserialize, Serialize};

use copy::{Budget, Copier};
use source::Location;
pub(crate) use source::Source;

use crate::digest::sha256;
use crate::process::Supervisor;

const MANIFEST: &str = "session.json";
const MAX_SOURCES: usize = 16;

/// All skills of a daemon. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SkillStore {
    dir: PathBuf,
    /// The time for one repository.
    timeout: Duration,
    /// Held while links of projects change: sessions share them.
    placing: Arc<Mutex<()>>,
}

/// The record of the skills of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    skills: Vec<Kept>,
    /// The folder of the project that has links to them.
    placed: Option<PathBuf>,
    /// The folders of the project that were made for the links.
    made: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    name: String,
    digest: String,
}

/// The skills of a session that has no row yet; they are removed when this is dropped, unless they are kept.
#[derive(Debug)]
pub(crate) struct PendingSkills {
    store: SkillStore,
    id: SessionId,
    pub(crate) skills: SessionSkills,
    keep: bool,
}

impl PendingSkills {
    pub(crate) fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for PendingSkills {
    fn drop(&mut self) {
        if !self.keep {
            self.store.remove(&self.id);
        }
    }
}

impl SkillStore {
    pub(crate) fn new(shared: &Path, timeout: Duration) -> Self {
        Self { dir: shared.join("skills"), timeout, placing: Arc::default() }
    }

    /// Fetches the sources for a session that is about to be created. When one of them fails, nothing is left.
    pub(crate) async fn install(
        &self,
        id: &SessionId,
        sources: Vec<Source>,
        supervisor: &Supervisor,
    ) -> Result<PendingSkills, String> {
        if sources.len() > MAX_SOURCES {
            return Err(format!("there are more than {MAX_SOURCES} sources of skills"));
        }
        let work = Scratch::new(&self.dir).map_err(|error| format!("no folder for skills: {error}"))?;
        let mut folders = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let folder = match &source.location {
                Location::Local(folder) => folder.clone(),
                Location::Git { url, reference } => {
                    let to = work.0.join(format!("fetched-{number}"));
                    let fetched = git::fetch(supervisor, url, reference.as_deref(), &to, self.timeout).await;
                    fetched.map_err(|why| of_source(source, &why))?;
                    to
                }
            };
            folders.push(folder);
        }
        let (store, id) = (self.clone(), id.clone());
        let keep = move || store.keep(id, &work, sources.into_iter().zip(folders));
        tokio::task::spawn_blocking(keep).await.map_err(|error| error.to_string())?
    }

    /// Copies the skills of all sources, and makes them those of the session. The first of a name counts.
    fn keep(
        &self,
        id: SessionId,
        work: &Scratch,
        sources: impl Iterator<Item = (Source, PathBuf)>,
    ) -> Result<PendingSkills, String> {
        let new = work.0.join("new");
        let mut budget = Budget::default();
        let mut manifest = Manifest::default();
        for (source, folder) in sources {
            let copied = copy_source(&source, &folder, &new, &mut manifest, &mut budget);
            copied.map_err(|why| of_source(&source, &why))?;
        }
        let own = self.own(&id);
        let finished = finish(&new, &manifest).and_then(|()| {
            drop(fs::remove_dir_all(&own));
            fs::rename(&new, &own)
        });
        finished.map_err(|error| format!("the skills were not kept: {error}"))?;
        let skills = skills_of(&own, &manifest);
        Ok(PendingSkills { store: self.clone(), id, skills, keep: false })
    }

    /// Gives a new session the skills of another, as they are.
    pub(crate) async fn copy(
        &self,
        from: &SessionId,
        id: &SessionId,
    ) -> Result<Option<PendingSkills>, String> {
        let (store, from, id) = (self.clone(), from.clone(), id.clone());
        let copied = tokio::task::spawn_blocking(move || store.copy_of(&from, &id)).await;
        copied.map_err(|error| error.to_string())?
    }

    fn copy_of(&self, from: &SessionId, id: &SessionId) -> Result<Option<PendingSkills>, String> {
        let Some(mut manifest) = self.manifest(&self.own(from)) else { return Ok(None) };
        let failed = |error: io::Error| format!("the skills of session {from} were not copied: {error}");
        let work = Scratch::new(&self.dir).map_err(failed)?;
        let (source, new, own) = (self.own(from), work.0.join("new"), self.own(id));
        let (root, mut budget) = (fs::canonicalize(&source).map_err(failed)?, Budget::default());
        for skill in &manifest.skills {
            let mut copier = Copier { root: &root, budget: &mut budget };
            copier.folder(&folder_of(&root, &skill.name), &folder_of(&new, &skill.name))?;
        }
        (manifest.placed, manifest.made) = (None, vec![]);
        finish(&new, &manifest).and_then(|()| fs::rename(&new, &own)).map_err(failed)?;
        let skills = skills_of(&own, &manifest);
        Ok(Some(PendingSkills { store: self.clone(), id: id.clone(), skills, keep: false }))
    }

    /// Puts links into the project where the agent reads skills nowhere else; where it did before, they go.
    pub(crate) fn place(&self, id: &SessionId, dir: SkillsDir, project: &Path) -> Result<(), String> {
        let _placing = self.lock();
        let own = self.own(id);
        let Some(mut manifest) = self.manifest(&own) else { return Ok(()) };
        let others = self.others(&own);
        project::remove(&own, &manifest, &others);
        (manifest.placed, manifest.made) = (None, vec![]);
        if let SkillsDir::Project(rel) = dir {
            let placed = project.join(rel);
            let made = project::place(project, rel, &manifest, &own, &others)?;
            // Whoever is last removes the folders.
            let theirs = others.iter().filter(|(_, other)| other.placed.as_ref() == Some(&placed));
            manifest.made = theirs.flat_map(|(_, other)| other.made.clone()).chain(made).collect();
            manifest.made.sort();
            manifest.made.dedup();
            manifest.placed = Some(placed);
        }
        write_manifest(&own, &manifest).map_err(|error| format!("the skills were not noted: {error}"))
    }

    /// Returns the skills of a session that exists.
    pub(crate) fn of_session(&self, id: &SessionId) -> Option<SessionSkills> {
        let own = self.own(id);
        self.manifest(&own).map(|manifest| skills_of(&own, &manifest))
    }

    /// Removes the skills of a session that is no more.
    pub(crate) fn remove(&self, id: &SessionId) {
        self.remove_own(&self.own(id));
    }

    /// Removes everything that belongs to no session.
    pub(crate) fn sweep<'a>(&self, sessions: impl Iterator<Item = &'a SessionId>) {
        let known: HashSet<PathBuf> = sessions.map(|id| self.own(id)).collect();
        for path in self.folders() {
            if !known.contains(&path) {
                self.remove_own(&path);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.folders().is_empty()
    }

    fn remove_own(&self, own: &Path) {
        let _placing = self.lock();
        if let Some(manifest) = self.manifest(own) {
            project::remove(own, &manifest, &self.others(own));
        }
        if own.exists()
            && let Err(error) = fs::remove_dir_all(own)
        {
            tracing::warn!(folder = %own.display(), %error, "skills are left");
        }
    }

    fn others(&self, own: &Path) -> Vec<(PathBuf, Manifest)> {
        let others = self.folders().into_iter().filter(|path| path != own);
        others.filter_map(|path| self.manifest(&path).map(|manifest| (path, manifest))).collect()
    }

    fn folders(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    fn manifest(&self, own: &Path) -> Option<Manifest> {
        serde_json::from_slice(&fs::read(own.join(MANIFEST)).ok()?).ok()
    }

    fn own(&self, id: &SessionId) -> PathBuf {
        let key: String = sha256(id.to_string().as_bytes()).chars().take(32).collect();
        self.dir.join(key)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.placing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn copy_source(
    source: &Source,
    folder: &Path,
    new: &Path,
    manifest: &mut Manifest,
    budget: &mut Budget,
) -> Result<(), String> {
    let root = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    let base = fs::canonicalize(root.join(&source.subpath));
    let base = base.ok().filter(|base| base.is_dir()).ok_or("`subpath` is no folder of it")?;
    if !base.starts_with(&root) {
        return Err("`subpath` leads out of it".to_owned());
    }
    for skill in find::skills(&base, source.wanted.as_deref())? {
        if manifest.skills.iter().any(|kept| kept.name == skill.name) {
            continue;
        }
        let to = folder_of(new, &skill.name);
        Copier { root: &root, budget }.folder(&skill.folder, &to)?;
        let digest = copy::digest_of(&to).map_err(|error| error.to_string())?;
        manifest.skills.push(Kept { name: skill.name, digest });
    }
    Ok(())
}

fn of_source(source: &Source, why: &str) -> String {
    format!("the skills of {:?}: {why}", source.shown())
}

/// Claude Code finds the skills of a folder below `.claude`.
fn finish(new: &Path, manifest: &Manifest) -> io::Result<()> {
    symlink(".", new.join(".claude"))?;
    write_manifest(new, manifest)
}

fn write_manifest(own: &Path, manifest: &Manifest) -> io::Result<()> {
    let text = serde_json::to_vec(manifest).map_err(io::Error::other)?;
    let half = own.join(format!(".{MANIFEST}"));
    fs::write(&half, text)?;
    fs::rename(half, own.join(MANIFEST))
}

fn skills_of(own: &Path, manifest: &Manifest) -> SessionSkills {
    let names = manifest.skills.iter().map(|skill| skill.name.clone()).collect();
    SessionSkills { dir: own.to_owned(), names }
}

fn folder_of(own: &Path, name: &str) -> PathBuf {
    own.join(SessionSkills::FOLDER).join(name)
}

/// A folder for the time of one installation.
struct Scratch(PathBuf);

impl Scratch {
    fn new(dir: &Path) -> io::Result<Self> {
        let path = dir.join(format!(".{}", uuid::Uuid::now_v7().simple()));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path.join("new").join(SessionSkills::FOLDER))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, dir = %self.0.display(), "a folder was not removed");
        }
    }
}
