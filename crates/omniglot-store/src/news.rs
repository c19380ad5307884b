//! Which sessions have changed, for those who follow all of them at once.
//!
//! Carries no events: a follower is told whose log grew and from where on, and reads it like any other
//! subscriber. What it has not taken yet is one entry per session at most, however slow it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use omniglot_schema::SessionId;
use tokio::sync::Notify;

use crate::types::SessionNo;

/// What became of a session since its follower last asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// There are events after this sequence; a new session has them after 0.
    Grown {
        after: u64,
    },
    Deleted,
}

/// One follower's view. Dropping it ends the following.
#[derive(Debug)]
pub struct News {
    pile: Arc<Pile>,
}

impl News {
    /// All sessions that changed since the last call, at least one; `None` once the store is closed.
    ///
    /// Cancel-safe: nothing is taken before it is returned.
    pub async fn next(&mut self) -> Option<Vec<(SessionId, Fate)>> {
        loop {
            let bell = self.pile.bell.notified();
            {
                let mut heap = self.pile.heap.lock().unwrap_or_else(PoisonError::into_inner);
                if !heap.changed.is_empty() {
                    return Some(std::mem::take(&mut heap.changed).into_values().collect());
                }
                if heap.closed {
                    return None;
                }
            }
            bell.await;
        }
    }
}

#[derive(Debug, Default)]
struct Pile {
    heap: Mutex<Heap>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Heap {
    /// By number: an id that was deleted and used again is two sessions, the older first.
    changed: BTreeMap<SessionNo, (SessionId, Fate)>,
    closed: bool,
}

impl Pile {
    fn change(&self, change: impl FnOnce(&mut Heap)) {
        change(&mut self.heap.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.notify_one();
    }
}

/// Everybody who follows.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    piles: Mutex<Vec<Weak<Pile>>>,
}

impl Followers {
    pub(crate) fn join(&self) -> News {
        let pile = Arc::new(Pile::default());
        self.piles.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&pile));
        News { pile }
    }

    pub(crate) fn grown(&self, no: SessionNo, id: &SessionId, after: u64) {
        self.tell(|heap| {
            // The first growth that was not taken yet says where to read on.
            heap.changed.entry(no).or_insert_with(|| (id.clone(), Fate::Grown { after }));
        });
    }

    pub(crate) fn deleted(&self, no: SessionNo, id: &SessionId) {
        self.tell(|heap| {
            heap.changed.insert(no, (id.clone(), Fate::Deleted));
        });
    }

    pub(crate) fn close(&self) {
        self.tell(|heap| heap.closed = true);
    }

    fn tell(&self, change: impl Fn(&mut Heap)) {
        let mut piles = self.piles.lock().unwrap_or_else(PoisonError::into_inner);
        piles.retain(|pile| {
            let alive = pile.upgrade();
            if let Some(pile) = &alive {
                pile.change(&change);
            }
            alive.is_some()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> SessionId {
        SessionId::parse(name).unwrap()
    }

    #[tokio::test]
    async fn many_commits_of_a_session_are_one_entry_from_the_first_on() {
        let followers = Followers::default();
        followers.grown(SessionNo(1), &id("before"), 0);
        let mut news = followers.join();
        followers.grown(SessionNo(2), &id("b"), 7);
        followers.grown(SessionNo(2), &id("b"), 9);
        followers.grown(SessionNo(1), &id("a"), 3);
        let told = news.next().await.unwrap();
        assert_eq!(told, [(id("a"), Fate::Grown { after: 3 }), (id("b"), Fate::Grown { after: 7 })]);
        followers.grown(SessionNo(2), &id("b"), 11);
        assert_eq!(news.next().await.unwrap(), [(id("b"), Fate::Grown { after: 11 })]);
    }

    #[tokio::test]
    async fn an_id_used_again_is_told_as_deleted_and_then_as_new() {
        let followers = Followers::default();
        let mut news = followers.join();
        followers.grown(SessionNo(1), &id("a"), 3);
        followers.deleted(SessionNo(1), &id("a"));
        followers.grown(SessionNo(2), &id("a"), 0);
        followers.close();
        let told = news.next().await.unwrap();
        assert_eq!(told, [(id("a"), Fate::Deleted), (id("a"), Fate::Grown { after: 0 })]);
        assert_eq!(news.next().await, None, "what was told before the end is not lost");
    }
}
