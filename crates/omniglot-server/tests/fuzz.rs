//! Bytes from outside that nobody has checked: the lines of agents and event streams.
//!
//! Nothing panics or hangs, and every byte of a line is kept or counted. Requests are tried at a whole daemon
//! (`tests/fuzz.rs` of the program).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::io::Cursor;

use omniglot_client::{SseFrame, SseParser};
use omniglot_runtime::process::lines::{Line, LineReader};
use omniglot_testkit::fuzz;
use proptest::prelude::*;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Runtime;

/// Bytes in which line ends, field names and broken characters are frequent.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => any::<u8>().prop_map(|byte| vec![byte]),
        3 => prop_oneof![Just("\n"), Just("\r"), Just("\r\n"), Just("\n\n"), Just("\u{feff}")].prop_map(Vec::from),
        2 => prop_oneof![Just("data:"), Just("event: "), Just("id:"), Just(": x"), Just("ü")].prop_map(Vec::from),
        1 => (0usize..5_000).prop_map(|length| vec![b'z'; length]),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseFrame> {
    let mut parser = SseParser::default();
    let mut frames = vec![];
    for chunk in chunks {
        parser.feed(chunk);
        frames.extend(std::iter::from_fn(|| parser.next_frame()));
    }
    frames
}

/// Reads `written`, of which the reader gets `first` bytes alone.
async fn lines(written: &[u8], first: usize, cap: usize) -> Vec<Line> {
    let (head, tail) = written.split_at(first);
    let mut reader = LineReader::new(Cursor::new(head).chain(Cursor::new(tail)), cap);
    let mut lines = vec![];
    while let Some(batch) = reader.next_batch().await.unwrap() {
        lines.extend(batch);
    }
    lines
}

fn length(line: &Line) -> u64 {
    match line {
        Line::Whole(line) | Line::Partial(line) => line.len() as u64,
        Line::TooLong { length, .. } => *length,
    }
}

proptest! {
    #![proptest_config(fuzz::config(300))]

    #[test]
    fn every_byte_of_a_line_is_kept_or_counted(
        written in bytes(),
        first in any::<prop::sample::Index>(),
        cap in prop_oneof![1usize..50, Just(4_096)],
    ) {
        let written: Vec<u8> = written.into_iter().filter(|byte| *byte != b'\r').collect();
        let first = first.index(written.len() + 1);
        let read = Runtime::new().unwrap().block_on(lines(&written, first, cap));
        let ends = written.iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(read.iter().map(length).sum::<u64>(), (written.len() - ends) as u64);
        prop_assert!(read.iter().all(|line| line.size() <= cap.max(4_096)));
    }

    #[test]
    fn an_event_stream_has_the_same_frames_wherever_it_is_cut(
        written in bytes(),
        at in any::<prop::sample::Index>(),
        size in 1usize..7,
    ) {
        let (head, tail) = written.split_at(at.index(written.len() + 1));
        let whole = frames([written.as_slice()]);
        prop_assert_eq!(&frames([head, tail]), &whole);
        prop_assert_eq!(&frames(written.chunks(size)), &whole);
    }
}
