//! Splits what an agent writes into lines, whatever it writes: memory stays within the limit.
//!
//! Knows no JSON and no UTF-8: a line is bytes, its meaning is the session's business.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A line over this is not kept: an image in a tool result is a line of tens of megabytes, a line without
/// an end must not be the end of the daemon.
pub const DEFAULT_CAP: usize = 64 * 1024 * 1024;

/// One line without its newline. Empty lines are not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Whole(Bytes),
    /// The output ended before the newline came.
    Partial(Bytes),
    /// Over the limit: only its head was kept, `length` is that of the whole line.
    TooLong {
        head: Bytes,
        length: u64,
    },
}

impl Line {
    /// How much memory it holds.
    pub fn size(&self) -> usize {
        match self {
            Self::Whole(line) | Self::Partial(line) => line.len(),
            Self::TooLong { head, .. } => head.len(),
        }
    }

    /// The same in memory of its own: a line is a slice of the buffer that was read, and keeps all of it.
    pub(crate) fn detached(&self) -> Self {
        let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
        match self {
            Self::Whole(line) => Self::Whole(copy(line)),
            Self::Partial(line) => Self::Partial(copy(line)),
            Self::TooLong { head, length } => Self::TooLong { head: copy(head), length: *length },
        }
    }
}

/// Reads lines. Never allocates more than the limit and 64 KiB at once.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    splitter: Splitter,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(reader: R, cap: usize) -> Self {
        Self { reader, splitter: Splitter::new(cap), ended: false }
    }

    /// All lines that the next reads complete: at least one; `None` at the end. Cancel-safe.
    pub async fn next_batch(&mut self) -> io::Result<Option<Vec<Line>>> {
        let mut lines = Vec::new();
        while lines.is_empty() && !self.ended {
            let mut room = self.splitter.room();
            if self.reader.read_buf(&mut room).await? == 0 {
                self.ended = true;
                self.splitter.finish(&mut lines);
            } else {
                self.splitter.split(&mut lines);
            }
        }
        Ok((!lines.is_empty()).then_some(lines))
    }
}

/// The part without IO. What was read lies in `buffer`; it holds one unfinished line between two calls.
#[derive(Debug)]
struct Splitter {
    buffer: BytesMut,
    /// No newline lies before this position.
    scanned: usize,
    /// The size of the allocation that `buffer` is a part of.
    allocated: usize,
    cap: usize,
    /// The line that is being thrown away.
    overlong: Option<Overlong>,
}

#[derive(Debug)]
struct Overlong {
    head: Bytes,
    length: u64,
}

impl Splitter {
    fn new(cap: usize) -> Self {
        Self { buffer: BytesMut::new(), scanned: 0, allocated: 0, cap, overlong: None }
    }

    /// Where the next read goes.
    fn room(&mut self) -> bytes::buf::Limit<&mut BytesMut> {
        let spare = self.buffer.capacity() - self.buffer.len();
        // After a huge line its memory is given back, not used for the small ones that follow.
        let outgrown = self.allocated > KEPT_ALLOCATION && self.buffer.len() < READ;
        if outgrown || (spare < SMALLEST_READ && !self.reclaim()) {
            self.reallocate();
        }
        let spare = self.buffer.capacity() - self.buffer.len();
        (&mut self.buffer).limit(spare.min(READ))
    }

    fn reclaim(&mut self) -> bool {
        self.allocated <= KEPT_ALLOCATION && self.buffer.try_reclaim(READ)
    }

    /// Doubles, but never past the limit: `BytesMut::reserve` knows no such bound.
    fn reallocate(&mut self) {
        let held = self.buffer.len();
        self.allocated = (held * 2).max(held + READ).min(self.cap + READ);
        let mut buffer = BytesMut::with_capacity(self.allocated);
        buffer.extend_from_slice(&self.buffer);
        self.buffer = buffer;
    }

    fn split(&mut self, lines: &mut Vec<Line>) {
        while let Some(end) = self.newline() {
            let mut line = self.buffer.split_to(end + 1);
            line.truncate(end);
            self.scanned = 0;
            self.complete(line, lines);
        }
        self.scanned = self.buffer.len();
        if self.overlong.is_some() || self.buffer.len() > self.cap {
            let part = self.buffer.split();
            self.scanned = 0;
            self.overflow(&part);
        }
    }

    /// The output ended: what is left is a line too.
    fn finish(&mut self, lines: &mut Vec<Line>) {
        let line = self.buffer.split();
        self.scanned = 0;
        if self.overlong.is_some() {
            return self.complete(line, lines);
        }
        let line = without_carriage_return(line);
        if !line.is_empty() {
            lines.push(Line::Partial(line));
        }
    }

    fn newline(&self) -> Option<usize> {
        let unseen = self.buffer.get(self.scanned..)?;
        memchr(b'\n', unseen).map(|at| self.scanned + at)
    }

    fn complete(&mut self, line: BytesMut, lines: &mut Vec<Line>) {
        if self.overlong.is_some() || line.len() > self.cap {
            self.overflow(&line);
        }
        if let Some(Overlong { head, length }) = self.overlong.take() {
            return lines.push(Line::TooLong { head, length });
        }
        let line = without_carriage_return(line);
        if !line.is_empty() {
            lines.push(Line::Whole(line));
        }
    }

    /// Counts a part of a line that is over the limit. The head is copied, so that it does not hold the
    /// whole allocation.
    fn overflow(&mut self, part: &[u8]) {
        let overlong = self.overlong.get_or_insert_with(|| Overlong {
            head: Bytes::copy_from_slice(part.get(..HEAD).unwrap_or(part)),
            length: 0,
        });
        overlong.length += part.len() as u64;
    }
}

fn without_carriage_return(mut line: BytesMut) -> Bytes {
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    line.freeze()
}

/// The most that one read takes.
const READ: usize = 64 * 1024;
/// Less room than this is not worth a read.
const SMALLEST_READ: usize = 8 * 1024;
/// A larger allocation is not used again.
const KEPT_ALLOCATION: usize = 256 * 1024;
/// The bytes kept of a line over the limit.
const HEAD: usize = 4 * 1024;

#[cfg(test)]
mod tests;
