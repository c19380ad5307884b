//! The time for which a turn waits for people: while a permission or a question is open.

use std::collections::HashSet;

use jiff::Timestamp;
use omniglot_schema::{EventData, UniversalEvent};

#[derive(Debug, Default)]
pub(super) struct Waiting {
    open: HashSet<String>,
    since: Timestamp,
    milliseconds: u64,
}

impl Waiting {
    pub(super) fn event(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::TurnStarted(_) => *self = Self::default(),
            EventData::PermissionRequested(data) => self.asked(data.permission_id.as_str(), event.time),
            EventData::QuestionRequested(data) => self.asked(data.question_id.as_str(), event.time),
            EventData::PermissionResolved(data) => self.answered(data.permission_id.as_str(), event.time),
            EventData::QuestionResolved(data) => self.answered(data.question_id.as_str(), event.time),
            _ => {}
        }
    }

    fn asked(&mut self, id: &str, now: Timestamp) {
        if self.open.is_empty() {
            self.since = now;
        }
        self.open.insert(id.to_owned());
    }

    fn answered(&mut self, id: &str, now: Timestamp) {
        if self.open.remove(id) && self.open.is_empty() {
            let waited = now.as_millisecond().saturating_sub(self.since.as_millisecond());
            self.milliseconds = self.milliseconds.saturating_add(u64::try_from(waited).unwrap_or_default());
        }
    }

    /// Returns the milliseconds so far, and begins anew.
    pub(super) fn take(&mut self) -> u64 {
        std::mem::take(self).milliseconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B18: only the time without an open request is the agent's.
    #[test]
    fn b18_the_time_of_open_requests_counts_once() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut waiting = Waiting::default();
        waiting.asked("a", at(10));
        waiting.asked("b", at(12));
        waiting.answered("a", at(20));
        waiting.answered("unknown", at(21));
        waiting.answered("b", at(30));
        waiting.asked("c", at(40));
        waiting.answered("c", at(41));
        assert_eq!(waiting.take(), 21_000);
        assert_eq!(waiting.take(), 0);
    }
}
