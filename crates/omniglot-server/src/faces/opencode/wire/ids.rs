//! Ids in OpenCode's form: a prefix, then text that ascends in the order of creation.
//!
//! Everything is derived from the session and its events, so the same log gives the same ids. Ids of sessions
//! and requests can be read back; those of messages and parts never have to be.
//!
//! Like OpenCode's own, an id begins with 48 bits of time (milliseconds and a counter) as hexadecimal digits,
//! because the web page mints ids of its messages that way and sorts ours among them.

use std::fmt;
use std::sync::Arc;

use omniglot_schema::{PermissionId, QuestionId, SessionId};
use serde::Serialize;

/// An id of OpenCode's kind. Cheap to clone: every event repeats several.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Id(Arc<str>);

impl Id {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Id {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const DIGITS: usize = 12;
const MASK: u64 = (1 << 48) - 1;
/// Occurs in no inner id, and needs no escape in a path.
const SEPARATOR: char = '~';

pub fn session(id: &SessionId) -> Id {
    format!("ses_{id}").into()
}

/// Returns the session of a client's `id`.
pub fn session_of(id: &str) -> Option<SessionId> {
    SessionId::parse(id.strip_prefix("ses_")?).ok()
}

/// Names the session of a subagent by its number within that of its agent.
pub fn subagent(session: &Id, number: usize) -> Id {
    format!("{session}{SEPARATOR}{number:04}").into()
}

/// Returns the session of the agent whose subagent has the session `id`.
pub fn agent_of_subagent(id: &str) -> Option<SessionId> {
    session_of(id.split_once(SEPARATOR)?.0)
}

/// Returns the session and the permission of a client's `id`.
pub fn permission_of(id: &str) -> Option<(SessionId, PermissionId)> {
    let (session, request) = request_of(id.strip_prefix("per_")?)?;
    Some((session, PermissionId(request)))
}

/// Returns the session and the question of a client's `id`.
pub fn question_of(id: &str) -> Option<(SessionId, QuestionId)> {
    let (session, request) = request_of(id.strip_prefix("que_")?)?;
    Some((session, QuestionId(request)))
}

fn request_of(id: &str) -> Option<(SessionId, String)> {
    let (_, named) = id.split_once(SEPARATOR)?;
    let (request, session) = named.rsplit_once(SEPARATOR)?;
    Some((SessionId::parse(session).ok()?, request.to_owned()))
}

/// The id of an event that belongs to no session's log.
pub fn event_at(milliseconds: i64) -> Id {
    format!("evt_{:012x}{:014x}", stamp_of(milliseconds), 0).into()
}

fn stamp_of(milliseconds: i64) -> u64 {
    (milliseconds.unsigned_abs() << DIGITS) & MASK
}

/// Makes the ids of one session.
#[derive(Debug, Clone)]
pub struct Minter {
    session: SessionId,
    /// Distinguishes ids of this session from those of others that were made in the same millisecond.
    tail: String,
    things: Clock,
    events: Clock,
}

impl Minter {
    pub fn new(session: SessionId) -> Self {
        let tail = format!("{:014x}", fingerprint(session.as_str().as_bytes()) >> 8);
        Self { session, tail, things: Clock::default(), events: Clock::default() }
    }

    pub fn message(&mut self, milliseconds: i64) -> Id {
        format!("msg_{:012x}{}", self.things.tick(milliseconds), self.tail).into()
    }

    pub fn part(&mut self, milliseconds: i64) -> Id {
        format!("prt_{:012x}{}", self.things.tick(milliseconds), self.tail).into()
    }

    pub fn event(&mut self, milliseconds: i64) -> Id {
        format!("evt_{:012x}{}", self.events.tick(milliseconds), self.tail).into()
    }

    pub fn permission(&mut self, milliseconds: i64, id: &PermissionId) -> Id {
        self.request("per", milliseconds, id.as_str())
    }

    pub fn question(&mut self, milliseconds: i64, id: &QuestionId) -> Id {
        self.request("que", milliseconds, id.as_str())
    }

    fn request(&mut self, prefix: &str, milliseconds: i64, id: &str) -> Id {
        let stamp = self.things.tick(milliseconds);
        format!("{prefix}_{stamp:012x}{SEPARATOR}{id}{SEPARATOR}{}", self.session).into()
    }

    /// Accepts a client's own id, if it is of the right kind; later ids sort behind it.
    pub fn adopt(&mut self, prefix: &str, id: &str, milliseconds: i64) -> Option<Id> {
        let digits = id.strip_prefix(prefix)?.strip_prefix('_')?.get(..DIGITS);
        let stamp = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        self.things.follow(stamp.unwrap_or(0), milliseconds);
        Some(id.into())
    }
}

/// Makes stamps that only grow, also when the clock goes back.
#[derive(Debug, Clone, Default)]
struct Clock {
    last: u64,
}

impl Clock {
    fn tick(&mut self, milliseconds: i64) -> u64 {
        self.last = stamp_of(milliseconds).max(self.last + 1);
        self.last
    }

    /// A client whose clock is far ahead must not exhaust the numbers.
    fn follow(&mut self, stamp: u64, milliseconds: i64) {
        const A_DAY: u64 = (24 * 60 * 60 * 1000) << DIGITS;
        if stamp <= stamp_of(milliseconds).saturating_add(A_DAY) {
            self.last = self.last.max(stamp);
        }
    }
}

/// FNV-1a: equal bytes give an equal number, on every machine and in every version.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 0x1a1_e0da_09bd;

    fn minter() -> Minter {
        Minter::new(SessionId::parse("a.b:c").unwrap())
    }

    #[test]
    fn ids_ascend_within_one_millisecond_and_when_time_stands_still_or_goes_back() {
        let mut minter = minter();
        let made: Vec<Id> = (0..5000).map(|n| minter.part(NOON - n % 3)).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
        assert!(minter.message(NOON + 5).as_str() > "msg_1e0da09bd");
    }

    #[test]
    fn ids_look_like_those_of_opencode() {
        assert_eq!(minter().message(NOON).as_str().len(), "msg_1e0da09bd001byRTo4UfAiYmp8".len());
        assert!(minter().message(NOON).as_str().starts_with("msg_1e0da09bd000"));
    }

    #[test]
    fn sessions_and_requests_are_read_back() {
        let session = SessionId::parse("a.b:c").unwrap();
        assert_eq!(session_of(super::session(&session).as_str()), Some(session.clone()));
        let permission = PermissionId("perm_x_3".into());
        let id = minter().permission(NOON, &permission);
        assert_eq!(permission_of(id.as_str()), Some((session.clone(), permission)));
        let question = QuestionId("qst_x_3".into());
        let id = minter().question(NOON, &question);
        assert_eq!(question_of(id.as_str()), Some((session, question)));
        for bad in ["", "per_", "per_1e0da09bd000", "per_1~x~", "perm_x_3", "que_1~x~a b"] {
            assert!(permission_of(bad).is_none() && question_of(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn what_is_made_after_a_client_s_own_id_sorts_behind_it() {
        let mut minter = minter();
        let theirs = minter.adopt("msg", "msg_1e0da09bd7ffbyRTo4UfAiYmp8", NOON).unwrap();
        assert!(minter.message(NOON) > theirs);
        assert_eq!(minter.adopt("msg", "prt_1e0da09bd7ff", NOON), None);
    }

    #[test]
    fn a_client_whose_clock_is_far_ahead_does_not_use_up_the_numbers() {
        let mut minter = minter();
        minter.adopt("msg", "msg_ffffffffffffbyRTo4UfAiYmp8", NOON).unwrap();
        assert!(minter.message(NOON).as_str().starts_with("msg_1e0da09bd"));
    }

    #[test]
    fn sessions_of_the_same_millisecond_have_different_ids() {
        let mut other = Minter::new(SessionId::parse("other").unwrap());
        assert_ne!(minter().message(NOON), other.message(NOON));
    }
}
