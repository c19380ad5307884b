//! Parses `text/event-stream` from bytes as they arrive.
//!
//! Follows the HTML standard: a line may end with LF, CR or CR LF, wherever the chunks are cut; a frame
//! ends with an empty line; comments and unknown fields are skipped; a frame without data is none. The
//! standard's `retry` is of no use here.

use std::mem;

/// One dispatched frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// Empty for a plain message.
    pub event: String,
    /// The id of this frame, not the last one seen.
    pub id: Option<String>,
    pub data: String,
}

#[derive(Debug, Default)]
pub struct SseParser {
    buffer: Vec<u8>,
    /// The end of the part of `buffer` that was read.
    read: usize,
    /// The end of the part that was searched for the end of the current line.
    searched: usize,
    /// The last line ended with CR; an LF right after it belongs to it.
    after_cr: bool,
    started: bool,
    frame: SseFrame,
    has_data: bool,
}

impl SseParser {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.read);
        self.searched -= self.read;
        self.read = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole frame, or `None` until more is fed.
    pub fn next_frame(&mut self) -> Option<SseFrame> {
        while let Some((start, end)) = self.next_line() {
            // Taken because of the borrow; a line never keeps it.
            let buffer = mem::take(&mut self.buffer);
            let frame = self.line(buffer.get(start..end).unwrap_or_default());
            self.buffer = buffer;
            if frame.is_some() {
                return frame;
            }
        }
        None
    }

    fn next_line(&mut self) -> Option<(usize, usize)> {
        if mem::take(&mut self.after_cr) {
            match self.buffer.get(self.read) {
                Some(b'\n') => self.read += 1,
                Some(_) => {}
                None => {
                    self.after_cr = true;
                    return None;
                }
            }
        }
        let from = self.searched.max(self.read);
        let rest = self.buffer.get(from..).unwrap_or_default();
        let Some(offset) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = self.buffer.len();
            return None;
        };
        self.after_cr = rest.get(offset) == Some(&b'\r');
        let (start, end) = (self.read, from + offset);
        self.read = end + 1;
        self.searched = self.read;
        Some((start, end))
    }

    fn line(&mut self, mut line: &[u8]) -> Option<SseFrame> {
        if !mem::replace(&mut self.started, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let frame = mem::take(&mut self.frame);
            return mem::take(&mut self.has_data).then_some(frame);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        self.field(name, &String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value)));
        None
    }

    fn field(&mut self, name: &[u8], value: &str) {
        match name {
            b"data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
            }
            b"event" => value.clone_into(&mut self.frame.event),
            b"id" if !value.contains('\0') => self.frame.id = Some(value.to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(chunks: &[&[u8]]) -> Vec<SseFrame> {
        let mut parser = SseParser::default();
        let mut frames = vec![];
        for chunk in chunks {
            parser.feed(chunk);
            frames.extend(std::iter::from_fn(|| parser.next_frame()));
        }
        frames
    }

    fn frame(event: &str, id: Option<&str>, data: &str) -> SseFrame {
        SseFrame { event: event.into(), id: id.map(str::to_owned), data: data.into() }
    }

    const STREAM: &str = "\u{feff}id: e.1\ndata: {\"a\":\"ä\"}\n\n:\n\nevent: caught_up\r\ndata: {}\r\n\r\n\
        data:one\rdata: two\r\rid: e.2\nretry: 5\nunknown\ndata\n\nevent: no data\n\ndata: cut";

    fn expected() -> Vec<SseFrame> {
        vec![
            frame("", Some("e.1"), "{\"a\":\"ä\"}"),
            frame("caught_up", None, "{}"),
            frame("", None, "one\ntwo"),
            frame("", Some("e.2"), ""),
        ]
    }

    #[test]
    fn frames_are_read_from_one_chunk() {
        assert_eq!(parse(&[STREAM.as_bytes()]), expected());
    }

    #[test]
    fn frames_are_the_same_wherever_the_chunks_are_cut() {
        let bytes = STREAM.as_bytes();
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(parse(&single), expected());
        for cut in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(parse(&[head, tail]), expected(), "cut at {cut}");
        }
    }

    #[test]
    fn only_one_space_after_the_colon_is_not_data() {
        assert_eq!(parse(&[b"data:  x\n\n"]), [frame("", None, " x")]);
    }

    #[test]
    fn the_buffer_does_not_grow_with_the_stream() {
        let mut parser = SseParser::default();
        for _ in 0..10_000 {
            parser.feed(b"data: 0123456789\n\n");
            assert!(parser.next_frame().is_some());
        }
        assert!(parser.buffer.capacity() < 1024);
    }
}
