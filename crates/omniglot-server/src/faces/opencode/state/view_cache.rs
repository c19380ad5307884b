//! The sessions that were read last: a client that opens one requests it five times, and a long log is read
//! but once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniglot_store::SessionNo;

use super::session_view::SessionView;

/// The number of sessions that are kept.
const KEPT: usize = 8;

pub(super) type Shared = Arc<tokio::sync::Mutex<SessionView>>;

/// The last used session is first.
#[derive(Default)]
pub(super) struct ViewCache {
    kept: Mutex<VecDeque<(SessionNo, Shared)>>,
}

impl ViewCache {
    pub(super) fn find(&self, no: SessionNo) -> Option<Shared> {
        let mut kept = self.kept();
        let place = kept.iter().position(|(kept, _)| *kept == no)?;
        let found = kept.remove(place)?;
        let live = found.1.clone();
        kept.push_front(found);
        Some(live)
    }

    /// Keeps the view, unless the session has one already; returns the one that is kept.
    pub(super) fn keep(&self, no: SessionNo, live: SessionView) -> Shared {
        if let Some(known) = self.find(no) {
            return known;
        }
        let live: Shared = Arc::new(tokio::sync::Mutex::new(live));
        let mut kept = self.kept();
        kept.push_front((no, live.clone()));
        kept.truncate(KEPT);
        live
    }

    pub(super) fn all(&self) -> Vec<Shared> {
        self.kept().iter().map(|(_, live)| live.clone()).collect()
    }

    pub(super) fn remove(&self, no: SessionNo) {
        self.kept().retain(|(kept, _)| *kept != no);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(SessionNo, Shared)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
