//! The checksum of a row: over its content and its position, so that a moved row counts as damaged, too.

use crc32fast::Hasher;

use crate::types::SessionNo;

/// The columns of an event as they are stored.
pub(super) struct EventRow<'a> {
    pub(super) session: SessionNo,
    pub(super) seq: i64,
    pub(super) kind: &'a [u8],
    pub(super) time_us: i64,
    pub(super) payload: &'a [u8],
    pub(super) frame_no: Option<i64>,
}

impl EventRow<'_> {
    pub(super) fn crc(&self) -> u32 {
        let mut head = [0; 33];
        let (numbers, has_frame) = head.split_at_mut(32);
        let values = [self.session.0, self.seq, self.time_us, self.frame_no.unwrap_or(0)];
        for (place, value) in numbers.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        has_frame.fill(u8::from(self.frame_no.is_some()));
        let mut hasher = Hasher::new();
        hasher.update(&head);
        hasher.update(self.kind);
        hasher.update(self.payload);
        hasher.finalize()
    }
}

pub(super) fn of_pack(session: SessionNo, first: i64, count: i64, stored_ms: i64, data: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    for number in [session.0, first, count] {
        hasher.update(&number.to_le_bytes());
    }
    // Packs that are older than the time column have 0, and a checksum without it.
    if stored_ms != 0 {
        hasher.update(&stored_ms.to_le_bytes());
    }
    hasher.update(data);
    hasher.finalize()
}

/// Hashes a row of few columns, each text with its length, so that nothing moves between columns.
pub(super) fn of_row(numbers: &[i64], texts: &[&[u8]]) -> u32 {
    let mut hasher = Hasher::new();
    for number in numbers {
        hasher.update(&number.to_le_bytes());
    }
    for text in texts {
        hasher.update(&text.len().to_le_bytes());
        hasher.update(text);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_moves_to_the_next_column_counts() {
        assert_ne!(of_row(&[1], &[b"ab", b"c"]), of_row(&[1], &[b"a", b"bc"]));
        assert_ne!(of_row(&[1, 2], &[]), of_row(&[2, 1], &[]));
    }

    fn row() -> EventRow<'static> {
        let (kind, payload) = (b"item.delta".as_slice(), b"{\"raw\":null}".as_slice());
        EventRow { session: SessionNo(1), seq: 2, kind, time_us: 3, payload, frame_no: Some(0) }
    }

    #[test]
    fn every_column_counts() {
        let crc = row().crc();
        let others = [
            EventRow { session: SessionNo(2), ..row() },
            EventRow { seq: 3, ..row() },
            EventRow { kind: b"item.deltb", ..row() },
            EventRow { time_us: 4, ..row() },
            EventRow { payload: b"{\"raw\":nulm}", ..row() },
            EventRow { frame_no: None, ..row() },
        ];
        assert!(others.iter().all(|other| other.crc() != crc));
    }
}
