//! The names of snapshots: files `refs/sessions/NUMBER/TURN/{before,after,reverted}` with the id of a tree, as git
//! itself keeps refs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use omniglot_schema::TurnId;
use omniglot_store::SessionNo;

pub(super) const BEFORE: &str = "before";
pub(super) const AFTER: &str = "after";
/// The state that a revert has replaced.
pub(super) const REVERTED: &str = "reverted";
/// The state that was replaced when a revert was taken back.
pub(super) const UNREVERTED: &str = "unreverted";
/// The snapshot of a turn that has not begun.
const PENDING: &str = "pending";

/// The id of a tree in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree(String);

impl Tree {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = text.trim();
        (id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| Self(id.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A turn and its place in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnName {
    /// The sequence of its `turn.started`.
    pub seq: u64,
    pub id: TurnId,
}

impl TurnName {
    fn parse(name: &str) -> Option<Self> {
        let (seq, id) = name.split_once('-')?;
        Some(Self { seq: seq.parse().ok()?, id: TurnId(id.to_owned()) })
    }

    fn folder(&self) -> String {
        format!("{:012}-{}", self.seq, self.id.as_str())
    }
}

/// The snapshots of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnTrees {
    pub(super) turn: TurnName,
    pub(super) before: Tree,
    pub(super) after: Option<Tree>,
    pub(super) reverted: Option<Tree>,
    /// When the turn began.
    pub(super) began: SystemTime,
}

/// The turns of a session that have snapshots, oldest first.
pub(super) fn turns(repository: &Path, no: SessionNo) -> Vec<TurnTrees> {
    let session = of_session(repository, no);
    let of_turn = |name: String| {
        let turn = TurnName::parse(&name)?;
        let folder = session.join(&name);
        let read = |what: &str| Tree::parse(&fs::read_to_string(folder.join(what)).ok()?);
        let began = fs::metadata(folder.join(BEFORE)).and_then(|before| before.modified()).ok()?;
        Some(TurnTrees { before: read(BEFORE)?, after: read(AFTER), reverted: read(REVERTED), turn, began })
    };
    let mut turns: Vec<_> = entries(&session).filter_map(of_turn).collect();
    turns.sort_by_key(|trees| trees.turn.seq);
    turns
}

pub(super) fn keep_pending(repository: &Path, no: SessionNo, tree: &Tree) -> io::Result<()> {
    let session = of_session(repository, no);
    fs::create_dir_all(&session)?;
    write(&session, PENDING, tree)
}

pub(super) fn keep(
    repository: &Path,
    no: SessionNo,
    turn: &TurnName,
    what: &str,
    tree: &Tree,
) -> io::Result<()> {
    fs::create_dir_all(of_session(repository, no).join(turn.folder()))?;
    keep_in_turn(repository, no, turn, what, tree)
}

/// As [`keep`], but fails for a turn that is not there any more.
pub(super) fn keep_in_turn(
    repository: &Path,
    no: SessionNo,
    turn: &TurnName,
    what: &str,
    tree: &Tree,
) -> io::Result<()> {
    write(&of_session(repository, no).join(turn.folder()), what, tree)
}

/// Gives a snapshot another name: it counts no more, but it is there until its session is deleted.
pub(super) fn set_aside(repository: &Path, no: SessionNo, turn: &TurnName, what: &str) -> io::Result<()> {
    let folder = of_session(repository, no).join(turn.folder());
    let now = jiff::Timestamp::now().as_microsecond();
    fs::rename(folder.join(what), folder.join(format!("{what}-{now}")))
}

pub(super) fn remove_session(repository: &Path, no: SessionNo) {
    if let Err(error) = fs::remove_dir_all(of_session(repository, no))
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the snapshots of a deleted session");
    }
}

/// The sessions that have snapshots in the repository.
pub(super) fn sessions(repository: &Path) -> impl Iterator<Item = SessionNo> + use<> {
    entries(&repository.join("refs/sessions")).filter_map(|name| name.parse().ok().map(SessionNo))
}

/// The names in a folder; none when it cannot be read.
pub(super) fn entries(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

fn of_session(repository: &Path, no: SessionNo) -> PathBuf {
    repository.join("refs/sessions").join(no.0.to_string())
}

/// Replaces the file at once, so that a killed daemon leaves no half of a name.
fn write(folder: &Path, what: &str, tree: &Tree) -> io::Result<()> {
    let new = folder.join(format!("{what}.lock"));
    fs::write(&new, format!("{}\n", tree.as_str()))?;
    fs::rename(new, folder.join(what))
}
