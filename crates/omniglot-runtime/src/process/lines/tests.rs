//! Lines in any cut, against a split that is obviously right.

use std::pin::Pin;
use std::task::{Context, Poll};

use proptest::prelude::*;
use tokio::io::ReadBuf;

use super::*;

/// Gives the chunks as they are, one by read.
struct Chunks(std::collections::VecDeque<Vec<u8>>);

impl AsyncRead for Chunks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut chunk) = self.0.pop_front() {
            let rest = chunk.split_off(chunk.len().min(buf.remaining()));
            buf.put_slice(&chunk);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn read(chunks: &[&[u8]], cap: usize) -> Vec<Line> {
    let chunks = chunks.iter().filter(|chunk| !chunk.is_empty()).map(|chunk| chunk.to_vec()).collect();
    let mut reader = LineReader::new(Chunks(chunks), cap);
    let mut all = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        while let Some(lines) = reader.next_batch().await.unwrap() {
            assert!(!lines.is_empty());
            all.extend(lines);
        }
        assert_eq!(reader.next_batch().await.unwrap(), None, "the end stays the end");
    });
    all
}

fn whole(line: &'static str) -> Line {
    Line::Whole(Bytes::from_static(line.as_bytes()))
}

#[test]
fn lines_are_told_in_order_without_their_newline() {
    assert_eq!(read(&[b"{}\n[]\n"], 64), [whole("{}"), whole("[]")]);
}

#[test]
fn a_line_may_come_in_any_pieces() {
    assert_eq!(read(&[b"he", b"l", b"lo", b"\nyou", b"\n"], 64), [whole("hello"), whole("you")]);
}

#[test]
fn one_carriage_return_belongs_to_the_newline() {
    assert_eq!(read(&[b"a\r\nb\r", b"\nc\r\r\n"], 64), [whole("a"), whole("b"), whole("c\r")]);
}

#[test]
fn empty_lines_are_skipped() {
    assert_eq!(read(&[b"\n\n\r\na\n\n"], 64), [whole("a")]);
}

#[test]
fn a_last_line_without_newline_is_told_as_partial() {
    assert_eq!(read(&[b"a\nb"], 64), [whole("a"), Line::Partial(Bytes::from_static(b"b"))]);
}

#[test]
fn a_line_over_the_limit_gives_its_head_and_the_next_line_is_whole() {
    let long = vec![b'x'; 100_000];
    let lines = read(&[b"a\n", &long, &long, b"\nb\n"], 50_000);
    let head = Bytes::from(vec![b'x'; HEAD]);
    assert_eq!(lines, [whole("a"), Line::TooLong { head, length: 200_000 }, whole("b")]);
}

#[test]
fn a_line_over_the_limit_that_never_ends_is_told_at_the_end() {
    let lines = read(&[&[b'x'; 5_000], &[b'x'; 5_000]], 6_000);
    assert_eq!(lines, [Line::TooLong { head: Bytes::from(vec![b'x'; HEAD]), length: 10_000 }]);
}

#[test]
fn no_allocation_passes_the_limit_by_more_than_one_read() {
    let cap = 1_000_000;
    let mut splitter = Splitter::new(cap);
    let mut lines = Vec::new();
    for _ in 0..500 {
        let mut room = splitter.room();
        let free = room.remaining_mut();
        room.put_bytes(b'x', free);
        splitter.split(&mut lines);
        assert!(splitter.allocated <= cap + READ, "{} bytes", splitter.allocated);
    }
    assert!(lines.is_empty());
}

#[test]
fn the_memory_of_a_huge_line_is_given_back() {
    let mut splitter = Splitter::new(10_000_000);
    let mut lines = Vec::new();
    for _ in 0..100 {
        splitter.room().put_bytes(b'x', SMALLEST_READ);
        splitter.split(&mut lines);
    }
    splitter.room().put_slice(b"\n{");
    splitter.split(&mut lines);
    assert_eq!(lines.len(), 1);
    splitter.room();
    assert!(splitter.allocated <= KEPT_ALLOCATION);
    assert_eq!(splitter.buffer, &b"{"[..]);
}

/// Returns the lines of `text`, found without any care for memory.
fn naive(text: &[u8], cap: usize) -> Vec<Line> {
    let parts: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    let (last, whole) = parts.split_last().unwrap();
    let mut lines: Vec<_> = whole.iter().filter_map(|line| naive_line(line, cap, Line::Whole)).collect();
    lines.extend(naive_line(last, cap, Line::Partial));
    lines
}

fn naive_line(line: &[u8], cap: usize, kind: fn(Bytes) -> Line) -> Option<Line> {
    if line.len() > cap {
        let head = Bytes::copy_from_slice(&line[..line.len().min(HEAD)]);
        return Some(Line::TooLong { head, length: line.len() as u64 });
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    (!line.is_empty()).then(|| kind(Bytes::copy_from_slice(line)))
}

/// With a limit below 4 KiB the head ends with the read that passed it, so only its beginning counts.
fn same(left: &Line, right: &Line) -> bool {
    match (left, right) {
        (Line::TooLong { head: a, length: n }, Line::TooLong { head: b, length: m }) => {
            n == m && (a.starts_with(b) || b.starts_with(a))
        }
        _ => left == right,
    }
}

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), Just(b'b'), Just(0xff), Just(b'c')];
    prop_oneof![
        8 => proptest::collection::vec(byte, 0..40),
        1 => (0usize..70_000).prop_map(|length| vec![b'z'; length]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn any_bytes_in_any_cut_split_like_the_naive_way(
        chunks in proptest::collection::vec(chunk(), 0..15),
        cap in prop_oneof![4usize..40, Just(50_000), Just(DEFAULT_CAP)],
    ) {
        let views: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
        let lines = read(&views, cap);
        let expected = naive(&chunks.concat(), cap);
        prop_assert_eq!(lines.len(), expected.len());
        for (line, expected) in lines.iter().zip(&expected) {
            prop_assert!(same(line, expected), "{:?} is not {:?}", line, expected);
        }
    }
}
