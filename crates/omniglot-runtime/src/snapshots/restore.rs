//! Reverts a turn: the files that it changed get the content that they had before it, and no other file is touched.
//!
//! The state that is replaced is kept first, as a snapshot by which the revert can be taken back. Git replaces the
//! files; it refuses before the first one when one has changed meanwhile, and follows no link.

mod diff;
mod obstacles;

use std::collections::BTreeMap;
use std::io;
use std::time::SystemTime;

use tokio::time::timeout;

use self::diff::{Diff, Entry};
use super::refs::{self, Tree, TurnTrees};
use super::shadow::Shadow;
use super::{Known, RestoreError, SessionSnapshots, SnapshotError, WORK};

/// The order to restore files.
#[derive(Debug, Clone, Default)]
pub struct Restore {
    /// The turn; otherwise the last one for which there is something to do.
    pub turn: Option<String>,
    /// Also replaces files that were changed since.
    pub force: bool,
    /// Takes a revert back, instead of reverting.
    pub back: bool,
}

/// The result of a restoration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub turn: String,
    /// The files that were written or removed, relative to the session's directory where they are in it.
    pub paths: Vec<String>,
}

/// The content of the paths of a turn after the restoration.
type Targets = BTreeMap<Vec<u8>, Option<Entry>>;

impl SessionSnapshots {
    /// Restores the files that the turn changed.
    pub async fn restore(&self, order: &Restore) -> Result<Restored, RestoreError> {
        let shadow = self.shadow()?;
        let known = self.all.known(shadow.repository());
        let mut known = known.lock().await;
        let turns = refs::turns(shadow.repository(), self.no);
        let trees = match select(turns, order) {
            Err(error @ (RestoreError::NoTurn(_) | RestoreError::NothingLeft)) => {
                // Where none can be taken, that is the reason.
                shadow.take_unless_off(&mut known).await?;
                return Err(error);
            }
            selected => selected?,
        };
        let paths = match timeout(WORK, self.restore_turn(&shadow, &mut known, &trees, order)).await {
            Ok(result) => result?,
            Err(_) => {
                known.tree = None;
                return Err(SnapshotError::Slow(WORK.as_secs()).into());
            }
        };
        let paths = paths.iter().map(|path| shadow.project.shown(path)).collect();
        Ok(Restored { turn: trees.turn.id.to_string(), paths })
    }

    /// Fails where no snapshot can be taken.
    pub(super) async fn require_available(&self) -> Result<(), RestoreError> {
        let shadow = self.shadow()?;
        self.take(&shadow).await?;
        Ok(())
    }

    async fn restore_turn(
        &self,
        shadow: &Shadow,
        known: &mut Known,
        trees: &TurnTrees,
        order: &Restore,
    ) -> Result<Vec<Vec<u8>>, RestoreError> {
        let now = shadow.take(known).await?;
        let after = trees.after.as_ref().unwrap_or(&now);
        let of_turn = shadow.diff(&trees.before, after).await?;
        let (expected, targets) = match order.back {
            false => (after, of_turn.old()),
            true => {
                let replaced = trees.reverted.as_ref().unwrap_or(&trees.before);
                let since = shadow.diff(&trees.before, replaced).await?;
                let target = |(path, old): (Vec<u8>, Option<Entry>)| {
                    let target = since.new_of(&path).cloned().unwrap_or(old);
                    (path, target)
                };
                (&trees.before, of_turn.old().into_iter().map(target).collect())
            }
        };
        let now_differs = shadow.diff(expected, &now).await?;
        let plan = Plan { now: now_differs, of_turn, targets, back: order.back, began: trees.began };
        plan.check(shadow, order.force)?;
        let changed = plan.to_change();
        if !order.back && trees.reverted.is_some() && changed.is_empty() {
            // It is reverted already, and what was replaced then is what can be taken back.
            return Ok(vec![]);
        }
        shadow.require_content(&changed).await?;
        self.keep_replaced(shadow, trees, after, &now, order).map_err(SnapshotError::from)?;
        let applied = if changed.is_empty() { Ok(()) } else { shadow.apply(known, &now, &changed).await };
        // Git removes folders that are empty; the agent works in this one.
        std::fs::create_dir_all(&self.directory).map_err(SnapshotError::from)?;
        if order.back == applied.is_ok() {
            refs::set_aside(shadow.repository(), self.no, &trees.turn, refs::REVERTED)
                .map_err(SnapshotError::from)?;
        }
        applied?;
        Ok(changed.into_keys().collect())
    }

    /// Names the snapshot of the present state, so that nothing is lost whatever happens next.
    fn keep_replaced(
        &self,
        shadow: &Shadow,
        trees: &TurnTrees,
        after: &Tree,
        now: &Tree,
        order: &Restore,
    ) -> io::Result<()> {
        let (folder, turn) = (shadow.repository(), &trees.turn);
        if order.back {
            return refs::keep_in_turn(folder, self.no, turn, refs::UNREVERTED, now);
        }
        if trees.reverted.is_some() {
            refs::set_aside(folder, self.no, turn, refs::REVERTED)?;
        }
        refs::keep_in_turn(folder, self.no, turn, refs::AFTER, after)?;
        refs::keep_in_turn(folder, self.no, turn, refs::REVERTED, now)
    }
}

/// Finds the turn that the order means.
fn select(turns: Vec<TurnTrees>, order: &Restore) -> Result<TurnTrees, RestoreError> {
    let name = order.turn.as_deref();
    let Some(name) = name else {
        let mut turns = turns.into_iter();
        let found = match order.back {
            true => turns.find(|trees| trees.reverted.is_some()).ok_or(RestoreError::NoneReverted),
            false => turns.rfind(|trees| trees.reverted.is_none()).ok_or(RestoreError::NothingLeft),
        };
        return found.and_then(|trees| with_end(trees, order));
    };
    let found = turns.into_iter().find(|trees| trees.turn.id.as_str() == name);
    let trees = found.ok_or_else(|| RestoreError::NoTurn(name.to_owned()))?;
    if order.back && trees.reverted.is_none() {
        return Err(RestoreError::NotReverted(name.to_owned()));
    }
    with_end(trees, order)
}

fn with_end(trees: TurnTrees, order: &Restore) -> Result<TurnTrees, RestoreError> {
    match trees.after.is_some() || order.force {
        true => Ok(trees),
        false => Err(RestoreError::NoEnd(trees.turn.id.to_string())),
    }
}

/// The files to restore, and the state in which they are.
struct Plan {
    of_turn: Diff,
    targets: Targets,
    /// The differences between the state that is expected and the present one.
    now: Diff,
    back: bool,
    began: SystemTime,
}

impl Plan {
    /// The present content of a path that the turn changed, or that has changed since.
    fn present(&self, path: &[u8]) -> Option<&Entry> {
        let expected = || if self.back { self.of_turn.old_of(path) } else { self.of_turn.new_of(path) };
        self.now.new_of(path).or_else(expected)?.as_ref()
    }

    fn to_change(&self) -> Targets {
        let differs = |(path, target): &(&Vec<u8>, &Option<Entry>)| self.present(path) != target.as_ref();
        self.targets.iter().filter(differs).map(|(path, target)| (path.clone(), target.clone())).collect()
    }

    /// Refuses to replace what somebody has changed since, and always what no snapshot has.
    fn check(&self, shadow: &Shadow, force: bool) -> Result<(), RestoreError> {
        let changed = self.to_change();
        let shown = |paths: Vec<Vec<u8>>| paths.iter().map(|path| shadow.project.shown(path)).collect();
        let unsaved = obstacles::unsaved(&shadow.project.top, &changed, self.began, |path| {
            self.present(path).is_some()
        });
        if !unsaved.is_empty() {
            return Err(RestoreError::InTheWay { paths: shown(unsaved) });
        }
        let is_other = |path: &&Vec<u8>| match self.targets.contains_key(*path) {
            true => changed.contains_key(*path),
            false => self.present(path).is_some() && obstacles::excludes(&changed, path),
        };
        let others: Vec<Vec<u8>> = self.now.paths().filter(is_other).cloned().collect();
        if !force && !others.is_empty() {
            return Err(RestoreError::Changed { paths: shown(others) });
        }
        Ok(())
    }
}

impl Shadow {
    /// Refuses entries whose content is gone: it may be borrowed from the project's repository, which was cleaned up.
    async fn require_content(&self, changes: &Targets) -> Result<(), SnapshotError> {
        let ids = changes.values().flatten().flat_map(|entry| [entry.id.as_bytes(), b"\n"].concat());
        let found = self.git.run(&["cat-file", "--batch-check"], &ids.collect::<Vec<_>>()).await?;
        let missing =
            String::from_utf8_lossy(&found).lines().filter(|line| line.ends_with(" missing")).count();
        match missing {
            0 => Ok(()),
            _ => Err(SnapshotError::Failed(format!(
                "the content of {missing} files is gone with objects of the project's repository"
            ))),
        }
    }

    /// Makes the work tree, which is as `now`, have these entries.
    async fn apply(&self, known: &mut Known, now: &Tree, changes: &Targets) -> Result<(), RestoreError> {
        let scratch = self.git.with_index("restore");
        scratch.run(&["read-tree", now.as_str()], b"").await?;
        let words = ["update-index", "-z", "--add", "--replace", "--index-info"];
        scratch.run(&words, &index_info(changes)).await?;
        let target = self.write_tree(&scratch).await?;
        // A file that was only touched counts as changed until it is looked at; a failure is told by the next step.
        drop(self.git.run(&["update-index", "-q", "--refresh"], b"").await);
        known.tree = None;
        match self.git.run(&["read-tree", "-m", "-u", now.as_str(), target.as_str()], b"").await {
            Ok(_) => known.tree = Some(target),
            Err(SnapshotError::Failed(why)) => return Err(refused(&why)),
            Err(other) => return Err(other.into()),
        }
        Ok(())
    }
}

/// Git names each file that has changed meanwhile in quotes.
fn refused(why: &str) -> RestoreError {
    let is_change = why.contains("not uptodate") || why.contains("would be overwritten");
    let paths: Vec<String> = why.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
    match is_change && !paths.is_empty() {
        true => RestoreError::Changed { paths },
        false => SnapshotError::Failed(why.to_owned()).into(),
    }
}

/// The input of `git update-index --index-info`: removals first, so that a folder makes way for a file.
fn index_info(changes: &Targets) -> Vec<u8> {
    let gone = changes.iter().filter(|(_, entry)| entry.is_none());
    let there = changes.iter().filter_map(|(path, entry)| Some((path, entry.as_ref()?)));
    let gone = gone.map(|(path, _)| line("0", &"0".repeat(40), path));
    gone.chain(there.map(|(path, entry)| line(&entry.mode, &entry.id, path))).flatten().collect()
}

fn line(mode: &str, id: &str, path: &[u8]) -> Vec<u8> {
    [mode.as_bytes(), b" ", id.as_bytes(), b"\t", path, b"\0"].concat()
}
