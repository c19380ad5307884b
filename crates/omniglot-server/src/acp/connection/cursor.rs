//! Where a client left off: its `Last-Event-ID`, a place in the log of every session that it follows.
//!
//! `r7-12.340-13.5.2`: of the messages beside the logs up to number 7; of session 12 all up to event 340; of
//! session 13 all up to event 4 and two of the messages that event 5 becomes. It needs no memory of ours, so
//! it is good after a restart of the daemon too.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use omniglot_store::SessionNo;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The last message beside the logs.
    pub(crate) beside: u64,
    pub(crate) sessions: BTreeMap<SessionNo, Place>,
}

/// A place in one log: everything up to `sequence`, or before it and `part` of its messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) sequence: u64,
    pub(crate) part: Option<u32>,
}

impl Place {
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
        for (SessionNo(no), place) in &self.sessions {
            write!(f, "-{no}.{}", place.sequence)?;
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
        let sessions = fields.map(place).collect::<Result<_, _>>()?;
        Ok(Self { beside: number(beside)?, sessions })
    }
}

fn place(field: &str) -> Result<(SessionNo, Place), NoCursor> {
    let mut numbers = field.split('.');
    let no = number(numbers.next().ok_or(NoCursor)?)?;
    let sequence = number(numbers.next().ok_or(NoCursor)?)?;
    let part = numbers.next().map(number).transpose()?;
    if numbers.next().is_some() {
        return Err(NoCursor);
    }
    Ok((SessionNo(no), Place { sequence, part }))
}

fn number<T: FromStr>(text: &str) -> Result<T, NoCursor> {
    text.parse().map_err(|_| NoCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for text in ["r0", "r7-12.340", "r7-12.340-13.5.2"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_place_within_an_event_stands_before_it() {
        let cursor: Cursor = "r1-3.5.2-4.6".parse().unwrap();
        let whole: Vec<_> = cursor.sessions.values().map(|place| place.whole()).collect();
        assert_eq!(whole, [4, 6]);
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for bad in ["", "5", "r", "r1-", "r1-2", "r1-2.3.4.5", "r1-a.3", "r-1.2", "1.340"] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }
}
