//! The sessions whose changes are told: those in the middle of something, and the last few that rest.
//!
//! What is kept of each is the relay's business.

use std::collections::{HashMap, VecDeque};

use omniglot_store::SessionNo;

/// How many that rest are kept: one that goes on is read from its first event otherwise.
const RESTING: usize = 16;

#[derive(Debug)]
pub(super) struct ActiveViews<T> {
    all: HashMap<SessionNo, T>,
    /// The longest resting stands first.
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

    /// Returns the one that has rested longest, when they have become too many. It is still there: whoever
    /// knows that it may go removes it.
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
