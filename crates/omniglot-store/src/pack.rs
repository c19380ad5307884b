//! Native frames as one compressed block: first those of a batch, later those of a turn.
//!
//! Agents repeat themselves from frame to frame, so packing them together saves most of the space.
//! The engine decides where packs are stored.

use std::cell::RefCell;
use std::io::Write as _;

use bytes::{BufMut as _, Bytes};

use crate::types::{Frame, StoreError};

/// The compression level of a batch, while its session waits for the commit.
const LEVEL: i32 = 1;
/// The compression level of a turn, when no caller waits.
const TURN_LEVEL: i32 = 3;

/// Reading one frame unpacks its whole pack, so many frames get several packs; beyond this many small frames
/// a pack saves hardly more.
pub(crate) const MAX_FRAMES: usize = 4096;
/// The same limit for large frames.
pub(crate) const MAX_BYTES: usize = 8 << 20;

/// Consecutive frames: zstd of each frame's length (4 bytes, little endian) and bytes.
#[derive(Debug)]
pub(crate) struct Pack {
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) data: Vec<u8>,
}

thread_local! {
    /// A compressor's tables are large; allocating them for every delta would cost more than the compression.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

impl Pack {
    /// Returns `None` without frames.
    pub(crate) fn new(frames: &[Frame]) -> Result<Option<Self>, StoreError> {
        let Some(first) = frames.first().map(|f| f.no) else { return Ok(None) };
        let mut plain = Vec::with_capacity(frames.iter().map(|f| f.bytes.len() + 4).sum());
        for (frame, expected) in frames.iter().zip(first..) {
            if frame.no != expected {
                return Err(StoreError::OutOfOrder { what: "frame", expected, found: frame.no });
            }
            let length = u32::try_from(frame.bytes.len())
                .map_err(|_| std::io::Error::other("a frame is longer than 4 GiB"))?;
            plain.put_u32_le(length);
            plain.put_slice(&frame.bytes);
        }
        Ok(Some(Self { first, count: frames.len() as u64, data: compress(&plain)? }))
    }

    /// Makes as many packs as these frames need, each small enough to be unpacked for one frame.
    pub(crate) fn several(frames: &[Frame]) -> Result<Vec<Self>, StoreError> {
        let mut packs = vec![];
        let mut rest = frames;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take(MAX_FRAMES).take_while(|frame| {
                bytes += frame.bytes.len();
                bytes <= MAX_BYTES
            });
            let (head, tail) = rest.split_at(fits.count().max(1));
            packs.extend(Self::new(head)?);
            rest = tail;
        }
        Ok(packs)
    }

    pub(crate) fn last(&self) -> u64 {
        self.first + self.count.saturating_sub(1)
    }

    /// Unpacks the frames; `None` when the block does not hold the frames that it should.
    pub(crate) fn open(&self) -> Option<OpenPack> {
        let plain = Bytes::from(zstd::stream::decode_all(&*self.data).ok()?);
        let mut rest = plain.clone();
        let mut frames = Vec::new();
        self.first.checked_add(self.count)?;
        for _ in 0..self.count {
            let length = rest.split_to_checked(4)?;
            let length = u32::from_le_bytes(length.as_ref().try_into().ok()?);
            frames.push(rest.split_to_checked(length as usize)?);
        }
        rest.is_empty().then_some(OpenPack { first: self.first, frames, plain })
    }
}

/// A pack whose frames can be read.
#[derive(Debug)]
pub(crate) struct OpenPack {
    first: u64,
    frames: Vec<Bytes>,
    plain: Bytes,
}

impl OpenPack {
    /// Returns the frame of this number, if the pack has it. The frame keeps the whole pack in memory.
    pub(crate) fn frame(&self, no: u64) -> Option<&Bytes> {
        self.frames.get(usize::try_from(no.checked_sub(self.first)?).ok()?)
    }

    pub(crate) fn count(&self) -> u64 {
        self.frames.len() as u64
    }

    pub(crate) fn plain_bytes(&self) -> usize {
        self.plain.len()
    }
}

/// Makes one pack of several that follow each other, one after the other.
pub(crate) struct Repacker {
    first: u64,
    count: u64,
    plain_bytes: usize,
    encoder: zstd::stream::write::Encoder<'static, Vec<u8>>,
}

impl Repacker {
    /// The numbers of the frames to add begin with `first`.
    pub(crate) fn new(first: u64) -> std::io::Result<Self> {
        let encoder = zstd::stream::write::Encoder::new(Vec::new(), TURN_LEVEL)?;
        Ok(Self { first, count: 0, plain_bytes: 0, encoder })
    }

    /// The number of the frame that must be added next.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.count
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn plain_bytes(&self) -> usize {
        self.plain_bytes
    }

    pub(crate) fn push(&mut self, pack: &OpenPack) -> std::io::Result<()> {
        self.count += pack.count();
        self.plain_bytes += pack.plain.len();
        self.encoder.write_all(&pack.plain)
    }

    pub(crate) fn finish(self) -> std::io::Result<Pack> {
        Ok(Pack { first: self.first, count: self.count, data: self.encoder.finish()? })
    }
}

trait SplitChecked: Sized {
    fn split_to_checked(&mut self, at: usize) -> Option<Self>;
}

impl SplitChecked for Bytes {
    fn split_to_checked(&mut self, at: usize) -> Option<Self> {
        (at <= self.len()).then(|| self.split_to(at))
    }
}

fn compress(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => slot.insert(zstd::bulk::Compressor::new(LEVEL)?),
        };
        compressor.compress(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(texts: &[&str]) -> Vec<Frame> {
        let bytes = |text: &&str| Bytes::copy_from_slice(text.as_bytes());
        texts.iter().zip(7..).map(|(text, no)| Frame { no, bytes: bytes(text) }).collect()
    }

    #[test]
    fn a_pack_gives_back_its_frames_byte_for_byte() {
        let pack = Pack::new(&frames(&["{\"a\":1}", "", "not json\n"])).unwrap().unwrap();
        let opened = pack.open().unwrap();
        assert_eq!(pack.last(), 9);
        let texts: Vec<_> = (6..=10).map(|no| opened.frame(no).map(|bytes| &bytes[..])).collect();
        assert_eq!(texts, [None, Some(&b"{\"a\":1}"[..]), Some(b""), Some(b"not json\n"), None]);
    }

    #[test]
    fn packs_made_one_hold_the_frames_of_all() {
        let one = Pack::new(&frames(&["one", ""])).unwrap().unwrap();
        let mut two = Pack::new(&frames(&["two"])).unwrap().unwrap();
        two.first = 9;
        let mut both = Repacker::new(7).unwrap();
        for pack in [&one, &two] {
            assert_eq!(both.next(), pack.first);
            both.push(&pack.open().unwrap()).unwrap();
        }
        let both = both.finish().unwrap();
        assert_eq!((both.first, both.count), (7, 3));
        assert_eq!(both.open().unwrap().frames, ["one", "", "two"]);
    }

    #[test]
    fn a_pack_with_a_wrong_count_does_not_open() {
        let mut pack = Pack::new(&frames(&["one", "two"])).unwrap().unwrap();
        pack.count = 1;
        assert!(pack.open().is_none());
        pack.count = 3;
        assert!(pack.open().is_none());
    }

    #[test]
    fn frames_with_a_gap_are_refused() {
        let mut gap = frames(&["one", "two"]);
        gap[1].no = 9;
        assert!(matches!(Pack::new(&gap), Err(StoreError::OutOfOrder { expected: 8, found: 9, .. })));
    }
}
