//! A git worktree of a session's own: made with the session, removed with it when nothing in it would be lost.
//!
//! Git works here as the user's own command would, but for hooks: the project's repository gets a branch and a
//! worktree, which lies below the data directory.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use omniglot_agents::LaunchSpec;
use omniglot_schema::{CreateSessionRequest, Worktree};
use omniglot_store::{ListFilter, SessionRecord};

use super::{Hub, present};
use crate::agent::run_command;
use crate::error::RuntimeError;
use crate::process::{Launch, SpawnError, Supervisor};

/// The folder of the data directory that has all worktrees.
const FOLDER: &str = "worktrees";
/// How long git may take; it writes all files of the project.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A worktree and the directory in it that corresponds to the session's.
#[derive(Debug)]
pub(super) struct SessionWorktree {
    top: PathBuf,
    branch: String,
    supervisor: Supervisor,
}

impl Hub {
    /// Makes a worktree of the project around the session's directory, if the request wants one, and names it as the
    /// session's directory.
    pub(super) async fn add_worktree(
        &self,
        request: &mut CreateSessionRequest,
    ) -> Result<Option<SessionWorktree>, RuntimeError> {
        if !request.worktree {
            return Ok(None);
        }
        let refuse = |why: String| RuntimeError::InvalidRequest(format!("`worktree`: {why}"));
        let directory = PathBuf::from(request.directory.as_deref().unwrap_or_default());
        let top =
            git(self.supervisor(), &directory, &["rev-parse", "--show-toplevel"]).await.map_err(refuse)?;
        let inner = directory.strip_prefix(top.trim_end_matches('\n')).unwrap_or(Path::new("")).to_owned();
        let name = super::create::new_seed();
        let folder = self.inner.data_dir.join(FOLDER);
        std::fs::create_dir_all(&folder).map_err(|error| refuse(error.to_string()))?;
        let folder = folder.canonicalize().map_err(|error| refuse(error.to_string()))?;
        let worktree = SessionWorktree {
            top: folder.join(&name),
            branch: branch_of(&name),
            supervisor: self.supervisor().clone(),
        };
        let path = worktree.top.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "-b", &worktree.branch, &path, "HEAD"];
        if let Err(why) = git(self.supervisor(), &directory, &add).await {
            worktree.remove().await;
            return Err(refuse(why));
        }
        let inner = worktree.top.join(inner);
        if !inner.is_dir() {
            worktree.remove().await;
            return Err(refuse(format!("{} has no commit in the project", directory.display())));
        }
        // Without the slash at the end that an empty inner path would add.
        request.directory = Some(inner.components().collect::<PathBuf>().to_string_lossy().into_owned());
        Ok(Some(worktree))
    }

    /// Returns the worktree of a session that was made with one.
    pub(super) fn worktree_of(&self, record: &SessionRecord) -> Option<SessionWorktree> {
        let request = present::request(record).ok().filter(|request| request.worktree)?;
        let (folder, name) = split(Path::new(request.directory.as_deref()?))?;
        let top = folder.join(&name);
        Some(SessionWorktree { top, branch: branch_of(&name), supervisor: self.supervisor().clone() })
    }

    /// Refuses when something would be lost with the worktree, or another session works in it.
    pub(super) async fn check_unused(
        &self,
        record: &SessionRecord,
        worktree: &SessionWorktree,
    ) -> Result<(), RuntimeError> {
        let all = self.inner.store.list(ListFilter::default()).await?;
        let others = all.iter().filter(|other| other.no != record.no);
        let mut in_it = others.filter(|other| {
            let request = present::request(other).ok();
            let directory = request.and_then(|request| request.directory);
            directory.is_some_and(|directory| Path::new(&directory).starts_with(&worktree.top))
        });
        if let Some(other) = in_it.next() {
            let path = worktree.top.to_string_lossy().into_owned();
            return Err(RuntimeError::WorktreeShared { path, other: other.id.to_string() });
        }
        worktree.check_unused().await
    }

    fn supervisor(&self) -> &Supervisor {
        &self.inner.launcher.supervisor
    }
}

impl SessionWorktree {
    /// Refuses when something would be lost with the worktree.
    async fn check_unused(&self) -> Result<(), RuntimeError> {
        if !self.top.join(".git").exists() {
            return Ok(());
        }
        let in_use = |what: &str| RuntimeError::WorktreeInUse {
            what: what.to_owned(),
            path: self.top.to_string_lossy().into_owned(),
            branch: self.branch.clone(),
        };
        let status = git(&self.supervisor, &self.top, &["status", "--porcelain"]).await;
        match status {
            Ok(changes) if changes.trim().is_empty() => {}
            Ok(_) => return Err(in_use("uncommitted changes")),
            Err(why) => return Err(in_use(&format!("an unknown state ({why})"))),
        }
        let exclude = format!("--exclude={}", self.branch);
        // The agent may have switched to another branch, or removed this one. A pattern without a wildcard would
        // mean the branches below.
        let own = format!("--branches=[o]{}", self.branch.strip_prefix('o').unwrap_or(&self.branch));
        let unmerged = [
            "rev-list",
            "--max-count=1",
            "HEAD",
            &own,
            "--not",
            &exclude,
            "--branches",
            "--remotes",
            "--tags",
        ];
        match git(&self.supervisor, &self.top, &unmerged).await {
            Ok(commits) if commits.trim().is_empty() => Ok(()),
            Ok(_) => Err(in_use("commits that no other branch has")),
            Err(why) => Err(in_use(&format!("an unknown state ({why})"))),
        }
    }

    /// Removes the worktree and its branch. What git cannot remove, because its project is gone, is removed as files.
    pub(super) async fn remove(self) {
        let project = git(&self.supervisor, &self.top, &["rev-parse", "--git-common-dir"]).await;
        let path = self.top.to_string_lossy().into_owned();
        if let Ok(project) = project {
            let project = self.top.join(project.trim_end());
            let remove: [&[&str]; 2] = [
                &["worktree", "remove", "--force", "--force", &path],
                &["branch", "--quiet", "-D", &self.branch],
            ];
            for words in remove {
                if let Err(why) = git(&self.supervisor, &project, words).await {
                    tracing::warn!(why, path, "the worktree of a session");
                }
            }
        }
        if self.top.exists()
            && let Err(error) = std::fs::remove_dir_all(&self.top)
        {
            tracing::warn!(%error, path, "the worktree of a session");
        }
    }
}

/// Describes the worktree of a session by the request that it was made with.
pub(super) fn shown(request: &CreateSessionRequest) -> Option<Worktree> {
    let directory = Path::new(request.directory.as_deref().filter(|_| request.worktree)?);
    let (folder, name) = split(directory)?;
    Some(Worktree { path: folder.join(&name).to_string_lossy().into_owned(), branch: branch_of(&name) })
}

/// Splits the directory of a session behind the folder of all worktrees.
fn split(directory: &Path) -> Option<(PathBuf, String)> {
    let parts: Vec<Component<'_>> = directory.components().collect();
    let place = parts.iter().rposition(|part| part.as_os_str() == FOLDER)?;
    let name = parts.get(place + 1)?.as_os_str().to_str()?.to_owned();
    Some((parts.iter().take(place + 1).collect(), name))
}

fn branch_of(name: &str) -> String {
    format!("omniglot/{name}")
}

/// Runs git as its user would, but without hooks and prompts; its words when it fails.
async fn git(supervisor: &Supervisor, directory: &Path, words: &[&str]) -> Result<String, String> {
    let settings = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"];
    let args = settings.iter().chain(words).map(|word| (*word).to_owned()).collect();
    let env = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("LC_ALL", "C")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    let launch = Launch::new(LaunchSpec { program: "git".to_owned(), args, env }, directory.to_owned());
    let finished = run_command::run(supervisor, &launch, TIMEOUT).await.map_err(|error| match error {
        SpawnError::NotFound { .. } => "git is not installed".to_owned(),
        other => other.to_string(),
    })?;
    if finished.succeeded() {
        Ok(finished.text)
    } else {
        Err(format!("git says: {}", finished.last_lines(3)))
    }
}
