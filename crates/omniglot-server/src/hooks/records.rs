//! The rows of hooks in the store: how far each has come, and its dead letters.

use std::collections::HashMap;

use omniglot_runtime::CommitPosition;
use omniglot_schema::{DeadLetter, EventId};
use omniglot_store::{HookRow, Store, StoreError, StoredHookRow};
use serde::{Deserialize, Serialize};

use super::links::LINK;

pub(super) const CURSOR: &str = "cursor";
pub(super) const DEAD: &str = "dead";

/// How far a hook has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    no: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partly: Option<u64>,
    /// The digest of the address that this is about.
    address: String,
    /// The receiver wants no more calls.
    #[serde(default)]
    pub(super) disabled: bool,
}

impl Progress {
    pub(super) fn new(position: CommitPosition, address: String, disabled: bool) -> Self {
        let CommitPosition { no, partly } = position;
        Self { no, partly, address, disabled }
    }

    pub(super) fn position(&self) -> CommitPosition {
        CommitPosition { no: self.no, partly: self.partly }
    }

    /// Whether it was disabled at this address: another one is tried.
    pub(super) fn is_disabled_at(&self, address: &str) -> bool {
        self.disabled && self.address == address
    }

    pub(super) fn row(&self, hook: &str) -> HookRow {
        row(CURSOR, hook, "", serde_json::to_string(self).ok())
    }
}

pub(super) fn dead_row(hook: &str, letter: &DeadLetter) -> HookRow {
    row(DEAD, hook, letter.id.as_str(), serde_json::to_string(letter).ok())
}

pub(super) fn no_dead_row(hook: &str, id: &EventId) -> HookRow {
    row(DEAD, hook, id.as_str(), None)
}

fn row(kind: &'static str, hook: &str, name: &str, value: Option<String>) -> HookRow {
    HookRow { kind, hook: hook.to_owned(), name: name.to_owned(), value }
}

/// The rows that an earlier daemon has left.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) progress: HashMap<String, Progress>,
    pub(super) dead: HashMap<String, Vec<DeadLetter>>,
}

impl Left {
    /// Reads the rows, and removes those of hooks that are not there any more.
    pub(super) async fn load(store: &Store, names: &[&str]) -> Result<Self, StoreError> {
        let mut left = Self::default();
        let mut gone = vec![];
        for kind in [CURSOR, DEAD, LINK] {
            for StoredHookRow { hook, name, value } in store.hook_rows(kind).await? {
                if !names.contains(&hook.as_str()) {
                    gone.push(row(kind, &hook, &name, None));
                } else if kind == CURSOR {
                    left.progress.extend(serde_json::from_str(&value).ok().map(|read| (hook, read)));
                } else if kind == DEAD
                    && let Ok(letter) = serde_json::from_str(&value)
                {
                    left.dead.entry(hook).or_default().push(letter);
                }
            }
        }
        if !gone.is_empty() {
            drop(store.keep_hook_rows(gone));
        }
        for letters in left.dead.values_mut() {
            letters.sort_by_key(|letter: &DeadLetter| (letter.died_at, letter.sequence));
        }
        Ok(left)
    }
}
