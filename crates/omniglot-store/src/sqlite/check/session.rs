//! One session: its row, its frames, its events, its blobs, its queue and its receipts.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use serde::de::IgnoredAny;

use super::Findings;
use crate::sqlite::rows::uint;
use crate::sqlite::session_row::{COLUMNS, SessionRow};
use crate::sqlite::{blobs, events, frames, retention, sessions};
use crate::types::{SessionNo, SessionRecord, StoreError};

const CHECKSUM: &str = "does not match its checksum";

pub(super) fn check(
    connection: &mut Connection,
    no: SessionNo,
    findings: &mut Findings<'_>,
) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    let mut walk = Walk {
        transaction,
        no,
        name: format!("number {}", no.0),
        record: None,
        stored: vec![],
        dropped_to: 0,
    };
    let mut exists = false;
    findings.noting("sessions", Some(&walk.name.clone()), |findings| {
        exists = walk.row(findings)?;
        Ok(())
    });
    let name = walk.name.clone();
    if exists {
        findings.noting("frames", Some(&name), |findings| walk.frames(findings));
        findings.noting("events", Some(&name), |findings| walk.events(findings));
        findings.noting("blobs", Some(&name), |findings| walk.blobs(findings));
        findings.noting("queue", Some(&name), |findings| walk.queue(findings));
        findings.noting("receipts", Some(&name), |findings| walk.receipts(findings));
    }
    Ok(())
}

struct Walk<'c> {
    transaction: Transaction<'c>,
    no: SessionNo,
    name: String,
    /// `None` when the row is damaged: its numbers prove nothing then.
    record: Option<SessionRecord>,
    /// The ranges of frames that can be read, first and last, in order.
    stored: Vec<(u64, u64)>,
    /// The last frame that retention has dropped.
    dropped_to: u64,
}

impl Walk<'_> {
    /// Checks the session's row and returns whether it exists; a daemon may have deleted it meanwhile.
    fn row(&mut self, findings: &mut Findings<'_>) -> Result<bool, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE no = ?1");
        let found =
            self.transaction.query_row(&sql, [self.no.0], |row| Ok(SessionRow::parse(row))).optional()?;
        let Some(found) = found else { return Ok(false) };
        findings.row();
        findings.summary.sessions += 1;
        match found {
            Ok(row) => {
                self.name = row.record.id.to_string();
                self.row_content(&row, findings);
                self.record = Some(row.record);
            }
            Err(StoreError::DamagedSession { session }) => {
                self.name = session;
                findings.fault("sessions", Some(&self.name), None, CHECKSUM);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    fn row_content(&self, SessionRow { record, packed_frame, .. }: &SessionRow, findings: &mut Findings<'_>) {
        for (column, text) in [("fold", &record.fold), ("request", &record.request)] {
            if !is_json(text.as_bytes()) {
                findings.fault("sessions", Some(&self.name), None, format!("{column} is not JSON"));
            }
        }
        // One further than the last: a process runs, and the next event may be about it.
        if record.open_from.is_some_and(|from| from > record.last_seq + 1) {
            findings.fault("sessions", Some(&self.name), None, "open_from lies behind the last event");
        }
        if *packed_frame > record.last_frame {
            findings.fault("sessions", Some(&self.name), None, "packed_frame lies behind the last frame");
        }
    }

    fn frames(&mut self, findings: &mut Findings<'_>) -> Result<(), StoreError> {
        self.dropped_to = self.trim(findings)?;
        let sql = "SELECT first_no, count, data, crc, stored_ms FROM frames WHERE session_no = ?1
                   ORDER BY first_no";
        let mut statement = self.transaction.prepare(sql)?;
        let mut rows = statement.query([self.no.0])?;
        let mut dense = Dense { table: "frames", what: "frame", next: self.dropped_to + 1 };
        while let Some(row) = rows.next()? {
            findings.row();
            let first = uint(row.get(0)?);
            let pack = frames::pack(row, self.no);
            let fault = match &pack {
                None => Some(CHECKSUM),
                Some(pack) if pack.open().is_none() => Some("does not hold the frames that it should"),
                Some(_) => None,
            };
            dense.at(first, &self.name, findings);
            // The count of a damaged row most likely still gives the number of the next one.
            let last = pack.map_or_else(|| first + uint(row.get(1).unwrap_or(1)).max(1) - 1, |p| p.last());
            match fault {
                Some(fault) => findings.fault("frames", Some(&self.name), Some(first), fault),
                None => self.stored.push((first, last)),
            }
            findings.summary.frames += (last + 1).saturating_sub(first);
            dense.next = last + 1;
        }
        dense.end(self.record.as_ref().map(|r| r.last_frame), &self.name, findings);
        Ok(())
    }

    fn trim(&self, findings: &mut Findings<'_>) -> Result<u64, StoreError> {
        match retention::trim_of(&self.transaction, self.no)? {
            None => Ok(0),
            Some(Some(dropped_to)) => Ok(dropped_to),
            Some(None) => {
                findings.fault("trims", Some(&self.name), None, CHECKSUM);
                Ok(0)
            }
        }
    }

    fn events(&mut self, findings: &mut Findings<'_>) -> Result<(), StoreError> {
        let sql = "SELECT seq, type, time, payload, frame_no, crc FROM events WHERE session_no = ?1
                   ORDER BY seq";
        let mut statement = self.transaction.prepare(sql)?;
        let mut rows = statement.query([self.no.0])?;
        let mut dense = Dense { table: "events", what: "event", next: 1 };
        while let Some(row) = rows.next()? {
            findings.row();
            findings.summary.events += 1;
            let seq = uint(row.get(0)?);
            dense.at(seq, &self.name, findings);
            dense.next = seq + 1;
            if let Some(fault) = self.event_fault(row, seq) {
                findings.fault("events", Some(&self.name), Some(seq), fault);
            }
        }
        dense.end(self.record.as_ref().map(|r| r.last_seq), &self.name, findings);
        Ok(())
    }

    fn event_fault(&self, row: &Row<'_>, seq: u64) -> Option<String> {
        let Some(event) = events::event(row, self.no, seq) else { return Some(CHECKSUM.to_owned()) };
        if !is_json(&event.json) {
            return Some("the payload is not JSON".to_owned());
        }
        let frame = event.frame_no.filter(|no| *no > self.dropped_to && !self.is_stored(*no))?;
        Some(format!("refers to frame {frame}, which cannot be read"))
    }

    fn is_stored(&self, frame: u64) -> bool {
        let behind = self.stored.partition_point(|(first, _)| *first <= frame);
        behind.checked_sub(1).and_then(|at| self.stored.get(at)).is_some_and(|(_, last)| frame <= *last)
    }

    fn blobs(&mut self, findings: &mut Findings<'_>) -> Result<(), StoreError> {
        let sql = "SELECT name, mime, bytes, crc FROM blobs WHERE session_no = ?1";
        let mut statement = self.transaction.prepare(sql)?;
        let mut rows = statement.query([self.no.0])?;
        while let Some(row) = rows.next()? {
            findings.row();
            findings.summary.blobs += 1;
            if blobs::blob(row, self.no).is_none() {
                let name: String = row.get(0).unwrap_or_default();
                findings.fault("blobs", Some(&self.name), None, format!("the blob {name:?} {CHECKSUM}"));
            }
        }
        Ok(())
    }

    fn queue(&mut self, findings: &mut Findings<'_>) -> Result<(), StoreError> {
        let sql = "SELECT position, message_id, body, crc FROM queue WHERE session_no = ?1 ORDER BY position";
        let mut statement = self.transaction.prepare(sql)?;
        let mut rows = statement.query([self.no.0])?;
        while let Some(row) = rows.next()? {
            findings.row();
            findings.summary.queued += 1;
            let fault = match sessions::queued(row, self.no) {
                None => CHECKSUM,
                Some(message) if !is_json(message.body.as_bytes()) => "the message is not JSON",
                Some(_) => continue,
            };
            findings.fault("queue", Some(&self.name), row.get(0).ok().map(uint), fault);
        }
        Ok(())
    }

    fn receipts(&mut self, findings: &mut Findings<'_>) -> Result<(), StoreError> {
        let sql = "SELECT key, body_hash, answer, created_ms, crc FROM receipts WHERE session_no = ?1";
        let mut statement = self.transaction.prepare(sql)?;
        let mut rows = statement.query([self.no.0])?;
        while let Some(row) = rows.next()? {
            findings.row();
            findings.summary.receipts += 1;
            if sessions::kept(row, self.no).is_none() {
                let key: String = row.get(0).unwrap_or_default();
                let fault = format!("the row of key {key:?} {CHECKSUM}");
                findings.fault("receipts", Some(&self.name), None, fault);
            }
        }
        Ok(())
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// Numbers that must follow each other from 1.
struct Dense {
    table: &'static str,
    what: &'static str,
    next: u64,
}

impl Dense {
    fn at(&self, found: u64, session: &str, findings: &mut Findings<'_>) {
        let (what, next) = (self.what, self.next);
        if found > next {
            let fault = format!("{what}s {next} to {} are missing", found - 1);
            findings.fault(self.table, Some(session), Some(next), fault);
        }
        if found < next {
            findings.fault(self.table, Some(session), Some(found), format!("{what} {found} is there twice"));
        }
    }

    /// Checks against `last` from the session's row.
    fn end(&self, last: Option<u64>, session: &str, findings: &mut Findings<'_>) {
        let Some(last) = last else { return };
        let (what, next) = (self.what, self.next);
        if next <= last {
            let fault = format!("{what}s {next} to {last} are missing");
            findings.fault(self.table, Some(session), Some(next), fault);
        }
        if next > last + 1 {
            let fault = format!("the session's row says that {what} {last} is the last");
            findings.fault(self.table, Some(session), Some(last + 1), fault);
        }
    }
}
