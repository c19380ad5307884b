//! The output of one process: the last part of it, numbered, for any number of readers.
//!
//! A reader holds a position and never slows the process down; one that is too slow misses what was dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use omniglot_schema::ProcessLogsStream;
use tokio::sync::watch;

/// A piece of output, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Counts from 1.
    pub sequence: u64,
    pub stream: ProcessLogsStream,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    pub data: Bytes,
}

impl Entry {
    /// A process that writes single bytes fills the log with entries, so they count.
    fn size(&self) -> usize {
        self.data.len() + size_of::<Self>()
    }
}

/// The entries that a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub stream: ProcessLogsStream,
    /// Only entries after this one.
    pub since: u64,
    /// Of those that are there, only so many of the last.
    pub tail: Option<usize>,
}

impl Wanted {
    pub fn all() -> Self {
        Self { stream: ProcessLogsStream::Combined, since: 0, tail: None }
    }

    fn matches(&self, entry: &Entry) -> bool {
        entry.sequence > self.since
            && (self.stream == ProcessLogsStream::Combined || self.stream == entry.stream)
    }
}

#[derive(Debug)]
pub(super) struct Log {
    max_bytes: usize,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    bytes: usize,
    last: u64,
    closed: bool,
}

impl Log {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Mutex::default(), changed: watch::Sender::new(()) }
    }

    pub(super) fn push(&self, stream: ProcessLogsStream, data: &[u8]) {
        let timestamp_ms = Timestamp::now().as_millisecond();
        let mut state = self.lock();
        state.last += 1;
        let data = Bytes::copy_from_slice(data);
        let entry = Entry { sequence: state.last, stream, timestamp_ms, data };
        state.bytes += entry.size();
        state.entries.push_back(entry);
        while state.bytes > self.max_bytes
            && let Some(dropped) = state.entries.pop_front()
        {
            state.bytes -= dropped.size();
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Ends all readers once they have read everything.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.send_replace(());
    }

    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(&self, wanted: &Wanted, max_bytes: usize) -> Vec<Entry> {
        let after = self.entries.partition_point(|entry| entry.sequence <= wanted.since);
        let matching = self.entries.range(after..).filter(|entry| wanted.matches(entry));
        let skipped = wanted.tail.map_or(0, |tail| matching.clone().count().saturating_sub(tail));
        let mut bytes = 0;
        let fits = |entry: &&Entry| {
            let first = bytes == 0;
            bytes += entry.size();
            first || bytes <= max_bytes
        };
        matching.skip(skipped).take_while(fits).cloned().collect()
    }
}

/// Reads a log from a position on, also entries to come.
#[derive(Debug)]
pub struct LogReader {
    log: Arc<Log>,
    wanted: Wanted,
    changed: watch::Receiver<()>,
}

impl LogReader {
    pub(super) fn new(log: Arc<Log>, wanted: Wanted) -> Self {
        let changed = log.changed.subscribe();
        Self { log, wanted, changed }
    }

    /// Returns the entries that are there, of at most `max_bytes` together but at least one.
    pub fn read(&mut self, max_bytes: usize) -> Vec<Entry> {
        let state = self.log.lock();
        let entries = state.read(&self.wanted, max_bytes);
        // Those that the stream or the tail leaves out are not wanted later either.
        let read = entries.last().map_or(state.last, |last| last.sequence);
        self.wanted.since = self.wanted.since.max(read);
        self.wanted.tail = None;
        entries
    }

    /// As [`read`](Self::read), but waits for entries; `None` when the log is closed and read. Cancel-safe.
    pub async fn next(&mut self, max_bytes: usize) -> Option<Vec<Entry>> {
        loop {
            self.changed.mark_unchanged();
            let closed = self.log.lock().closed;
            let entries = self.read(max_bytes);
            if !entries.is_empty() {
                return Some(entries);
            }
            if closed || self.changed.changed().await.is_err() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProcessLogsStream::{Combined, Pty, Stderr, Stdout};

    fn log(max_bytes: usize, pieces: &[(ProcessLogsStream, &str)]) -> Arc<Log> {
        let log = Arc::new(Log::new(max_bytes));
        pieces.iter().for_each(|(stream, text)| log.push(*stream, text.as_bytes()));
        log
    }

    fn texts(entries: &[Entry]) -> Vec<(u64, &str)> {
        entries.iter().map(|entry| (entry.sequence, std::str::from_utf8(&entry.data).unwrap())).collect()
    }

    #[track_caller]
    fn expect(log: &Arc<Log>, wanted: Wanted, expected: &[(u64, &str)]) {
        assert_eq!(texts(&LogReader::new(log.clone(), wanted).read(usize::MAX)), expected);
    }

    #[test]
    fn entries_are_chosen_by_stream_position_and_tail() {
        let log = log(usize::MAX, &[(Stdout, "a"), (Stderr, "b"), (Stdout, "c"), (Stdout, "d")]);
        let wanted = |stream, since, tail| Wanted { stream, since, tail };
        expect(&log, wanted(Combined, 0, None), &[(1, "a"), (2, "b"), (3, "c"), (4, "d")]);
        expect(&log, wanted(Stdout, 0, Some(2)), &[(3, "c"), (4, "d")]);
        expect(&log, wanted(Stdout, 1, None), &[(3, "c"), (4, "d")]);
        expect(&log, wanted(Stderr, 2, None), &[]);
        expect(&log, wanted(Pty, 0, None), &[]);
        expect(&log, wanted(Combined, 0, Some(0)), &[]);
        expect(&log, wanted(Combined, 99, None), &[]);
    }

    #[test]
    fn the_oldest_entries_go_and_the_numbers_go_on() {
        let piece = "x".repeat(1000);
        let log = log(4000, &[(Stdout, piece.as_str()); 10]);
        let kept = LogReader::new(log.clone(), Wanted::all()).read(usize::MAX);
        assert_eq!(kept.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [8, 9, 10]);
        assert!(log.bytes() <= 4000);
        log.push(Stdout, "y".repeat(9000).as_bytes());
        assert_eq!((log.bytes(), log.lock().last), (0, 11), "one that is larger than the log is dropped");
    }

    #[tokio::test]
    async fn a_reader_gets_every_entry_once_and_ends_with_the_log() {
        let log = log(usize::MAX, &[(Stdout, "a"), (Stdout, "b")]);
        let mut reader = LogReader::new(log.clone(), Wanted { tail: Some(1), ..Wanted::all() });
        assert_eq!(texts(&reader.next(1).await.unwrap()), [(2, "b")]);
        let writer = tokio::spawn({
            let log = log.clone();
            async move {
                for text in ["c", "d", "e"] {
                    log.push(Stdout, text.as_bytes());
                    tokio::task::yield_now().await;
                }
                log.close();
            }
        });
        let mut read = vec![];
        while let Some(entries) = reader.next(1).await {
            assert_eq!(entries.len(), 1);
            read.extend(entries);
        }
        assert_eq!(texts(&read), [(3, "c"), (4, "d"), (5, "e")]);
        writer.await.unwrap();
    }
}
