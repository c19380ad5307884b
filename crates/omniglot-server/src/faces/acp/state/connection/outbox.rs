//! The messages to a client beside the logs of its sessions: answers, requests of ours, and the sessions that
//! it follows with their positions. Numbered, so that every stream of the client knows its position.
//!
//! Numbers begin with the creation time of the connection, so that a cursor of an earlier connection of the
//! same name precedes all of them. The stream reads the logs.
//!
//! No message is dropped that is still to be sent. An answer that is on the stream alone is kept until the
//! client acknowledges it by its cursor, or was sent so much more that it must have it; everything else until
//! every open stream has sent it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use omniglot_schema::SessionId;
use omniglot_store::SessionNo;
use tokio::sync::watch;

use super::cursor::LogPosition;
use super::lock;
use super::readers::{Readers, Reading};

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// Sent only after everything up to this sequence of that session.
    pub(crate) after: Option<(SessionNo, u64)>,
    pub(crate) what: What,
}

impl Entry {
    /// The bytes of an answer that is on the stream alone.
    fn owed(&self) -> usize {
        match &self.what {
            What::Message(answer) => answer.json.len(),
            What::Copy(_) | What::Mark | What::Follow(_) | What::Leave(_) => 0,
        }
    }
}

/// The limit of bytes of answers that are kept for a client that does not acknowledge them.
const MAX_UNACKED_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(crate) enum What {
    Message(Outbound),
    /// A message that a stream opened later does not need, or gets in another way.
    Copy(Outbound),
    /// No message: it only shows how far the streams are.
    Mark,
    Follow(Follow),
    Leave(SessionNo),
}

/// A message to the client.
#[derive(Debug, Clone)]
pub(crate) struct Outbound {
    /// The session that it is about, which may have a stream of its own.
    pub(crate) session: Option<SessionId>,
    pub(crate) json: Bytes,
}

/// A session that the client follows.
#[derive(Debug, Clone)]
pub(crate) struct Follow {
    pub(crate) no: SessionNo,
    pub(crate) session: SessionId,
    pub(crate) from: LogPosition,
    /// Up to this sequence the client's own messages are included, as it requested.
    pub(crate) told_until: u64,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    first: u64,
    kept: Mutex<Kept>,
    last: watch::Sender<u64>,
    pub(crate) readers: Readers,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Arc<Entry>>,
    /// The client has acknowledged everything up to this number.
    received: u64,
}

/// The entry that follows a number.
#[derive(Debug)]
pub(crate) enum After {
    Entry(Arc<Entry>),
    /// There is nothing more to send, up to this number.
    Nothing(u64),
}

impl Outbox {
    pub(crate) fn new(first: u64) -> Self {
        Self { first, kept: Mutex::default(), last: watch::Sender::new(first), readers: Readers::new() }
    }

    /// The start of a stream without a cursor.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Whether a number belongs to this connection, and not to an earlier one of its name.
    pub(crate) fn knows(&self, number: u64) -> bool {
        (self.first..=self.last()).contains(&number)
    }

    fn last(&self) -> u64 {
        *self.last.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// Registers a new stream that begins after a number; also returns the last number before it.
    pub(crate) fn enter(&self, beside: u64) -> (Reading, u64) {
        let kept = self.kept();
        let reading = self.readers.enter(beside);
        // Under the lock, so that everything pushed from here on is kept for this stream.
        let last = self.last();
        drop(kept);
        (reading, last)
    }

    pub(crate) fn push(&self, what: What, after: Option<(SessionNo, u64)>) -> u64 {
        let mut kept = self.kept();
        if let What::Follow(Follow { no, .. }) | What::Leave(no) = &what {
            kept.entries.retain(|entry| !matches!(&entry.what, What::Follow(follow) if follow.no == *no));
        }
        let number = self.last() + 1;
        kept.entries.push_back(Arc::new(Entry { number, after, what }));
        self.tidy(&mut kept);
        // Under the lock, so that every reader of the number finds its entry.
        self.last.send_replace(number);
        number
    }

    pub(crate) fn next(&self, after: u64) -> After {
        let kept = self.kept();
        let place = kept.entries.partition_point(|entry| entry.number <= after);
        match kept.entries.get(place) {
            Some(entry) => After::Entry(entry.clone()),
            None => After::Nothing(self.last()),
        }
    }

    /// Records that the client has everything up to this number.
    pub(crate) fn received(&self, number: u64) {
        let mut kept = self.kept();
        if self.knows(number) {
            kept.received = kept.received.max(number);
        }
        self.tidy(&mut kept);
    }

    /// Whether more answers wait for the client than it may leave unread. The client has most likely read the
    /// messages that its streams have sent.
    pub(crate) fn owes_too_much(&self) -> bool {
        let told = self.readers.slowest().unwrap_or(0);
        let kept = self.kept();
        let untold = kept.entries.iter().filter(|entry| entry.number > told);
        untold.map(|entry| entry.owed()).sum::<usize>() > MAX_UNACKED_BYTES
    }

    fn tidy(&self, kept: &mut Kept) {
        let told = self.readers.slowest().unwrap_or(u64::MAX);
        let received = kept.received.min(told);
        kept.entries.retain(|entry| match &entry.what {
            What::Follow(_) => true,
            What::Message(_) => entry.number > received,
            What::Copy(_) | What::Mark | What::Leave(_) => entry.number > told,
        });
        self.forget_oldest_told(kept);
    }

    /// A client that never sends its cursor has read the oldest sent messages long ago.
    fn forget_oldest_told(&self, kept: &mut Kept) {
        let Some(told) = self.readers.slowest() else { return };
        let known = |entry: &Entry| if entry.number <= told { entry.owed() } else { 0 };
        let mut all: usize = kept.entries.iter().map(|entry| known(entry)).sum();
        kept.entries.retain(|entry| {
            let too_much = all > MAX_UNACKED_BYTES && known(entry) > 0;
            all -= if too_much { known(entry) } else { 0 };
            !too_much
        });
    }

    /// The sessions that are followed as of that number.
    pub(crate) fn followed(&self, until: u64) -> Vec<Follow> {
        let kept = self.kept();
        let known = kept.entries.iter().take_while(|entry| entry.number <= until);
        known
            .filter_map(|entry| match &entry.what {
                What::Follow(follow) => Some(follow.clone()),
                What::Message(_) | What::Copy(_) | What::Mark | What::Leave(_) => None,
            })
            .collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(no: i64) -> What {
        let session = SessionId::parse("s").unwrap();
        What::Follow(Follow { no: SessionNo(no), session, from: LogPosition::default(), told_until: 0 })
    }

    fn outbound(json: Vec<u8>) -> Outbound {
        Outbound { session: None, json: json.into() }
    }

    fn answer() -> What {
        What::Message(outbound(b"{}".to_vec()))
    }

    #[track_caller]
    fn numbers(outbox: &Outbox) -> Vec<u64> {
        let mut numbers = vec![];
        while let After::Entry(entry) = outbox.next(numbers.last().copied().unwrap_or(0)) {
            numbers.push(entry.number);
        }
        numbers
    }

    #[test]
    fn entries_come_in_order_after_a_number() {
        let outbox = Outbox::new(100);
        assert!(matches!(outbox.next(0), After::Nothing(100)));
        assert_eq!((outbox.push(answer(), None), outbox.push(answer(), None)), (101, 102));
        assert_eq!(numbers(&outbox), [101, 102]);
        assert!(matches!(outbox.next(102), After::Nothing(102)));
    }

    #[test]
    fn an_answer_stays_until_the_client_has_it_however_many_there_are() {
        let outbox = Outbox::new(0);
        let (reading, _) = outbox.enter(0);
        for _ in 0..5000 {
            outbox.push(answer(), None);
        }
        reading.told(5000);
        assert_eq!(numbers(&outbox).len(), 5000);
        outbox.received(6000);
        assert_eq!(numbers(&outbox).len(), 5000, "that is no number of ours");
        outbox.received(4998);
        assert_eq!(numbers(&outbox), [4999, 5000]);
    }

    #[test]
    fn a_client_is_owed_what_no_stream_has_told_it_and_old_answers_that_were_told_go() {
        let outbox = Outbox::new(0);
        let large = || What::Message(outbound(vec![b' '; MAX_UNACKED_BYTES / 2 + 1]));
        outbox.push(large(), None);
        assert!(!outbox.owes_too_much());
        outbox.push(large(), None);
        assert!(outbox.owes_too_much());
        let (reading, _) = outbox.enter(0);
        assert_eq!(numbers(&outbox), [1, 2], "nobody has told it");
        reading.told(2);
        assert!(!outbox.owes_too_much());
        outbox.push(answer(), None);
        assert_eq!(numbers(&outbox), [2, 3]);
    }

    #[test]
    fn what_the_client_has_stays_for_a_stream_of_it_that_has_not_told_it() {
        let outbox = Outbox::new(0);
        let (slow, _) = outbox.enter(0);
        outbox.push(answer(), None);
        outbox.received(1);
        assert_eq!(numbers(&outbox), [1]);
        drop(slow);
        outbox.received(1);
        assert!(numbers(&outbox).is_empty());
    }

    #[test]
    fn what_only_open_streams_are_told_goes_once_they_have_told_it() {
        let outbox = Outbox::new(0);
        outbox.push(follow(1), None);
        outbox.push(What::Copy(outbound(b"{}".to_vec())), None);
        assert_eq!(numbers(&outbox), [1], "nobody is there to be told");
        let ((quick, last), (slow, _)) = (outbox.enter(1), outbox.enter(1));
        assert_eq!(last, 2);
        outbox.push(What::Mark, None);
        quick.told(3);
        outbox.push(What::Mark, None);
        assert_eq!(numbers(&outbox), [1, 3, 4]);
        slow.told(4);
        outbox.push(What::Mark, None);
        assert_eq!(numbers(&outbox), [1, 4, 5], "the quick one has told 3 only");
        quick.told(5);
        slow.told(5);
        outbox.received(0);
        assert_eq!(numbers(&outbox), [1]);
        assert!(matches!(outbox.next(1), After::Nothing(5)));
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
