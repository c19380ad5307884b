//! Snapshots of sessions' directories before and after each turn, and their restoration.
//!
//! Each directory has a bare repository of our own below `private/snapshots`, whose refs name session and turn; the
//! project's repository is only read. Paths are relative to the top of the project: where that is another one, because
//! somebody ran `git init`, the snapshots are others, too. Git does the work. Nothing here fails a turn: one without snapshots goes on.

mod changes;
mod git;
mod project;
mod refs;
mod restore;
mod rewind;
mod shadow;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniglot_store::{SessionNo, private};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

pub use crate::error::{RestoreError, SnapshotError};
use crate::process::Supervisor;
use project::Project;
pub use refs::{Tree, TurnName};
pub use restore::{Restore, Restored};
pub use rewind::{Rewind, Rewound};
use shadow::Shadow;

/// How long a turn waits for its snapshot.
const WAIT: Duration = Duration::from_secs(10);
/// How long git may work on one snapshot: the first of a large directory takes longer than anybody waits for it.
const WORK: Duration = Duration::from_secs(120);
/// How long a directory that cannot be kept is left alone.
const PAUSE: Duration = Duration::from_secs(600);

/// The snapshots of all sessions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Snapshots {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    enabled: bool,
    data_dir: PathBuf,
    home: Option<PathBuf>,
    supervisor: Supervisor,
    repositories: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<Known>>>>,
    /// Sessions that were told why they have no snapshots.
    told: Mutex<HashSet<SessionNo>>,
    tasks: TaskTracker,
}

/// The state of a repository that is known without asking git.
#[derive(Debug, Default)]
struct Known {
    /// The tree of the index as it is.
    tree: Option<Tree>,
    off: Option<(SnapshotError, Instant)>,
}

/// The snapshots of one session. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionSnapshots {
    all: Snapshots,
    no: SessionNo,
    directory: PathBuf,
}

/// The snapshot before a turn, or the reason for its absence.
#[derive(Debug, Clone)]
pub enum Before {
    /// Taken from the state at this moment.
    Taken(Tree, Instant),
    Missing(SnapshotError),
}

impl Snapshots {
    /// `tasks` are waited for when the daemon stops.
    pub fn new(enabled: bool, data_dir: &Path, supervisor: Supervisor, tasks: TaskTracker) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let inner = Inner {
            enabled,
            data_dir: real(data_dir.to_owned()),
            home: std::env::var_os("HOME").map(PathBuf::from).map(real),
            supervisor,
            repositories: Mutex::default(),
            told: Mutex::default(),
            tasks,
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn of_session(&self, no: SessionNo, directory: &Path) -> SessionSnapshots {
        SessionSnapshots { all: self.clone(), no, directory: directory.to_owned() }
    }

    fn folder(&self) -> PathBuf {
        private(&self.inner.data_dir).join("snapshots")
    }

    pub fn are_empty(&self) -> bool {
        refs::entries(&self.folder()).next().is_none()
    }

    /// Removes the snapshots of sessions that are not there any more, as a daemon that died has left them.
    pub fn sweep(&self, exists: impl Fn(SessionNo) -> bool) {
        for folder in refs::entries(&self.folder()).map(|name| self.folder().join(name)) {
            let gone = refs::sessions(&folder).filter(|no| !exists(*no));
            gone.for_each(|no| refs::remove_session(&folder, no));
            if refs::sessions(&folder).next().is_none() {
                remove_folder(&folder);
            }
        }
    }

    fn known(&self, repository: &Path) -> Arc<tokio::sync::Mutex<Known>> {
        lock(&self.inner.repositories).entry(repository.to_owned()).or_default().clone()
    }

    fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.inner.tasks.spawn(work)
    }
}

impl SessionSnapshots {
    /// Takes the snapshot before the next turn; waits for it within bounds.
    pub async fn before(&self) -> Before {
        let (session, began) = (self.clone(), Instant::now());
        let pending = async move {
            let shadow = session.shadow()?;
            let tree = session.take(&shadow).await?;
            refs::keep_pending(shadow.repository(), session.no, &tree)?;
            Ok(tree)
        };
        match self.within_bounds(pending).await {
            Ok(tree) => Before::Taken(tree, began),
            Err(error) => Before::Missing(error),
        }
    }

    /// Keeps the snapshot that was taken before the turn.
    pub fn begin(&self, turn: &TurnName, before: &Tree) {
        let kept = self
            .shadow()
            .and_then(|shadow| Ok(refs::keep(shadow.repository(), self.no, turn, refs::BEFORE, before)?));
        if let Err(error) = kept {
            tracing::warn!(%error, "the snapshot before a turn is not kept");
        }
    }

    /// Takes the snapshot after the turn, in a task.
    pub fn after(&self, turn: TurnName) -> JoinHandle<Result<(), SnapshotError>> {
        let session = self.clone();
        let pending = async move {
            let shadow = session.shadow()?;
            let tree = session.take(&shadow).await?;
            Ok(refs::keep_in_turn(shadow.repository(), session.no, &turn, refs::AFTER, &tree)?)
        };
        let session = self.clone();
        self.all.spawn(async move { session.within_bounds(pending).await })
    }

    /// Runs in a task, which also goes on when its caller does not wait for it.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.all.spawn(work)
    }

    /// Whether nothing is to be waited for.
    pub fn are_disabled(&self) -> bool {
        !self.all.inner.enabled
    }

    /// Whether the session is to be told about the error; each is told once.
    pub fn is_news(&self, error: &SnapshotError) -> bool {
        error.is_worth_telling() && lock(&self.all.inner.told).insert(self.no)
    }

    /// Removes everything that is kept of the session. Garbage is collected in the background.
    pub async fn forget(&self) {
        let name = self.name();
        let of_directory = refs::entries(&self.all.folder()).filter(|entry| entry.starts_with(&name));
        for repository in of_directory.map(|entry| self.all.folder().join(entry)) {
            let known = self.all.known(&repository);
            let mut known = known.lock().await;
            refs::remove_session(&repository, self.no);
            if refs::sessions(&repository).next().is_none() {
                known.tree = None;
                remove_folder(&repository);
                drop(known);
                lock(&self.all.inner.repositories).remove(&repository);
                continue;
            }
            drop(known);
            if let Ok(shadow) = self.shadow()
                && shadow.repository() == repository
            {
                let all = self.all.clone();
                self.all.spawn(async move {
                    let known = all.known(&repository);
                    let _known = known.lock().await;
                    if timeout(WORK, shadow.collect_garbage()).await.is_err() {
                        tracing::warn!("snapshots of deleted sessions are not collected yet");
                    }
                });
            }
        }
    }

    /// Waits within bounds. Work that takes longer goes on in the background, so that the next snapshot is a quick one.
    async fn within_bounds<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, SnapshotError>> + Send + 'static,
    ) -> Result<T, SnapshotError> {
        match timeout(WAIT, self.all.spawn(work)).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(SnapshotError::Failed("its task has ended".into())),
            Err(_) => Err(SnapshotError::Slow(WAIT.as_secs())),
        }
    }

    async fn take(&self, shadow: &Shadow) -> Result<Tree, SnapshotError> {
        let known = self.all.known(shadow.repository());
        let mut known = known.lock().await;
        shadow.take_unless_off(&mut known).await
    }

    fn shadow(&self) -> Result<Shadow, SnapshotError> {
        let Inner { enabled, data_dir, home, supervisor, .. } = &*self.all.inner;
        if !enabled {
            return Err(SnapshotError::Disabled);
        }
        let project = Project::of(&self.directory, home.as_deref(), data_dir)?;
        let top = digest(project.top.as_os_str().as_encoded_bytes());
        let repository = self.all.folder().join(format!("{}-{top}", self.name()));
        Ok(Shadow::new(repository, project, supervisor.clone()))
    }

    /// The beginning of the names of the directory's repositories.
    fn name(&self) -> String {
        digest(self.directory.as_os_str().as_encoded_bytes())
    }
}

/// A name of 32 characters.
fn digest(bytes: &[u8]) -> String {
    crate::digest::sha256(bytes).chars().take(32).collect()
}

impl Shadow {
    async fn take_unless_off(&self, known: &mut Known) -> Result<Tree, SnapshotError> {
        if let Some((error, since)) = &known.off
            && since.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        let began = Instant::now();
        let taken = match timeout(WORK, self.take(known)).await {
            Ok(taken) => taken,
            Err(_) => Err(SnapshotError::Slow(WORK.as_secs())),
        };
        tracing::debug!(took = ?began.elapsed(), error = taken.as_ref().err().map(tracing::field::display), "a snapshot");
        known.off = match &taken {
            Err(error @ (SnapshotError::TooManyFiles | SnapshotError::Slow(_))) => {
                Some((error.clone(), Instant::now()))
            }
            _ => None,
        };
        taken
    }
}

fn remove_folder(folder: &Path) {
    if let Err(error) = std::fs::remove_dir_all(folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "snapshots of deleted sessions");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
