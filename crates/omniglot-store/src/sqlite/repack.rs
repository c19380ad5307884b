//! Packing the frames of ended turns more tightly: many small rows become one.
//!
//! Done in pieces, so that the next write waits a few milliseconds at most. Only the last piece writes, in
//! one transaction. The writer decides when there is time for a piece.

use rusqlite::{Connection, TransactionBehavior, params};

use super::frames;
use super::rows::{insert_pack, int, uint};
use super::session_row::{Extent, SessionRow};
use crate::engine::{Change, Progress};
use crate::pack::{MAX_BYTES, MAX_FRAMES, OpenPack, Repacker};
use crate::types::{SessionNo, StoreError};

/// The number of bytes that one piece reads and compresses.
const PIECE: usize = 256 << 10;
/// The cost of opening a row, however small the row is.
const ROW: usize = 4 << 10;

/// The repacking of one session that is in progress.
pub(super) struct Repack {
    session: SessionNo,
    /// The next row begins with this frame or a later one.
    next: u64,
    /// The last frame to pack; frames that arrive meanwhile belong to a later turn.
    until: u64,
    taken: Option<Taken>,
}

/// The rows read so far, which will become one row.
struct Taken {
    rows: usize,
    /// The time at which the newest of these rows was stored.
    stored_ms: i64,
    repacker: Repacker,
}

/// The result of reading one piece.
enum Piece {
    More,
    /// The rows taken so far are to be written; more rows may follow.
    Full,
    Last,
}

/// Continues `current` if it belongs to this session, else starts a repacking.
pub(super) fn step(
    connection: &mut Connection,
    current: &mut Option<Repack>,
    session: SessionNo,
) -> Result<Progress, StoreError> {
    let mut repack = match current.take().filter(|repack| repack.session == session) {
        Some(repack) => repack,
        None => Repack::begin(connection, session)?,
    };
    let piece = repack.read(connection)?;
    match piece {
        Piece::More => {}
        Piece::Full => repack.write(connection)?,
        Piece::Last => {
            repack.write(connection)?;
            return Ok(Progress::Finished);
        }
    }
    *current = Some(repack);
    Ok(Progress::More)
}

impl Repack {
    /// Whether rows that were read may be gone after this change.
    pub(super) fn is_disturbed_by(&self, change: &Change) -> bool {
        let trimmed = matches!(change, Change::Trim { session, .. } if *session == self.session);
        trimmed || change.removes() == Some(self.session)
    }

    fn begin(connection: &Connection, session: SessionNo) -> Result<Self, StoreError> {
        let row = SessionRow::load(connection, session)?;
        Ok(Self { session, next: row.packed_frame + 1, until: row.record.last_frame, taken: None })
    }

    fn read(&mut self, connection: &Connection) -> Result<Piece, StoreError> {
        let sql = "SELECT first_no, count, data, crc, stored_ms FROM frames
                   WHERE session_no = ?1 AND first_no BETWEEN ?2 AND ?3 ORDER BY first_no";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.session.0, int(self.next), int(self.until)])?;
        let mut work = 0;
        while work < PIECE {
            let Some(row) = rows.next()? else { return Ok(Piece::Last) };
            let first = uint(row.get(0)?);
            let opened = frames::pack(row, self.session).and_then(|pack| pack.open());
            let Some(opened) = opened else {
                tracing::error!(
                    session = self.session.0,
                    frame = first,
                    "frames are damaged; left as they are"
                );
                self.next = first + 1;
                return Ok(Piece::Full);
            };
            if !self.take(first, row.get(4)?, &opened)? {
                return Ok(Piece::Full);
            }
            work += opened.plain_bytes() + ROW;
        }
        Ok(Piece::More)
    }

    /// Adds the pack; `false` when there was no room for it.
    fn take(&mut self, first: u64, stored_ms: i64, pack: &OpenPack) -> Result<bool, StoreError> {
        let taken = match &mut self.taken {
            Some(taken) if !taken.has_room(first, pack) => return Ok(false),
            Some(taken) => taken,
            None => self.taken.insert(Taken { rows: 0, stored_ms, repacker: Repacker::new(first)? }),
        };
        taken.repacker.push(pack)?;
        taken.rows += 1;
        taken.stored_ms = taken.stored_ms.max(stored_ms);
        self.next = taken.repacker.next();
        Ok(true)
    }

    fn write(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        let Some(Taken { rows, stored_ms, repacker }) = self.taken.take() else { return Ok(()) };
        if rows < 2 {
            return Ok(());
        }
        let pack = repacker.finish()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut session = SessionRow::load(&transaction, self.session)?;
        let sql = "DELETE FROM frames WHERE session_no = ?1 AND first_no BETWEEN ?2 AND ?3";
        let range = params![self.session.0, int(pack.first), int(pack.last())];
        if transaction.prepare_cached(sql)?.execute(range)? != rows {
            return Err(StoreError::DamagedFrame { no: pack.first });
        }
        insert_pack(&transaction, self.session, Some(&pack), stored_ms)?;
        session.packed_frame = pack.last();
        session.save(&transaction, Extent::Counters)?;
        Ok(transaction.commit()?)
    }
}

impl Taken {
    fn has_room(&self, first: u64, pack: &OpenPack) -> bool {
        let follows = first == self.repacker.next();
        follows
            && self.repacker.count() + pack.count() <= MAX_FRAMES as u64
            && self.repacker.plain_bytes().saturating_add(pack.plain_bytes()) <= MAX_BYTES
    }
}
