//! The position of a client in a log, and whether it belongs to the log that the client now reads (P2, P17).

use http::HeaderMap;
use omniglot_runtime::{CommitPosition, RuntimeError};
use omniglot_store::{CommitHead, SessionRecord};

use crate::http::problem::Problem;

/// `EPOCH.SEQUENCE` as in an SSE id, or a bare sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    epoch: Option<String>,
    sequence: u64,
}

impl Cursor {
    /// `Last-Event-ID` takes precedence over `offset`: a browser repeats its first URL when it reconnects.
    pub(crate) fn of(headers: &HeaderMap, offset: Option<u64>) -> Result<Self, Problem> {
        match headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?")) {
            Some(id) if !id.is_empty() => Self::parse(id),
            _ => Ok(Self::at(offset.unwrap_or(0))),
        }
    }

    pub(crate) fn at(sequence: u64) -> Self {
        Self { epoch: None, sequence }
    }

    fn parse(id: &str) -> Result<Self, Problem> {
        let (epoch, sequence) = match id.rsplit_once('.') {
            Some((epoch, sequence)) => (Some(epoch.to_owned()), sequence),
            None => (None, id),
        };
        let sequence = sequence.parse().map_err(|_| {
            Problem::invalid(format!("Last-Event-ID `{id}` is neither EPOCH.SEQUENCE nor a sequence"))
        })?;
        Ok(Self { epoch, sequence })
    }

    /// Returns the sequence after which to read, if this cursor belongs to that log.
    pub(crate) fn within(self, record: &SessionRecord) -> Result<u64, Problem> {
        if self.epoch.is_some_and(|epoch| epoch != record.epoch) {
            return Err(gone("the cursor is of another log of this session".into()));
        }
        if self.sequence > record.last_seq {
            let (at, end) = (self.sequence, record.last_seq);
            return Err(gone(format!("the offset {at} is beyond the end of the log, which is {end}")));
        }
        Ok(self.sequence)
    }
}

/// A place in the order of all sessions' events: `EPOCH.NUMBER`, or `EPOCH.NUMBER.SEQUENCE` within a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllCursor {
    /// `None` when the client knows the number alone.
    epoch: Option<String>,
    position: CommitPosition,
}

impl AllCursor {
    /// `Last-Event-ID` takes precedence over `offset`; `None` without both.
    pub(crate) fn of(headers: &HeaderMap, offset: Option<&str>) -> Result<Option<Self>, Problem> {
        let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
        match header.filter(|id| !id.is_empty()) {
            Some(id) => Self::parse(id).map(Some).ok_or_else(|| Self::refused("Last-Event-ID", id)),
            None => offset.map(|id| Self::parse(id).ok_or_else(|| Self::refused("offset", id))).transpose(),
        }
    }

    fn parse(id: &str) -> Option<Self> {
        let parts: Vec<&str> = id.split('.').collect();
        let (epoch, no, partly) = match *parts.as_slice() {
            [no] => (None, no, None),
            [epoch, no] => (Some(epoch), no, None),
            [epoch, no, seq] => (Some(epoch), no, Some(seq.parse().ok()?)),
            _ => return None,
        };
        let position = CommitPosition { no: no.parse().ok()?, partly };
        Some(Self { epoch: epoch.map(str::to_owned), position })
    }

    fn refused(name: &str, id: &str) -> Problem {
        Problem::invalid(format!("{name} `{id}` is no cursor of this stream: it is EPOCH.NUMBER or a number"))
    }

    /// Returns the position after which to read, if it is one of this order and still kept.
    pub(crate) fn within(self, head: &CommitHead) -> Result<CommitPosition, Problem> {
        if self.epoch.is_none() && self.position == (CommitPosition { no: 0, partly: None }) {
            return Ok(CommitPosition { no: head.floor, partly: None });
        }
        if self.epoch.is_some_and(|epoch| epoch != head.epoch) {
            return Err(gone("the cursor is of another log; list the sessions again".into()));
        }
        let CommitPosition { no, partly } = self.position;
        let read_after = if partly.is_some() { no.saturating_sub(1) } else { no };
        if read_after < head.floor {
            let floor = head.floor;
            return Err(gone(format!(
                "events up to {floor} are not kept in this order; list the sessions again"
            )));
        }
        if no > head.last {
            let last = head.last;
            return Err(gone(format!("the offset {no} is beyond the end, which is {last}")));
        }
        Ok(self.position)
    }
}

fn gone(detail: String) -> Problem {
    RuntimeError::Gone(detail).into()
}

#[cfg(test)]
mod tests {
    use omniglot_schema::SessionId;
    use omniglot_store::SessionNo;

    use super::*;

    fn record() -> SessionRecord {
        SessionRecord {
            no: SessionNo(1),
            id: SessionId::parse("s").unwrap(),
            epoch: "e1".into(),
            agent: "mock".into(),
            request: String::new(),
            labels: Default::default(),
            created_ms: 0,
            updated_ms: 0,
            fold: String::new(),
            ended: false,
            open_from: None,
            last_seq: 10,
            last_frame: 0,
        }
    }

    #[track_caller]
    fn read_from(id: Option<&str>, offset: Option<u64>) -> Result<u64, u16> {
        let mut headers = HeaderMap::new();
        if let Some(id) = id {
            headers.insert("last-event-id", id.parse().unwrap());
        }
        Cursor::of(&headers, offset)
            .and_then(|cursor| cursor.within(&record()))
            .map_err(|problem| problem.details().status)
    }

    #[test]
    fn a_cursor_of_this_log_is_taken() {
        assert_eq!(read_from(None, None), Ok(0));
        assert_eq!(read_from(None, Some(10)), Ok(10));
        assert_eq!(read_from(Some("e1.7"), None), Ok(7));
        assert_eq!(read_from(Some("7"), None), Ok(7));
    }

    #[test]
    fn the_last_event_id_wins_over_the_offset() {
        assert_eq!(read_from(Some("e1.7"), Some(3)), Ok(7));
        assert_eq!(read_from(Some(""), Some(3)), Ok(3));
    }

    #[test]
    fn another_epoch_or_a_place_beyond_the_end_is_gone() {
        assert_eq!(read_from(Some("e2.7"), None), Err(410));
        assert_eq!(read_from(Some("e1.11"), None), Err(410));
        assert_eq!(read_from(None, Some(11)), Err(410));
    }

    #[track_caller]
    fn all_from(id: &str) -> Result<(u64, Option<u64>), u16> {
        let head = CommitHead { epoch: "e1".into(), floor: 5, last: 10 };
        let cursor = AllCursor::of(&HeaderMap::new(), Some(id)).map(Option::unwrap);
        let position = cursor.and_then(|cursor| cursor.within(&head));
        position.map(|at| (at.no, at.partly)).map_err(|problem| problem.details().status)
    }

    #[test]
    fn a_cursor_of_all_events_is_one_that_can_be_read_from() {
        assert_eq!(all_from("0"), Ok((5, None)), "from the oldest that is kept");
        assert_eq!(all_from("5"), Ok((5, None)));
        assert_eq!(all_from("e1.10"), Ok((10, None)));
        assert_eq!(all_from("e1.6.3"), Ok((6, Some(3))));
        for gone in ["4", "e1.4", "e1.5.3", "11", "e2.7", "e1.0.1"] {
            assert_eq!(all_from(gone), Err(410), "{gone}");
        }
        for bad in ["", "x", "e1.", "e1.7.x", "e1.7.1.1", "-1", "e1.99999999999999999999"] {
            assert_eq!(all_from(bad), Err(400), "{bad}");
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for bad in ["e1.", "x", "e1.-1", "1.2.x"] {
            assert_eq!(read_from(Some(bad), None), Err(400), "{bad}");
        }
    }
}
