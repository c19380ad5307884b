//! The sessions that were looked at last: a client that opens one asks five times for it, and a long log is
//! read but once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniglot_schema::SessionId;

use super::live::Live;

/// How many are kept.
const KEPT: usize = 8;

pub(super) type Shared = Arc<tokio::sync::Mutex<Live>>;

/// The last one used stands first.
#[derive(Default)]
pub(super) struct Shelf {
    kept: Mutex<VecDeque<(SessionId, Shared)>>,
}

impl Shelf {
    pub(super) fn find(&self, id: &SessionId) -> Option<Shared> {
        let mut kept = self.kept();
        let place = kept.iter().position(|(kept, _)| kept == id)?;
        let found = kept.remove(place)?;
        let live = found.1.clone();
        kept.push_front(found);
        Some(live)
    }

    /// Keeps it, unless there is one of that id already; returns the one that is kept.
    pub(super) fn keep(&self, id: &SessionId, live: Live) -> Shared {
        if let Some(known) = self.find(id) {
            return known;
        }
        let live: Shared = Arc::new(tokio::sync::Mutex::new(live));
        let mut kept = self.kept();
        kept.push_front((id.clone(), live.clone()));
        kept.truncate(KEPT);
        live
    }

    pub(super) fn remove(&self, id: &SessionId) {
        self.kept().retain(|(kept, _)| kept != id);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(SessionId, Shared)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
