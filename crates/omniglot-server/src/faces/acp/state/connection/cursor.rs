//! The cursor of a client: its `Last-Event-ID`, a position in the log of every session that it follows.
//!
//! `r7-12.1a2b3c4d.340-13.5e6f7a8b.5.2`: of the messages beside the logs up to number 7; of session 12 all up
//! to event 340; of session 13 all up to event 4 and two of the messages made from event 5. It needs no state
//! of the daemon, so it stays valid after a restart. Each log is named by the beginning of its epoch, so that
//! a position in a log that has lost events, or in another log, is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use omniglot_runtime::RuntimeError;
use omniglot_store::{SessionNo, SessionRecord};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The last message beside the logs.
    pub(crate) beside: u64,
    pub(crate) sessions: BTreeMap<SessionNo, Spot>,
}

/// A position, and the epoch of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) epoch: Epoch,
    pub(crate) place: LogPosition,
}

/// The first half of the epoch of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(u32);

impl Epoch {
    pub(crate) fn of(record: &SessionRecord) -> Self {
        // Epochs are sixteen hexadecimal digits.
        Self(record.epoch.get(..8).and_then(|half| u32::from_str_radix(half, 16).ok()).unwrap_or_default())
    }
}

impl Spot {
    /// Refused when the position is in another log, or beyond its end.
    pub(crate) fn within(self, record: &SessionRecord) -> Result<LogPosition, RuntimeError> {
        let id = &record.id;
        if self.epoch != Epoch::of(record) {
            return Err(RuntimeError::Gone(format!("the cursor is of another log of session {id}")));
        }
        if self.place.sequence > record.last_seq {
            let (at, end) = (self.place.sequence, record.last_seq);
            let detail = format!("event {at} of session {id} is beyond the end of the log, which is {end}");
            return Err(RuntimeError::Gone(detail));
        }
        Ok(self.place)
    }
}

/// A position in one log: everything up to `sequence`, or before it and `part` of its messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogPosition {
    pub(crate) sequence: u64,
    pub(crate) part: Option<u32>,
}

impl LogPosition {
    pub(crate) fn after(sequence: u64) -> Self {
        Self { sequence, part: None }
    }

    /// The last event of which everything was sent.
    pub(crate) fn whole(self) -> u64 {
        if self.part.is_some() { self.sequence.saturating_sub(1) } else { self.sequence }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.beside)?;
        for (SessionNo(no), Spot { epoch: Epoch(epoch), place }) in &self.sessions {
            write!(f, "-{no}.{epoch:08x}.{}", place.sequence)?;
            if let Some(part) = place.part {
                write!(f, ".{part}")?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not a cursor of this daemon")]
pub(crate) struct NoCursor;

impl FromStr for Cursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let mut fields = text.split('-');
        let beside = fields.next().and_then(|field| field.strip_prefix('r')).ok_or(NoCursor)?;
        let sessions = fields.map(spot).collect::<Result<_, _>>()?;
        Ok(Self { beside: number(beside)?, sessions })
    }
}

fn spot(field: &str) -> Result<(SessionNo, Spot), NoCursor> {
    let mut parts = field.split('.');
    let mut next = || parts.next().ok_or(NoCursor);
    let (no, epoch, sequence) = (number(next()?)?, next()?, number(next()?)?);
    let part = parts.next().map(number).transpose()?;
    if epoch.len() != 8 || parts.next().is_some() {
        return Err(NoCursor);
    }
    let epoch = Epoch(u32::from_str_radix(epoch, 16).map_err(|_| NoCursor)?);
    Ok((SessionNo(no), Spot { epoch, place: LogPosition { sequence, part } }))
}

fn number<T: FromStr>(text: &str) -> Result<T, NoCursor> {
    text.parse().map_err(|_| NoCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for text in ["r0", "r7-12.0a2b3c4d.340", "r7-12.1a2b3c4d.340-13.5e6f7a8b.5.2"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_place_within_an_event_stands_before_it() {
        let cursor: Cursor = "r1-3.00000001.5.2-4.00000001.6".parse().unwrap();
        let whole: Vec<_> = cursor.sessions.values().map(|spot| spot.place.whole()).collect();
        assert_eq!(whole, [4, 6]);
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for bad in [
            "",
            "5",
            "r",
            "r1-",
            "r1-2",
            "r1-2.3",
            "r1-2.3.4",
            "r1-2.1a2b3c4d",
            "r1-2.1a2b3c4d.3.4.5",
            "r1-a.1a2b3c4d.3",
            "r1-2.1a2b3c4g.3",
            "r-1.2",
            "1.340",
        ] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }
}
