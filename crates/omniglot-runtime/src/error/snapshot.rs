//! Why there is no snapshot, and why a turn cannot be reverted.

use std::io;

/// A directory with more files has no snapshots.
pub(crate) const MAX_SNAPSHOT_FILES: usize = 50_000;

/// The reason for which a directory has no snapshot.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum SnapshotError {
    #[error("`snapshots = false` in omniglot.toml")]
    Disabled,
    #[error("git is not installed")]
    NoGit,
    #[error("{0}")]
    Excluded(&'static str),
    #[error("the directory has more than {} files that git does not ignore", MAX_SNAPSHOT_FILES)]
    TooManyFiles,
    #[error("git was not done within {0} s")]
    Slow(u64),
    #[error("{0}")]
    Failed(String),
}

impl SnapshotError {
    /// Whether a person would be surprised: the others are choices, or the same for every session.
    pub(crate) fn is_worth_telling(&self) -> bool {
        match self {
            Self::Disabled | Self::NoGit | Self::Excluded(_) => false,
            Self::TooManyFiles | Self::Slow(_) | Self::Failed(_) => true,
        }
    }
}

impl From<io::Error> for SnapshotError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A refused restoration: no file was changed, unless it says so.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum RestoreError {
    #[error("there is no snapshot: {0}")]
    Unavailable(#[from] SnapshotError),
    #[error("there is no snapshot of turn {0}")]
    NoTurn(String),
    #[error("there is no turn with a snapshot that is not reverted yet")]
    NothingLeft,
    #[error("no turn is reverted")]
    NoneReverted,
    #[error("turn {0} is not reverted")]
    NotReverted(String),
    #[error(
        "the end of turn {0} was not recorded: everything that has changed since it began would be restored"
    )]
    NoEnd(String),
    #[error("{} changed since: {}", files(paths.len()), some(paths))]
    Changed { paths: Vec<String> },
    #[error("in the way, and in no snapshot (too large, ignored or unreadable): {}", some(paths))]
    InTheWay { paths: Vec<String> },
}

impl RestoreError {
    pub(super) fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unavailable(SnapshotError::NoGit) => "install git where the daemon's PATH has it",
            Self::Unavailable(SnapshotError::Disabled) => {
                "remove the key and restart the daemon; turns from then on can be reverted"
            }
            Self::NoTurn(_) => {
                "`turn.started` events name the turns; those that the agent began itself, and those of a session that this one is a fork of, have no snapshot"
            }
            Self::NoEnd(_) => "`force` restores it all the same",
            Self::Changed { .. } => {
                "`force` restores the other content all the same; unrevert brings this one back"
            }
            Self::InTheWay { .. } => "move these files away first",
            Self::Unavailable(_) | Self::NothingLeft | Self::NoneReverted | Self::NotReverted(_) => {
                return None;
            }
        })
    }

    /// The files that are in the way.
    pub fn paths(&self) -> &[String] {
        match self {
            Self::Changed { paths } | Self::InTheWay { paths } => paths,
            _ => &[],
        }
    }
}

fn files(count: usize) -> String {
    if count == 1 { "1 file has".to_owned() } else { format!("{count} files have") }
}

/// The first paths of a list, for a sentence.
pub(crate) fn some(paths: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let rest = paths.len().saturating_sub(SHOWN);
    if rest == 0 { shown } else { format!("{shown} and {rest} more") }
}
