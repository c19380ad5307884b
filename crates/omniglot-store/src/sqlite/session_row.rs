//! The row of a session: read, checked, changed and written as a whole.
//!
//! `sessions` selects the rows; `write` and `repack` change them.

use omniglot_schema::{Labels, SessionId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::checksum;
use super::rows::int;
use crate::types::{SessionNo, SessionRecord, StoreError};

/// The columns in the order in which [`SessionRow::parse`] reads them.
pub(super) const COLUMNS: &str = "no, id, uuid, epoch, agent, created_ms, updated_ms, ended, open_from,
    last_seq, last_frame, packed_frame, crc, fold, request, labels";

pub(super) struct SessionRow {
    pub(super) record: SessionRecord,
    pub(super) uuid: String,
    /// The last frame that is packed by turn.
    pub(super) packed_frame: u64,
}

/// The part of a row that a change writes; writing less keeps an index out of the hot path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The columns that every append changes.
    Counters,
    All,
}

impl SessionRow {
    /// Returns the checked row, or an error that names the session of the damaged row.
    pub(super) fn parse(row: &Row<'_>) -> Result<Self, StoreError> {
        Self::checked(row).ok_or_else(|| StoreError::DamagedSession { session: name(row) })
    }

    pub(super) fn load(connection: &Connection, session: SessionNo) -> Result<Self, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE no = ?1");
        let mut statement = connection.prepare_cached(&sql)?;
        let found = statement.query_row([session.0], |row| Ok(Self::parse(row))).optional()?;
        found.unwrap_or(Err(StoreError::NoSession))
    }

    fn checked(row: &Row<'_>) -> Option<Self> {
        let record = SessionRecord {
            no: SessionNo(row.get(0).ok()?),
            id: SessionId::parse(&row.get::<_, String>(1).ok()?).ok()?,
            epoch: row.get(3).ok()?,
            agent: row.get(4).ok()?,
            created_ms: row.get(5).ok()?,
            updated_ms: row.get(6).ok()?,
            ended: flag(row.get(7).ok()?)?,
            open_from: row.get::<_, Option<i64>>(8).ok()?.map(u64::try_from).transpose().ok()?,
            last_seq: count(row, 9)?,
            last_frame: count(row, 10)?,
            fold: row.get(13).ok()?,
            request: row.get(14).ok()?,
            labels: labels(&row.get::<_, String>(15).ok()?)?,
        };
        let found = Self { record, uuid: row.get(2).ok()?, packed_frame: count(row, 11)? };
        (found.crc() == row.get::<_, u32>(12).ok()?).then_some(found)
    }

    fn crc(&self) -> u32 {
        let Self { record: r, uuid, packed_frame } = self;
        let numbers = [
            r.no.0,
            r.created_ms,
            r.updated_ms,
            i64::from(r.ended),
            i64::from(r.open_from.is_some()),
            int(r.open_from.unwrap_or(0)),
            int(r.last_seq),
            int(r.last_frame),
            int(*packed_frame),
        ];
        let labels = written(&r.labels);
        let texts = [r.id.as_str(), uuid, &r.epoch, &r.agent, &r.fold, &r.request];
        // Rows that are older than the column of labels have none, and a checksum without them.
        let labels = (!labels.is_empty()).then_some(labels.as_str());
        let texts: Vec<&[u8]> = texts.into_iter().chain(labels).map(str::as_bytes).collect();
        checksum::of_row(&numbers, &texts)
    }

    /// Writes a new row and sets its number; `false` when the id is taken.
    pub(super) fn insert(&mut self, connection: &Connection) -> Result<bool, StoreError> {
        let sql = "INSERT INTO sessions (id, uuid, epoch, agent, created_ms, updated_ms, ended, open_from,
                       last_seq, last_frame, packed_frame, crc, fold, request, labels)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, ?12, ?13, ?14)
                   ON CONFLICT (id) DO NOTHING";
        let Self { record: r, uuid, packed_frame } = &*self;
        let (id, open_from) = (r.id.as_str(), r.open_from.map(int));
        let (last_seq, last_frame, packed) = (int(r.last_seq), int(r.last_frame), int(*packed_frame));
        let rows = connection.prepare_cached(sql)?.execute(params![
            id,
            uuid,
            r.epoch,
            r.agent,
            r.created_ms,
            r.updated_ms,
            r.ended,
            open_from,
            last_seq,
            last_frame,
            packed,
            r.fold,
            r.request,
            written(&r.labels),
        ])?;
        if rows == 0 {
            return Ok(false);
        }
        self.record.no = SessionNo(connection.last_insert_rowid());
        // The checksum covers the number, which is known only now.
        self.save(connection, Extent::Counters).map(|()| true)
    }

    pub(super) fn save(&self, connection: &Connection, extent: Extent) -> Result<(), StoreError> {
        let r = &self.record;
        let (last_seq, last_frame, packed) = (int(r.last_seq), int(r.last_frame), int(self.packed_frame));
        let crc = self.crc();
        match extent {
            Extent::Counters => connection
                .prepare_cached(
                    "UPDATE sessions SET updated_ms = ?2, last_seq = ?3, last_frame = ?4, packed_frame = ?5,
                         crc = ?6
                     WHERE no = ?1",
                )?
                .execute(params![r.no.0, r.updated_ms, last_seq, last_frame, packed, crc])?,
            Extent::All => connection
                .prepare_cached(
                    "UPDATE sessions SET updated_ms = ?2, last_seq = ?3, last_frame = ?4, packed_frame = ?5,
                         crc = ?6, epoch = ?7, ended = ?8, open_from = ?9, fold = ?10, labels = ?11
                     WHERE no = ?1",
                )?
                .execute(params![
                    r.no.0,
                    r.updated_ms,
                    last_seq,
                    last_frame,
                    packed,
                    crc,
                    r.epoch,
                    r.ended,
                    r.open_from.map(int),
                    r.fold,
                    written(&r.labels),
                ])?,
        };
        Ok(())
    }
}

/// Returns the labels as the row has them; nothing when there are none.
fn written(labels: &Labels) -> String {
    if labels.is_empty() { String::new() } else { serde_json::json!(labels).to_string() }
}

fn labels(text: &str) -> Option<Labels> {
    if text.is_empty() { Some(Labels::new()) } else { serde_json::from_str(text).ok() }
}

fn count(row: &Row<'_>, column: usize) -> Option<u64> {
    row.get::<_, i64>(column).ok()?.try_into().ok()
}

fn flag(number: i64) -> Option<bool> {
    match number {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// Returns the best name for a row that may hold anything.
fn name(row: &Row<'_>) -> String {
    match (row.get_ref(1), row.get::<_, i64>(0)) {
        (Ok(ValueRef::Text(id)), _) => String::from_utf8_lossy(id).into_owned(),
        (_, Ok(no)) => format!("number {no}"),
        _ => "unknown".to_owned(),
    }
}
