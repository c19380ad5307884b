//! Reading events from a cursor, every row checked.

use std::sync::Arc;

use bytes::Bytes;
use omniglot_schema::UniversalEventType;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::checksum::EventRow;
use super::rows::{int, uint};
use crate::types::{Page, ReadQuery, SessionNo, StoreError, StoredEvent};

/// A page ends before a damaged event; a page that would begin with one is the error that names it.
pub(super) fn read(
    connection: &mut Connection,
    session: SessionNo,
    query: &ReadQuery,
) -> Result<Page, StoreError> {
    let transaction = connection.transaction()?;
    let (name, last_seq) = head(&transaction, session)?;
    let mut page =
        PageBuilder { query, expected: query.after.saturating_add(1), bytes: 0, events: Vec::new() };
    let end = page.fill(&transaction, session, last_seq)?;
    match end {
        End::Damaged { seq } if page.events.is_empty() => Err(StoreError::Damaged { session: name, seq }),
        End::Damaged { .. } | End::Full => Ok(Page { events: page.events, has_more: true }),
        End::OfLog => Ok(Page { events: page.events, has_more: false }),
    }
}

fn head(transaction: &Transaction<'_>, session: SessionNo) -> Result<(String, u64), StoreError> {
    let sql = "SELECT id, last_seq FROM sessions WHERE no = ?1";
    let row = |row: &Row<'_>| Ok((row.get(0)?, uint(row.get(1)?)));
    transaction.prepare_cached(sql)?.query_row([session.0], row).optional()?.ok_or(StoreError::NoSession)
}

/// Why a page has no more events.
enum End {
    OfLog,
    Full,
    Damaged { seq: u64 },
}

struct PageBuilder<'a> {
    query: &'a ReadQuery,
    /// The next sequence, as long as all types are read.
    expected: u64,
    bytes: usize,
    events: Vec<Arc<StoredEvent>>,
}

impl PageBuilder<'_> {
    fn fill(
        &mut self,
        transaction: &Transaction<'_>,
        session: SessionNo,
        last_seq: u64,
    ) -> Result<End, StoreError> {
        let mut statement = transaction.prepare_cached(&sql(&self.query.types))?;
        let until = self.query.until.unwrap_or(last_seq);
        let mut rows = statement.query(params![session.0, int(self.query.after), int(until)])?;
        while let Some(row) = rows.next()? {
            let seq = uint(row.get(0)?);
            if self.all_types() && seq != self.expected {
                return Ok(End::Damaged { seq: self.expected });
            }
            let Some(event) = event(row, session, seq) else { return Ok(End::Damaged { seq }) };
            if !self.push(event) {
                return Ok(End::Full);
            }
        }
        let missing = self.all_types() && self.expected <= until.min(last_seq);
        Ok(if missing { End::Damaged { seq: self.expected } } else { End::OfLog })
    }

    fn all_types(&self) -> bool {
        self.query.types.is_empty()
    }

    fn push(&mut self, event: StoredEvent) -> bool {
        let bytes = self.bytes + event.json.len();
        let too_big = bytes > self.query.max_bytes && !self.events.is_empty();
        if too_big || self.events.len() >= self.query.limit {
            return false;
        }
        self.bytes = bytes;
        self.expected = event.seq + 1;
        self.events.push(Arc::new(event));
        true
    }
}

fn sql(types: &[UniversalEventType]) -> String {
    let columns = "SELECT seq, type, time, payload, frame_no, crc FROM events
         WHERE session_no = ?1 AND seq > ?2 AND seq <= ?3";
    if types.is_empty() {
        return format!("{columns} ORDER BY seq");
    }
    let names: Vec<String> = types.iter().map(|kind| format!("'{}'", kind.as_str())).collect();
    format!("{columns} AND type IN ({}) ORDER BY seq", names.join(", "))
}

/// Reads the columns seq, type, time, payload, frame_no, crc; `None` when the checksum does not match.
pub(super) fn event(row: &Row<'_>, session: SessionNo, seq: u64) -> Option<StoredEvent> {
    let kind = text(row, 1)?;
    let payload = text(row, 3)?;
    let frame_no: Option<i64> = row.get(4).ok()?;
    let stored = EventRow { session, seq: int(seq), kind, time_us: row.get(2).ok()?, payload, frame_no };
    if stored.crc() != row.get::<_, u32>(5).ok()? {
        return None;
    }
    Some(StoredEvent {
        seq,
        kind: UniversalEventType::parse(std::str::from_utf8(kind).ok()?)?,
        json: Bytes::copy_from_slice(payload),
        frame_no: frame_no.map(uint),
    })
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    match row.get_ref(column).ok()? {
        ValueRef::Text(bytes) => Some(bytes),
        _ => None,
    }
}
