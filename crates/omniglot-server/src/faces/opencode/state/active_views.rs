//! The sessions whose changes are streamed: those that are busy, and the last few idle ones.
//!
//! The relay decides what is kept of each.

use std::collections::{HashMap, VecDeque};

use omniglot_store::SessionNo;

/// The number of idle sessions that are kept: another one that continues is read from its first event.
const RESTING: usize = 16;

#[derive(Debug)]
pub(super) struct ActiveViews<T> {
    all: HashMap<SessionNo, T>,
    /// The longest idle session is first.
    resting: VecDeque<SessionNo>,
}

impl<T> Default for ActiveViews<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), resting: VecDeque::new() }
    }
}

impl<T: Clone> ActiveViews<T> {
    pub(super) fn get(&self, no: SessionNo) -> Option<T> {
        self.all.get(&no).cloned()
    }

    pub(super) fn insert(&mut self, no: SessionNo, live: T) {
        self.all.insert(no, live);
    }

    pub(super) fn remove(&mut self, no: SessionNo) {
        self.works(no);
        self.all.remove(&no);
    }

    pub(super) fn values(&self) -> Vec<T> {
        self.all.values().cloned().collect()
    }

    pub(super) fn works(&mut self, no: SessionNo) {
        self.resting.retain(|resting| *resting != no);
    }

    /// Marks a session as idle and returns the longest idle one, when there are too many. It stays in the
    /// list: the caller removes it once that is safe.
    pub(super) fn rests(&mut self, no: SessionNo) -> Option<(SessionNo, T)> {
        self.works(no);
        self.resting.push_back(no);
        let surplus = self.resting.len() > RESTING;
        let longest = surplus.then(|| self.resting.pop_front()).flatten()?;
        Some((longest, self.get(longest)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ones_that_rest_longest_are_let_go_and_those_that_work_are_kept() {
        let mut active_views = ActiveViews::default();
        let numbers = || (1..=RESTING as i64).map(SessionNo);
        for no in std::iter::once(SessionNo(0)).chain(numbers()) {
            active_views.insert(no, ());
        }
        assert!(numbers().all(|no| active_views.rests(no).is_none()));
        assert!(active_views.rests(SessionNo(1)).is_none(), "one that rests again is no other");
        active_views.works(SessionNo(2));
        assert!(active_views.rests(SessionNo(100)).is_none(), "one fewer rested");
        active_views.insert(SessionNo(101), ());
        let (longest, ()) = active_views.rests(SessionNo(101)).unwrap();
        assert_eq!(longest, SessionNo(3), "1 has rested since, 2 works");
        assert!(active_views.get(longest).is_some());
        active_views.remove(longest);
        assert_eq!(active_views.values().len(), RESTING + 1);
    }
}
