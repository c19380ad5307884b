//! Reading native frames by number, every pack checked.

use std::collections::HashMap;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::rows::{int, uint};
use super::{checksum, retention};
use crate::pack::{OpenPack, Pack};
use crate::types::{SessionNo, StoreError, StoredFrame};

/// Frames that were never stored are absent.
pub(super) fn read(
    connection: &mut Connection,
    session: SessionNo,
    numbers: &[u64],
) -> Result<HashMap<u64, StoredFrame>, StoreError> {
    let transaction = connection.transaction()?;
    let mut wanted = numbers.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let mut found = HashMap::with_capacity(wanted.len());
    let mut opened: Option<OpenPack> = None;
    let dropped_to = retention::trimmed_to(&transaction, session)?;
    for no in wanted {
        if (1..=dropped_to).contains(&no) {
            found.insert(no, StoredFrame::Dropped);
            continue;
        }
        if opened.as_ref().is_none_or(|pack| pack.frame(no).is_none()) {
            opened = open_pack_of(&transaction, session, no)?;
        }
        if let Some(frame) = opened.as_ref().and_then(|pack| pack.frame(no)) {
            // A copy, so that one frame does not keep its whole turn in memory.
            found.insert(no, StoredFrame::Kept(Bytes::copy_from_slice(frame)));
        }
    }
    Ok(found)
}

fn open_pack_of(
    transaction: &Transaction<'_>,
    session: SessionNo,
    no: u64,
) -> Result<Option<OpenPack>, StoreError> {
    let sql = "SELECT first_no, count, data, crc, stored_ms FROM frames
               WHERE session_no = ?1 AND first_no <= ?2 ORDER BY first_no DESC LIMIT 1";
    let mut statement = transaction.prepare_cached(sql)?;
    let pack = statement.query_row(params![session.0, int(no)], |row| Ok(pack(row, session))).optional()?;
    let Some(pack) = pack else { return Ok(None) };
    pack.and_then(|pack| pack.open()).ok_or(StoreError::DamagedFrame { no }).map(Some)
}

/// Reads the columns first_no, count, data, crc, stored_ms; `None` when the checksum does not match the row.
pub(super) fn pack(row: &Row<'_>, session: SessionNo) -> Option<Pack> {
    let (first, count): (i64, i64) = (row.get(0).ok()?, row.get(1).ok()?);
    let data: Vec<u8> = row.get(2).ok()?;
    let (crc, stored_ms): (u32, i64) = (row.get(3).ok()?, row.get(4).ok()?);
    (checksum::of_pack(session, first, count, stored_ms, &data) == crc).then(|| Pack {
        first: uint(first),
        count: uint(count),
        data,
    })
}
