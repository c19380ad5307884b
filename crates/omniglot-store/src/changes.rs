//! Reports which sessions have changed to followers of all sessions at once.
//!
//! Carries no events: a follower receives the session whose log grew and the sequence from which to read, and
//! reads like any other subscriber. A follower has at most one pending entry per session, however slow it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use crate::types::{SessionNo, SessionRecord};

/// The change of a session since its follower's last call of [`Changes::next`].
#[derive(Debug, Clone)]
pub enum SessionChange {
    /// There are events after this sequence; a new session has them after 0.
    Grown { after: u64 },
    /// Carries the last row, since it can no longer be read; `None` when that row was damaged.
    Deleted(Option<Arc<SessionRecord>>),
    /// Another session has this id since; that session is reported like any new one.
    Replaced,
}

/// One follower's view. Dropping it ends the following.
#[derive(Debug)]
pub struct Changes {
    pending: Arc<Pending>,
}

impl Changes {
    /// Returns all sessions that changed since the last call, at least one; `None` once the store is closed.
    ///
    /// Cancel-safe: nothing is taken before it is returned.
    pub async fn next(&mut self) -> Option<Vec<(SessionNo, SessionChange)>> {
        loop {
            let notify = self.pending.notify.notified();
            {
                let mut heap = self.pending.heap.lock().unwrap_or_else(PoisonError::into_inner);
                if !heap.changed.is_empty() {
                    return Some(std::mem::take(&mut heap.changed).into_iter().collect());
                }
                if heap.closed {
                    return None;
                }
            }
            notify.await;
        }
    }
}

#[derive(Debug, Default)]
struct Pending {
    heap: Mutex<Heap>,
    notify: Notify,
}

#[derive(Debug, Default)]
struct Heap {
    /// An id that was deleted and used again is two sessions, the older first.
    changed: BTreeMap<SessionNo, SessionChange>,
    closed: bool,
}

impl Pending {
    fn change(&self, change: impl FnOnce(&mut Heap)) {
        change(&mut self.heap.lock().unwrap_or_else(PoisonError::into_inner));
        self.notify.notify_one();
    }
}

/// All followers.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    followers: Mutex<Vec<Weak<Pending>>>,
}

impl Followers {
    pub(crate) fn join(&self) -> Changes {
        let pending = Arc::new(Pending::default());
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&pending));
        Changes { pending }
    }

    pub(crate) fn grown(&self, no: SessionNo, after: u64) {
        self.tell(|heap| {
            // The first growth that was not taken yet gives the position to read from.
            heap.changed.entry(no).or_insert(SessionChange::Grown { after });
        });
    }

    pub(crate) fn removed(&self, no: SessionNo, change: SessionChange) {
        self.tell(|heap| {
            heap.changed.insert(no, change.clone());
        });
    }

    pub(crate) fn close(&self) {
        self.tell(|heap| heap.closed = true);
    }

    fn tell(&self, change: impl Fn(&mut Heap)) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|pending| {
            let alive = pending.upgrade();
            if let Some(pending) = &alive {
                pending.change(&change);
            }
            alive.is_some()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The session numbers, and after which sequence each has grown; `None` for a deleted session.
    async fn told(news: &mut Changes) -> Vec<(i64, Option<u64>)> {
        let told = |(no, change): (SessionNo, SessionChange)| match change {
            SessionChange::Grown { after } => (no.0, Some(after)),
            SessionChange::Deleted(_) | SessionChange::Replaced => (no.0, None),
        };
        news.next().await.unwrap().into_iter().map(told).collect()
    }

    #[tokio::test]
    async fn many_commits_of_a_session_are_one_entry_from_the_first_on() {
        let followers = Followers::default();
        followers.grown(SessionNo(1), 0);
        let mut news = followers.join();
        followers.grown(SessionNo(2), 7);
        followers.grown(SessionNo(2), 9);
        followers.grown(SessionNo(1), 3);
        assert_eq!(told(&mut news).await, [(1, Some(3)), (2, Some(7))]);
        followers.grown(SessionNo(2), 11);
        assert_eq!(told(&mut news).await, [(2, Some(11))]);
    }

    #[tokio::test]
    async fn an_id_used_again_is_told_as_gone_and_then_as_new() {
        let followers = Followers::default();
        let mut news = followers.join();
        followers.grown(SessionNo(1), 3);
        followers.removed(SessionNo(1), SessionChange::Replaced);
        followers.grown(SessionNo(2), 0);
        followers.close();
        assert_eq!(told(&mut news).await, [(1, None), (2, Some(0))]);
        assert!(news.next().await.is_none(), "what was told before the end is not lost");
    }
}
