//! Random numbers that repeat with the same seed.

pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound.max(1)
    }

    /// Returns another source of numbers for another task.
    pub(crate) fn fork(&mut self) -> Self {
        let seed = self.below(u64::MAX);
        Self::new(seed)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = usize::try_from(self.below(from.len() as u64)).ok()?;
        from.get(index).copied()
    }
}
