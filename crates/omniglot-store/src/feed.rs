//! The state that subscribers share: how far each session is committed, and its most recent events.
//!
//! The writer publishes here after each commit. A feed exists as long as its session has a subscriber; a
//! subscription reads from the database the events that the ring no longer holds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::changes::{Changes, Followers, SessionChange};
use crate::large::LargeEvents;
use crate::types::{NewEvent, SessionNo, StoredEvent};

/// A ring that received nothing for this long is emptied; its subscribers have read it, or read the database.
pub(crate) const RING_IDLE: Duration = Duration::from_secs(10);

/// The end of a session's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) committed: u64,
    pub(crate) life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Growing,
    Deleted,
    /// The store was closed; no further events follow.
    Closed,
}

/// All sessions. A session without subscribers costs one small entry.
#[derive(Debug)]
pub(crate) struct Feeds {
    ring_bytes: usize,
    sessions: Mutex<HashMap<SessionNo, Entry>>,
    followers: Followers,
    /// Notified after each transaction; true once no further one follows.
    commits: watch::Sender<bool>,
}

/// A session as it was found when the log was opened.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) no: SessionNo,
    pub(crate) committed: u64,
}

#[derive(Debug, Default)]
struct Entry {
    committed: u64,
    feed: Weak<Feed>,
}

impl Feeds {
    pub(crate) fn new(ring_bytes: usize, known: Vec<Known>) -> Self {
        let entry = |Known { no, committed }| (no, Entry { committed, feed: Weak::new() });
        let sessions = Mutex::new(known.into_iter().map(entry).collect());
        Self { ring_bytes, sessions, followers: Followers::default(), commits: watch::Sender::new(false) }
    }

    /// Returns a receiver of every session that changes from now on.
    pub(crate) fn follow(&self) -> Changes {
        self.followers.join()
    }

    /// Returns a receiver that is notified after each transaction.
    pub(crate) fn commits(&self) -> watch::Receiver<bool> {
        self.commits.subscribe()
    }

    pub(crate) fn committed_group(&self) {
        self.commits.send_modify(|_| {});
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.sessions).len()
    }

    pub(crate) fn committed(&self, session: SessionNo) -> Option<u64> {
        lock(&self.sessions).get(&session).map(|entry| entry.committed)
    }

    /// Returns the feed of a session; for a session that does not exist, a feed with [`Life::Deleted`].
    pub(crate) fn join(&self, session: SessionNo) -> Arc<Feed> {
        let mut sessions = lock(&self.sessions);
        let Some(entry) = sessions.get_mut(&session) else {
            return Arc::new(Feed::new(Head { committed: 0, life: Life::Deleted }));
        };
        entry.feed.upgrade().unwrap_or_else(|| {
            let feed = Arc::new(Feed::new(Head { committed: entry.committed, life: Life::Growing }));
            entry.feed = Arc::downgrade(&feed);
            feed
        })
    }

    pub(crate) fn created(&self, session: SessionNo, committed: u64) {
        lock(&self.sessions).insert(session, Entry { committed, feed: Weak::new() });
        self.followers.grown(session, 0);
    }

    /// Makes committed events visible. Returns whether a ring holds them.
    pub(crate) fn publish(&self, session: SessionNo, events: Vec<NewEvent>) -> bool {
        let Some(last) = events.last().map(|e| e.seq) else { return false };
        let (feed, before) = {
            let mut sessions = lock(&self.sessions);
            let entry = sessions.entry(session).or_default();
            let before = std::mem::replace(&mut entry.committed, last);
            (entry.feed.upgrade(), before)
        };
        // A feed joined from here on starts at `last`; it finds these events in the database.
        #[cfg(feature = "simulation")]
        crate::simulation::point();
        let has_feed = feed.is_some();
        if let Some(feed) = feed {
            lock(&feed.ring).push(events, self.ring_bytes);
            #[cfg(feature = "simulation")]
            crate::simulation::point();
            feed.head.send_if_modified(|head| {
                head.committed = last;
                wakes_subscribers()
            });
        }
        self.followers.grown(session, before);
        has_feed
    }

    /// Removes the session and publishes `change` to its followers.
    pub(crate) fn removed(&self, session: SessionNo, change: SessionChange) {
        let Some(Entry { feed, .. }) = lock(&self.sessions).remove(&session) else { return };
        if let Some(feed) = feed.upgrade() {
            feed.end(Life::Deleted);
        }
        self.followers.removed(session, change);
    }

    pub(crate) fn close(&self) {
        for feed in self.alive() {
            feed.end(Life::Closed);
        }
        self.followers.close();
        self.commits.send_replace(true);
    }

    /// Empties the rings that received nothing for a while. Returns whether some still hold events.
    pub(crate) fn sweep(&self, now: Instant) -> bool {
        let kept = |feed: Arc<Feed>| lock(&feed.ring).clear_if_idle(now);
        self.alive().into_iter().map(kept).fold(false, |any, kept| any | kept)
    }

    fn alive(&self) -> Vec<Arc<Feed>> {
        lock(&self.sessions).values().filter_map(|entry| entry.feed.upgrade()).collect()
    }
}

/// One session's recent events, and the watch channel that signals new ones.
#[derive(Debug)]
pub(crate) struct Feed {
    ring: Mutex<Ring>,
    large: Mutex<LargeEvents>,
    head: watch::Sender<Head>,
}

impl Feed {
    fn new(head: Head) -> Self {
        Self { ring: Mutex::default(), large: Mutex::default(), head: watch::Sender::new(head) }
    }

    pub(crate) fn head(&self) -> watch::Receiver<Head> {
        self.head.subscribe()
    }

    /// Returns the events after `cursor`, at least one; `None` when the ring does not reach back that far.
    pub(crate) fn recent(&self, cursor: u64, max_bytes: usize) -> Option<Vec<Arc<StoredEvent>>> {
        lock(&self.ring).after(cursor, max_bytes)
    }

    /// Returns the event of this sequence, if another subscriber has read it and holds it.
    pub(crate) fn held(&self, seq: u64) -> Option<Arc<StoredEvent>> {
        lock(&self.large).held(seq)
    }

    /// Shares large events that were read from the database with the other subscribers.
    pub(crate) fn share(&self, read: Vec<Arc<StoredEvent>>) -> Vec<Arc<StoredEvent>> {
        let mut large = lock(&self.large);
        read.into_iter().map(|event| large.share(event)).collect()
    }

    fn end(&self, life: Life) {
        self.head.send_modify(|head| head.life = life);
    }
}

/// Consecutive events, the newest ones of a session.
#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<StoredEvent>>,
    bytes: usize,
    pushed: Option<Instant>,
}

impl Ring {
    fn push(&mut self, events: Vec<NewEvent>, max_bytes: usize) {
        self.pushed = Some(Instant::now());
        for NewEvent { seq, kind, json, frame_no, .. } in events {
            self.bytes += json.len();
            self.events.push_back(Arc::new(StoredEvent { seq, kind, json, frame_no }));
        }
        // The newest stays, however large: it is read once by each subscriber, and held once for all of them.
        while self.bytes > max_bytes && self.events.len() > 1 {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.json.len();
        }
    }

    fn after(&self, cursor: u64, max_bytes: usize) -> Option<Vec<Arc<StoredEvent>>> {
        let first = self.events.front()?.seq;
        let start = usize::try_from(cursor.saturating_add(1).checked_sub(first)?).ok()?;
        let mut bytes = 0;
        let fits = |event: &&Arc<StoredEvent>| {
            let empty = bytes == 0;
            bytes += event.json.len();
            empty || bytes <= max_bytes
        };
        let events: Vec<_> =
            self.events.range(start.min(self.events.len())..).take_while(fits).cloned().collect();
        (!events.is_empty()).then_some(events)
    }

    fn clear_if_idle(&mut self, now: Instant) -> bool {
        if self.pushed.is_some_and(|at| now.duration_since(at) >= RING_IDLE) {
            *self = Self::default();
        }
        !self.events.is_empty()
    }
}

/// Always true, but in a simulation that shall find out what happens otherwise.
fn wakes_subscribers() -> bool {
    #[cfg(feature = "simulation")]
    return !crate::simulation::loses_wake_ups();
    #[cfg(not(feature = "simulation"))]
    true
}

/// No code panics while it holds one of these locks, so a poisoned one is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use omniglot_schema::UniversalEventType;

    use super::*;

    const SESSION: SessionNo = SessionNo(1);

    fn known(committed: u64) -> Vec<Known> {
        vec![Known { no: SESSION, committed }]
    }

    fn events(seqs: std::ops::RangeInclusive<u64>) -> Vec<NewEvent> {
        let kind = UniversalEventType::ItemDelta;
        let event =
            |seq| NewEvent { seq, kind, time_us: 0, json: Bytes::from_static(b"0123456789"), frame_no: None };
        seqs.map(event).collect()
    }

    fn seqs(events: Option<Vec<Arc<StoredEvent>>>) -> Vec<u64> {
        events.into_iter().flatten().map(|e| e.seq).collect()
    }

    #[test]
    fn a_ring_keeps_the_newest_events_within_its_bytes() {
        let feeds = Feeds::new(50, known(3));
        let feed = feeds.join(SESSION);
        assert!(feeds.publish(SESSION, events(4..=13)));
        assert_eq!(seqs(feed.recent(8, 1000)), [9, 10, 11, 12, 13]);
        assert_eq!(seqs(feed.recent(9, 25)), [10, 11]);
        assert_eq!(seqs(feed.recent(9, 1)), [10], "one event at least");
        assert!(feed.recent(7, 1000).is_none(), "older than the ring");
        assert!(feed.recent(13, 1000).is_none(), "nothing newer");
        assert!(feed.recent(99, 1000).is_none(), "beyond the end");
    }

    #[test]
    fn a_session_without_subscribers_keeps_no_events() {
        let feeds = Feeds::new(1000, known(0));
        drop(feeds.join(SESSION));
        assert!(!feeds.publish(SESSION, events(1..=2)));
        assert_eq!(feeds.committed(SESSION), Some(2));
        assert!(feeds.join(SESSION).recent(0, 1000).is_none());
    }

    #[test]
    fn a_quiet_ring_is_emptied() {
        let feeds = Feeds::new(1000, known(0));
        let feed = feeds.join(SESSION);
        feeds.publish(SESSION, events(1..=2));
        let now = Instant::now();
        assert!(feeds.sweep(now), "still fresh");
        assert!(!feeds.sweep(now + RING_IDLE));
        assert!(feed.recent(0, 1000).is_none());
        feeds.publish(SESSION, events(3..=4));
        assert_eq!(seqs(feed.recent(2, 1000)), [3, 4]);
    }
}
