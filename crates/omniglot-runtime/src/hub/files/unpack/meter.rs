//! Bounds what is read of an archive: all of it, and what comes before one entry.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Counts the bytes of the decompressed archive.
pub(super) struct Meter {
    left: Cell<u64>,
    /// Those that may be read before somebody allows more.
    allowed: Cell<u64>,
    exceeded: Cell<bool>,
}

impl Meter {
    pub(super) fn new(most: u64) -> Self {
        Self { left: Cell::new(most), allowed: Cell::new(0), exceeded: Cell::new(false) }
    }

    pub(super) fn allow(&self, bytes: u64) {
        self.allowed.set(bytes);
    }

    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }

    pub(super) fn exceed(&self) {
        self.exceeded.set(true);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded.get()
    }

    fn count(&self, bytes: usize) {
        let bytes = bytes as u64;
        self.left.set(self.left.get().saturating_sub(bytes));
        self.allowed.set(self.allowed.get().saturating_sub(bytes));
    }
}

pub(super) struct Metered<R> {
    pub(super) inner: R,
    pub(super) meter: Rc<Meter>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.meter.left.get().min(self.meter.allowed.get())).unwrap_or(usize::MAX);
        let most = buffer.len().min(most);
        if most == 0 && !buffer.is_empty() {
            // The end may be exactly here.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ if self.meter.left.get() == 0 => {
                    self.meter.exceed();
                    Err(io::Error::other("too long"))
                }
                _ => Err(io::Error::other("its headers are too long")),
            };
        }
        let read = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.meter.count(read);
        Ok(read)
    }
}
