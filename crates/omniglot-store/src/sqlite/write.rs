//! Writes a group of changes in one transaction.

use std::collections::HashMap;

use omniglot_schema::{Labels, SessionId};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::rows::{change_queue, insert_events, insert_pack, insert_receipt};
use super::session_row::{Extent, SessionRow};
use super::trouble::{concerns_one_change, may_be_damage};
use super::{blobs, commits, directory_config, hooks, pending_deletes, retention, search, tokens};
use crate::engine::{Change, Creation, Done, Outcomes};
use crate::pack::Pack;
use crate::types::{Batch, NewEvent, RecordUpdate, SessionNo, SessionRecord, StoreError};

pub(super) fn commit(
    connection: &mut Connection,
    changes: &[Change],
    now_ms: i64,
) -> Result<Outcomes, StoreError> {
    let mut refused = HashMap::new();
    loop {
        let attempted = match attempt(connection, changes, now_ms, &refused, Order::Noted) {
            // A full log has no room for a note either, and these make some.
            Err(_) if changes.iter().all(Change::makes_room) => {
                attempt(connection, changes, now_ms, &refused, Order::Unknown)
            }
            // Perhaps it is only the index that is damaged.
            Err(error) if may_be_damage(&error) && changes.iter().any(Change::has_words) => {
                let attempted = attempt(connection, changes, now_ms, &refused, Order::NotedWithoutWords);
                if matches!(attempted, Ok(Attempt::Committed(_))) {
                    search::renew(connection, &error)?;
                }
                attempted
            }
            attempted => attempted,
        };
        match attempted? {
            Attempt::Committed(mut outcomes) => {
                for (index, error) in refused {
                    if let Some(outcome) = outcomes.get_mut(index) {
                        *outcome = Err(error);
                    }
                }
                return Ok(outcomes);
            }
            // The refused change is rolled back with the group, which is tried again without it.
            Attempt::Refused { index, error } => refused.insert(index, error),
        };
    }
}

/// Whether the place of a transaction in the order of all events is written, and its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Noted,
    NotedWithoutWords,
    Unknown,
}

enum Attempt {
    Committed(Outcomes),
    Refused { index: usize, error: StoreError },
}

fn attempt(
    connection: &mut Connection,
    changes: &[Change],
    now_ms: i64,
    refused: &HashMap<usize, StoreError>,
    order: Order,
) -> Result<Attempt, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        if refused.contains_key(&index) {
            outcomes.push(Err(StoreError::Closed));
            continue;
        }
        match apply(&transaction, change, now_ms) {
            Ok(done) => outcomes.push(Ok(done)),
            // These errors are found before anything is written, so the other changes need not be repeated.
            Err(
                error @ (StoreError::Exists
                | StoreError::NoSession
                | StoreError::OutOfOrder { .. }
                | StoreError::DamagedSession { .. }),
            ) => outcomes.push(Err(error)),
            Err(error) if concerns_one_change(&error) => return Ok(Attempt::Refused { index, error }),
            Err(error) => return Err(error),
        }
    }
    if order == Order::Noted {
        search::note(&transaction, changes, &outcomes)?;
    }
    if order != Order::Unknown {
        commits::note(&transaction, changes, &outcomes)?;
    }
    transaction.commit()?;
    Ok(Attempt::Committed(outcomes))
}

fn apply(transaction: &Transaction<'_>, change: &Change, now_ms: i64) -> Result<Done, StoreError> {
    match change {
        Change::Append { batch, pack, .. } => append(transaction, batch, pack.as_ref(), now_ms),
        Change::Create(creation) => create(transaction, creation, now_ms),
        Change::Delete(session) => delete(transaction, *session),
        Change::Trim { session, to } => retention::trim(transaction, *session, *to),
        Change::Label { session, labels } => label(transaction, *session, labels),
        Change::Token(token) => tokens::put(transaction, token),
        Change::Config { key, value } => directory_config::put(transaction, key, value.as_deref()),
        Change::Audit(call) => tokens::record(transaction, call, now_ms),
        Change::Hooks(rows) => hooks::put(transaction, rows),
    }
}

fn append(
    transaction: &Transaction<'_>,
    batch: &Batch,
    pack: Option<&Pack>,
    now_ms: i64,
) -> Result<Done, StoreError> {
    dense(&batch.events)?;
    advance(transaction, batch, pack)?;
    insert_events(transaction, batch.session, &batch.events)?;
    insert_pack(transaction, batch.session, pack, now_ms)?;
    blobs::insert(transaction, batch.session, &batch.blobs)?;
    for op in &batch.queue {
        change_queue(transaction, batch.session, op)?;
    }
    if let Some(receipt) = &batch.receipt {
        insert_receipt(transaction, batch.session, receipt, now_ms)?;
    }
    Ok(Done::Appended)
}

fn label(transaction: &Transaction<'_>, session: SessionNo, labels: &Labels) -> Result<Done, StoreError> {
    let mut row = SessionRow::load(transaction, session)?;
    row.record.labels.clone_from(labels);
    row.save(transaction, Extent::All)?;
    Ok(Done::Written)
}

fn dense(events: &[NewEvent]) -> Result<(), StoreError> {
    let Some(first) = events.first() else { return Ok(()) };
    match events.iter().zip(first.seq..).find(|(event, expected)| event.seq != *expected) {
        Some((event, expected)) => {
            Err(StoreError::OutOfOrder { what: "sequence", expected, found: event.seq })
        }
        None => Ok(()),
    }
}

/// Advances the counters of the session's row, only if the batch follows the row's last numbers.
fn advance(transaction: &Transaction<'_>, batch: &Batch, pack: Option<&Pack>) -> Result<(), StoreError> {
    let mut row = SessionRow::load(transaction, batch.session)?;
    let SessionRecord { last_seq, last_frame, updated_ms, .. } = &mut row.record;
    follows("sequence", *last_seq, batch.events.first().map(|e| e.seq))?;
    follows("frame", *last_frame, pack.map(|p| p.first))?;
    if let Some(last) = batch.events.last() {
        *last_seq = last.seq;
        *updated_ms = last.time_us.div_euclid(1000).max(*updated_ms);
    }
    *last_frame = pack.map_or(*last_frame, Pack::last);
    let Some(RecordUpdate { fold, ended, open_from }) = &batch.record else {
        return row.save(transaction, Extent::Counters);
    };
    row.record.fold.clone_from(fold);
    row.record.ended = *ended;
    row.record.open_from = *open_from;
    row.save(transaction, Extent::All)
}

fn follows(what: &'static str, last: u64, first: Option<u64>) -> Result<(), StoreError> {
    match first {
        Some(found) if found != last + 1 => Err(StoreError::OutOfOrder { what, expected: last + 1, found }),
        _ => Ok(()),
    }
}

fn create(transaction: &Transaction<'_>, creation: &Creation, now_ms: i64) -> Result<Done, StoreError> {
    let Creation { new, packs, .. } = creation;
    dense(&new.events)?;
    follows("sequence", 0, new.events.first().map(|e| e.seq))?;
    follows("frame", 0, packs.first().map(|p| p.first))?;
    if let Some(old) = creation.replaces {
        make_way(transaction, old, &new.id)?;
    }
    let mut row = SessionRow { record: first_record(creation), uuid: creation.uuid.clone(), packed_frame: 0 };
    if !row.insert(transaction)? {
        return Err(StoreError::Exists);
    }
    let record = row.record;
    insert_events(transaction, record.no, &new.events)?;
    for pack in packs {
        insert_pack(transaction, record.no, Some(pack), now_ms)?;
    }
    blobs::insert(transaction, record.no, &new.blobs)?;
    Ok(Done::Created(Box::new(record)))
}

fn first_record(Creation { new, packs, epoch, .. }: &Creation) -> SessionRecord {
    SessionRecord {
        no: SessionNo(0),
        id: new.id.clone(),
        epoch: epoch.clone(),
        agent: new.agent.clone(),
        request: new.request.clone(),
        labels: new.labels.clone(),
        created_ms: new.created_ms,
        // The events may be older than the row.
        updated_ms: new.events.last().map_or(0, |e| e.time_us.div_euclid(1000)).max(new.created_ms),
        fold: new.record.fold.clone(),
        ended: new.record.ended,
        open_from: new.record.open_from,
        last_seq: new.events.last().map_or(0, |e| e.seq),
        last_frame: packs.last().map_or(0, Pack::last),
    }
}

/// Accepts only a session of the same id: a change that is refused later must not have deleted anything.
fn make_way(transaction: &Transaction<'_>, old: SessionNo, id: &SessionId) -> Result<(), StoreError> {
    if SessionRow::load(transaction, old)?.record.id != *id {
        return Err(StoreError::NoSession);
    }
    delete(transaction, old).map(drop)
}

fn delete(transaction: &Transaction<'_>, session: SessionNo) -> Result<Done, StoreError> {
    // A damaged row can be deleted, too; its record is then unknown.
    let row = SessionRow::load(transaction, session).ok();
    if transaction.execute("DELETE FROM sessions WHERE no = ?1", [session.0])? == 0 {
        return Err(StoreError::NoSession);
    }
    for table in ["queue", "receipts", "trims"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE session_no = ?1"), [session.0])?;
    }
    // The other rows may be many, and no reader can reach them any more.
    pending_deletes::note(transaction, session)?;
    Ok(Done::Deleted(row.map(|row| Box::new(row.record))))
}
