//! Large events that subscribers have read from the database: one copy for all who hold any piece of it.
//!
//! A reader that stops in the middle of an event keeps its bytes until it goes on or is cut. Ten of them must not cost
//! ten copies.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use omniglot_schema::UniversalEventType;

use crate::types::StoredEvent;

/// Smaller events are not worth the bookkeeping.
const LARGE: usize = 32 << 10;

/// The large events of one session that somebody holds.
#[derive(Debug, Default)]
pub(crate) struct LargeEvents(HashMap<u64, Weak<Row>>);

#[derive(Debug)]
struct Row {
    kind: UniversalEventType,
    frame_no: Option<u64>,
    json: Bytes,
}

/// Keeps a row as long as a slice of its bytes is held.
struct Held(Arc<Row>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0.json
    }
}

impl LargeEvents {
    /// Returns the event of this sequence, if somebody holds it.
    pub(crate) fn held(&self, seq: u64) -> Option<Arc<StoredEvent>> {
        Some(event(seq, self.0.get(&seq)?.upgrade()?))
    }

    /// Replaces the copy of a large event that was just read by the one that others hold.
    pub(crate) fn share(&mut self, read: Arc<StoredEvent>) -> Arc<StoredEvent> {
        if read.json.len() < LARGE {
            return read;
        }
        self.held(read.seq).unwrap_or_else(|| {
            self.0.retain(|_, row| row.strong_count() > 0);
            let row = Row { kind: read.kind, frame_no: read.frame_no, json: read.json.clone() };
            let row = Arc::new(row);
            self.0.insert(read.seq, Arc::downgrade(&row));
            event(read.seq, row)
        })
    }
}

fn event(seq: u64, row: Arc<Row>) -> Arc<StoredEvent> {
    let (kind, frame_no) = (row.kind, row.frame_no);
    Arc::new(StoredEvent { seq, kind, json: Bytes::from_owner(Held(row)), frame_no })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(size: usize) -> Arc<StoredEvent> {
        let json = Bytes::from(vec![b'x'; size]);
        Arc::new(StoredEvent { seq: 7, kind: UniversalEventType::ItemCompleted, json, frame_no: Some(3) })
    }

    #[test]
    fn all_who_hold_a_piece_of_a_large_event_share_its_bytes() {
        let mut large = LargeEvents::default();
        let first = large.share(read(LARGE));
        let piece = first.json.slice(5..9);
        drop(first);
        let second = large.share(read(LARGE));
        assert_eq!(second.json.slice(5..9).as_ptr(), piece.as_ptr());
        assert_eq!(large.held(7).unwrap().json.as_ptr(), second.json.as_ptr());
        drop((piece, second));
        assert!(large.held(7).is_none(), "nobody holds it");
    }

    #[test]
    fn a_small_event_is_kept_by_nobody() {
        let mut large = LargeEvents::default();
        let _small = large.share(read(LARGE - 1));
        assert!(large.held(7).is_none());
    }
}
