//! Selects the frames and sessions of a log that are too old or too large: pure arithmetic.
//!
//! The caller decides when to look and deletes the sessions; `store` drops the frames.

use omniglot_schema::SessionId;

use crate::types::SessionNo;

/// The limits for native frames. `None` keeps all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RawLimits {
    /// Frames that were stored before this moment may be dropped.
    pub before_ms: Option<i64>,
    /// The number of bytes that all frames may take, compressed; the oldest are dropped first.
    pub max_bytes: Option<u64>,
}

/// The number and size of the frames that were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    pub frames: u64,
    pub bytes: u64,
}

/// The limits for ended sessions. `None` keeps all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedLimits {
    /// Sessions whose last event is older than this moment may be deleted.
    pub before_ms: Option<i64>,
    /// About how many bytes all ended sessions may take; the longest unchanged are deleted first.
    pub max_bytes: Option<u64>,
}

/// A session that has ended and has no queued message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedSession {
    pub no: SessionNo,
    pub id: SessionId,
    pub updated_ms: i64,
    pub last_seq: u64,
}

/// The facts of a pack that retention needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackFacts {
    pub(crate) last: u64,
    pub(crate) count: u64,
    pub(crate) stored_ms: i64,
    pub(crate) bytes: u64,
}

/// Packs of one session that follow each other, small enough to be dropped in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) session: SessionNo,
    pub(crate) to: u64,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    packs: usize,
    newest_ms: i64,
}

const SLICE_PACKS: usize = 256;
const SLICE_BYTES: u64 = 4 << 20;
/// A slice is at most this part of the budget, so that a small budget is not missed by far.
const SLICES_PER_BUDGET: u64 = 64;

/// Cuts the packs of all sessions into slices.
pub(crate) struct Slicer {
    limits: RawLimits,
    slices: Vec<Slice>,
}

impl Slicer {
    pub(crate) fn new(limits: RawLimits) -> Self {
        Self { limits, slices: vec![] }
    }

    /// Takes the packs of a session in their order.
    pub(crate) fn push(&mut self, session: SessionNo, pack: PackFacts) {
        let before = self.slices.last().filter(|slice| slice.session == session);
        // A clock that was set back must not make later packs older than the packs before them.
        let newest_ms = before.map_or(pack.stored_ms, |slice| slice.newest_ms.max(pack.stored_ms));
        let fits = before.is_some_and(|slice| self.fits(slice, pack.bytes, newest_ms));
        match self.slices.last_mut() {
            Some(slice) if fits => {
                slice.to = pack.last;
                slice.frames += pack.count;
                slice.bytes += pack.bytes;
                slice.packs += 1;
                slice.newest_ms = newest_ms;
            }
            _ => {
                let PackFacts { last: to, count: frames, bytes, .. } = pack;
                self.slices.push(Slice { session, to, frames, bytes, packs: 1, newest_ms });
            }
        }
    }

    fn fits(&self, slice: &Slice, bytes: u64, newest_ms: i64) -> bool {
        let budget = self.limits.max_bytes.map_or(u64::MAX, |max| max / SLICES_PER_BUDGET);
        slice.packs < SLICE_PACKS
            && slice.bytes + bytes <= SLICE_BYTES.min(budget)
            && self.is_old(slice.newest_ms) == self.is_old(newest_ms)
    }

    fn is_old(&self, stored_ms: i64) -> bool {
        self.limits.before_ms.is_some_and(|before| stored_ms < before)
    }

    /// Returns the slices that are too old or exceed the budget, oldest first.
    pub(crate) fn surplus(mut self) -> Vec<Slice> {
        let mut slices = std::mem::take(&mut self.slices);
        // Stable, so that the slices of one session stay in their order.
        slices.sort_by_key(|slice| slice.newest_ms);
        let mut total: u64 = slices.iter().map(|slice| slice.bytes).sum();
        let goes = |slice: &Slice| {
            let goes = self.is_old(slice.newest_ms) || self.limits.max_bytes.is_some_and(|max| total > max);
            total -= slice.bytes;
            goes
        };
        slices.into_iter().take_while(goes).collect()
    }
}

/// Selects the ended sessions that are too old or too large; `sessions` has the longest unchanged first.
pub(crate) fn surplus_sessions(sessions: Vec<(EndedSession, u64)>, limits: EndedLimits) -> Vec<EndedSession> {
    let mut total: u64 = sessions.iter().map(|(_, bytes)| bytes).sum();
    let goes = |(session, bytes): &(EndedSession, u64)| {
        let old = limits.before_ms.is_some_and(|before| session.updated_ms < before);
        let goes = old || limits.max_bytes.is_some_and(|max| total > max);
        total -= bytes;
        goes
    };
    sessions.into_iter().take_while(goes).map(|(session, _)| session).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs of ten frames and `bytes` each, one for every time.
    fn slicer(limits: RawLimits, sessions: &[&[i64]], bytes: u64) -> Slicer {
        let mut slicer = Slicer::new(limits);
        for (no, times) in (1..).zip(sessions) {
            for (n, stored_ms) in (1..).zip(*times) {
                let facts = PackFacts { last: n * 10, count: 10, stored_ms: *stored_ms, bytes };
                slicer.push(SessionNo(no), facts);
            }
        }
        slicer
    }

    fn cuts(slicer: Slicer) -> Vec<(i64, u64)> {
        slicer.surplus().iter().map(|slice| (slice.session.0, slice.to)).collect()
    }

    #[test]
    fn without_limits_everything_stays() {
        assert_eq!(cuts(slicer(RawLimits::default(), &[&[1, 2]], 1 << 30)), []);
    }

    #[test]
    fn what_is_older_than_the_moment_goes_and_nothing_else() {
        let limits = RawLimits { before_ms: Some(5), ..RawLimits::default() };
        assert_eq!(cuts(slicer(limits, &[&[1, 4, 5, 9], &[5, 6], &[2]], 10)), [(3, 10), (1, 20)]);
    }

    #[test]
    fn the_oldest_of_all_sessions_go_until_the_rest_fits() {
        let limits = RawLimits { max_bytes: Some(250), ..RawLimits::default() };
        assert_eq!(cuts(slicer(limits, &[&[1, 4], &[2, 3]], 100)), [(1, 10), (2, 10)]);
        let limits = RawLimits { max_bytes: Some(400), ..RawLimits::default() };
        assert_eq!(cuts(slicer(limits, &[&[1, 4], &[2, 3]], 100)), []);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_older_than_what_it_follows() {
        let limits = RawLimits { max_bytes: Some(150), ..RawLimits::default() };
        assert_eq!(cuts(slicer(limits, &[&[9, 1], &[5]], 100)), [(2, 10), (1, 10)]);
    }

    #[test]
    fn slices_are_small() {
        let limits = RawLimits { before_ms: Some(i64::MAX), ..RawLimits::default() };
        let times: Vec<i64> = (0..1000).collect();
        assert_eq!(slicer(limits, &[&times], 1).surplus().len(), 4);
        assert_eq!(slicer(limits, &[&times], 1 << 20).surplus().len(), 250);
    }

    fn ended(no: i64, updated_ms: i64, bytes: u64) -> (EndedSession, u64) {
        let id = SessionId::parse(&format!("s{no}")).unwrap();
        (EndedSession { no: SessionNo(no), id, updated_ms, last_seq: 1 }, bytes)
    }

    #[test]
    fn ended_sessions_go_by_age_and_by_bytes() {
        let goes = |limits| {
            let sessions = vec![ended(3, 10, 50), ended(1, 20, 60), ended(2, 30, 70)];
            surplus_sessions(sessions, limits).iter().map(|session| session.no.0).collect::<Vec<_>>()
        };
        assert_eq!(goes(EndedLimits::default()), [0; 0]);
        assert_eq!(goes(EndedLimits { before_ms: Some(20), max_bytes: None }), [3]);
        assert_eq!(goes(EndedLimits { before_ms: None, max_bytes: Some(180) }), [0; 0]);
        assert_eq!(goes(EndedLimits { before_ms: None, max_bytes: Some(179) }), [3]);
        assert_eq!(goes(EndedLimits { before_ms: Some(20), max_bytes: Some(100) }), [3, 1]);
        assert_eq!(goes(EndedLimits { before_ms: None, max_bytes: Some(0) }), [3, 1, 2]);
    }
}
