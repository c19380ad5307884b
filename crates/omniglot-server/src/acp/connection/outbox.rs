//! What a client is to be told beside the logs of its sessions: answers, requests of ours, and which session
//! it follows from which place. Numbered, so that every stream of the client knows what it has.
//!
//! Numbers begin with the time of the connection's birth, so that a cursor of an earlier life of the same
//! connection stands before all of them. Reading the logs is left to the stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use omniglot_store::SessionNo;
use tokio::sync::watch;

use super::cursor::Place;

/// Messages that are kept for a stream that has to begin again; sessions that are followed do not count.
const KEPT: usize = 1024;

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// To be told only after everything up to this place of that session.
    pub(crate) after: Option<(SessionNo, u64)>,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Message(Bytes),
    /// What means nothing to a stream that is opened later, or is told to it in another way.
    Copy(Bytes),
    /// Nothing to tell: it lets one see how far the streams are.
    Mark,
    Follow(Follow),
    Leave(SessionNo),
}

/// A session that the client follows.
#[derive(Debug, Clone)]
pub(crate) struct Follow {
    pub(crate) no: SessionNo,
    pub(crate) from: Place,
    /// Up to here it is a story that the client asked to hear, its own words included.
    pub(crate) told_until: u64,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    first: u64,
    entries: Mutex<VecDeque<Arc<Entry>>>,
    last: watch::Sender<u64>,
}

impl Outbox {
    pub(crate) fn new(first: u64) -> Self {
        Self { first, entries: Mutex::default(), last: watch::Sender::new(first) }
    }

    /// Where a stream begins that has nothing; a lower number is of an earlier life.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn last(&self) -> u64 {
        *self.last.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    pub(crate) fn push(&self, what: What, after: Option<(SessionNo, u64)>) -> u64 {
        let mut entries = self.entries();
        if let What::Follow(Follow { no, .. }) | What::Leave(no) = &what {
            entries.retain(|entry| !matches!(&entry.what, What::Follow(follow) if follow.no == *no));
        }
        let number = self.last() + 1;
        entries.push_back(Arc::new(Entry { number, after, what }));
        trim(&mut entries);
        // Under the lock, so that whoever sees the number finds its entry.
        self.last.send_replace(number);
        number
    }

    pub(crate) fn next(&self, after: u64) -> Option<Arc<Entry>> {
        let entries = self.entries();
        let place = entries.partition_point(|entry| entry.number <= after);
        entries.get(place).cloned()
    }

    /// The sessions that are followed as of that number.
    pub(crate) fn followed(&self, until: u64) -> Vec<Follow> {
        let entries = self.entries();
        let known = entries.iter().take_while(|entry| entry.number <= until);
        known
            .filter_map(|entry| match &entry.what {
                What::Follow(follow) => Some(follow.clone()),
                What::Message(_) | What::Copy(_) | What::Mark | What::Leave(_) => None,
            })
            .collect()
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn trim(entries: &mut VecDeque<Arc<Entry>>) {
    let passing = |entry: &Arc<Entry>| !matches!(entry.what, What::Follow(_));
    if entries.iter().filter(|entry| passing(entry)).count() > KEPT
        && let Some(oldest) = entries.iter().position(passing)
    {
        entries.remove(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(no: i64) -> What {
        What::Follow(Follow { no: SessionNo(no), from: Place::default(), told_until: 0 })
    }

    #[test]
    fn entries_come_in_order_after_a_number() {
        let outbox = Outbox::new(100);
        assert!(outbox.next(0).is_none());
        assert_eq!((outbox.push(What::Mark, None), outbox.push(What::Mark, None)), (101, 102));
        assert_eq!(outbox.next(0).unwrap().number, 101);
        assert_eq!(outbox.next(101).unwrap().number, 102);
        assert!(outbox.next(102).is_none());
    }

    #[test]
    fn old_messages_go_and_followed_sessions_stay() {
        let outbox = Outbox::new(0);
        outbox.push(follow(1), None);
        for _ in 0..2 * KEPT {
            outbox.push(What::Mark, None);
        }
        assert_eq!(outbox.entries().len(), KEPT + 1);
        assert_eq!(outbox.followed(u64::MAX).len(), 1);
    }

    #[test]
    fn a_session_is_followed_once_and_until_it_is_left() {
        let outbox = Outbox::new(0);
        outbox.push(follow(1), None);
        outbox.push(follow(1), None);
        assert_eq!(outbox.followed(u64::MAX).len(), 1);
        assert!(outbox.followed(1).is_empty());
        outbox.push(What::Leave(SessionNo(1)), None);
        assert!(outbox.followed(u64::MAX).is_empty());
    }
}
