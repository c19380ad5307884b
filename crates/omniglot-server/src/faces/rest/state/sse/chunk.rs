//! SSE frames as bytes: many small events in one chunk, a large one in several.

use std::collections::VecDeque;
use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};

/// The longest chunk. With one held here and at most two in hyper, a stopped reader costs little.
pub(crate) const CHUNK: usize = 32 << 10;

/// The approximate bytes around the JSON of an event.
pub(crate) const HEAD: usize = 64;

/// The bytes of an event of at least this size are shared, not copied.
const LARGE: usize = 8 << 10;

#[derive(Default)]
pub(crate) struct Chunks {
    ready: VecDeque<Bytes>,
    open: BytesMut,
    head: String,
}

impl Chunks {
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        if self.ready.is_empty() {
            self.seal();
        }
        self.ready.pop_front()
    }

    /// Reserves room for about that many bytes at once.
    pub(crate) fn expect(&mut self, bytes: usize) {
        self.open.reserve(bytes.min(CHUNK));
    }

    /// Writes only `id` and `data`, so that `onmessage` of a browser fires. The id is given in pieces.
    pub(crate) fn event(&mut self, id: &[&str], json: &Bytes) {
        self.head(id, &["\ndata: "]);
        self.share(json);
        self.copy(b"\n\n");
    }

    /// Writes a frame that moves the cursor of a client and shows it nothing.
    pub(crate) fn cursor(&mut self, id: &[&str]) {
        self.head(id, &["\n\n"]);
    }

    /// Writes a frame of ours that moves the cursor.
    pub(crate) fn named_at(&mut self, id: &[&str], name: &str, json: &str) {
        self.head(id, &["\nevent: ", name, "\ndata: ", json, "\n\n"]);
    }

    fn head(&mut self, id: &[&str], rest: &[&str]) {
        self.head.clear();
        for piece in ["id: "].iter().chain(id).chain(rest) {
            self.head.push_str(piece);
        }
        self.say_head();
    }

    /// Writes a frame of ours, without an id: it moves no cursor.
    pub(crate) fn named(&mut self, name: &str, sequence: u64) {
        self.head.clear();
        // Writing to a string cannot fail.
        if write!(self.head, "event: {name}\ndata: {{\"sequence\":{sequence}}}\n\n").is_ok() {
            self.say_head();
        }
    }

    pub(crate) fn heartbeat(&mut self) {
        self.copy(b":\n\n");
    }

    fn say_head(&mut self) {
        let head = std::mem::take(&mut self.head);
        self.copy(head.as_bytes());
        self.head = head;
    }

    fn copy(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.open.len() == CHUNK {
                self.seal();
            }
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.open.len()));
            self.open.extend_from_slice(now);
            bytes = later;
        }
    }

    fn share(&mut self, bytes: &Bytes) {
        if bytes.len() < LARGE {
            return self.copy(bytes);
        }
        self.seal();
        let mut rest = bytes.clone();
        while !rest.is_empty() {
            self.ready.push_back(rest.split_to(rest.len().min(CHUNK)));
        }
    }

    fn seal(&mut self) {
        if !self.open.is_empty() {
            self.ready.push_back(self.open.split().freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(chunks: &mut Chunks) -> Vec<Bytes> {
        std::iter::from_fn(|| chunks.pop()).collect()
    }

    #[test]
    fn small_events_share_a_chunk() {
        let mut chunks = Chunks::default();
        chunks.event(&["e", ".", "1"], &Bytes::from_static(b"{}"));
        chunks.event(&["e", ".", "2"], &Bytes::from_static(b"[]"));
        chunks.named("caught_up", 2);
        chunks.heartbeat();
        let all = drain(&mut chunks);
        assert_eq!(all.len(), 1);
        assert_eq!(
            all[0],
            "id: e.1\ndata: {}\n\nid: e.2\ndata: []\n\nevent: caught_up\ndata: {\"sequence\":2}\n\n:\n\n"
        );
    }

    #[test]
    fn no_chunk_is_longer_than_the_limit_and_no_byte_is_lost() {
        let sizes = [1, CHUNK - 20, LARGE - 1, LARGE, 3 * CHUNK + 5, 10];
        let mut chunks = Chunks::default();
        let mut expected = String::new();
        for (sequence, size) in (1..).zip(sizes) {
            let json = "x".repeat(size);
            expected.push_str(&format!("id: e.{sequence}\ndata: {json}\n\n"));
            chunks.event(&["e", ".", &sequence.to_string()], &Bytes::from(json));
        }
        let all = drain(&mut chunks);
        assert!(all.iter().all(|chunk| chunk.len() <= CHUNK));
        assert_eq!(all.concat(), expected.as_bytes());
    }
}
