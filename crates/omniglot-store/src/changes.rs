//! Which sessions have changed, for those who follow all of them at once.
//!
//! Carries no events: a follower is told whose log grew and from where on, and reads it like any other
//! subscriber. What it has not taken yet is one entry per session at most, however slow it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use crate::types::{SessionNo, SessionRecord};

/// What became of a session since its follower last asked.
#[derive(Debug, Clone)]
pub enum SessionChange {
    /// There are events after this sequence; a new session has them after 0.
    Grown { after: u64 },
    /// With its last row, since nobody can ask for it any more; `None` when that was damaged.
    Deleted(Option<Arc<SessionRecord>>),
    /// Another session has its id since; that one is told as any new one.
    Replaced,
}

/// One follower's view. Dropping it ends the following.
#[derive(Debug)]
pub struct Changes {
    pending: Arc<Pending>,
}

impl Changes {
    /// All sessions that changed since the last call, at least one; `None` once the store is closed.
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

/// Everybody who follows.
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
            // The first growth that was not taken yet says where to read on.
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

    /// Numbers, and after which sequence each has grown; `None` for one that is no more.
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
