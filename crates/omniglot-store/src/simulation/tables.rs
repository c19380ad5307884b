//! The content of a simulated disk: what each change makes of it, by the rules of the database.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::commits::{Commit, Committed, Removed};
use crate::engine::{Change, Creation, Done};
use crate::pack::Pack;
use crate::types::{
    Batch, NewEvent, Page, QueueOp, QueuedRow, ReadQuery, Receipt, SessionNo, SessionRecord, StoreError,
    StoredEvent,
};

#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    pub(super) sessions: BTreeMap<SessionNo, Arc<Session>>,
    pub(super) commits: Arc<Vec<Commit>>,
    /// The number of times that events may have been lost.
    pub(super) losses: u64,
    last_no: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) record: SessionRecord,
    pub(super) events: Vec<Arc<StoredEvent>>,
    pub(super) queue: Vec<QueuedRow>,
    pub(super) receipts: HashMap<String, Receipt>,
}

impl Tables {
    pub(super) fn apply(&mut self, change: &Change) -> Result<Done, StoreError> {
        match change {
            Change::Append { batch, pack, .. } => self.append(batch, pack.as_ref()),
            Change::Create(creation) => self.create(creation),
            Change::Delete(session) => self.delete(*session),
            Change::Label { session, labels } => {
                self.session(*session)?.record.labels.clone_from(labels);
                Ok(Done::Written)
            }
            Change::Trim { .. } => Ok(Done::Trimmed),
            Change::Token(_) | Change::Config { .. } | Change::Audit(_) | Change::Hooks(_) => {
                Ok(Done::Written)
            }
        }
    }

    fn session(&mut self, session: SessionNo) -> Result<&mut Session, StoreError> {
        self.sessions.get_mut(&session).map(Arc::make_mut).ok_or(StoreError::NoSession)
    }

    fn append(&mut self, batch: &Batch, pack: Option<&Pack>) -> Result<Done, StoreError> {
        let session = self.session(batch.session)?;
        follows("sequence", session.record.last_seq, batch.events.iter().map(|event| event.seq))?;
        follows("frame", session.record.last_frame, pack.map(|pack| pack.first))?;
        session.record.last_frame = pack.map_or(session.record.last_frame, Pack::last);
        if let Some(last) = batch.events.last() {
            session.record.last_seq = last.seq;
            session.record.updated_ms = last.time_us.div_euclid(1000).max(session.record.updated_ms);
        }
        session.events.extend(batch.events.iter().map(stored));
        if let Some(update) = &batch.record {
            session.record.fold.clone_from(&update.fold);
            session.record.ended = update.ended;
            session.record.open_from = update.open_from;
        }
        for op in &batch.queue {
            match op {
                QueueOp::Push { message_id, body } => {
                    session.queue.push(QueuedRow { message_id: message_id.clone(), body: body.clone() });
                }
                QueueOp::Remove { message_id } => session.queue.retain(|row| row.message_id != *message_id),
            }
        }
        if let Some(receipt) = &batch.receipt {
            session.receipts.insert(receipt.key.clone(), receipt.clone());
        }
        if let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) {
            self.note(batch.session, Committed::Events { first: first.seq, last: last.seq });
        }
        Ok(Done::Appended)
    }

    fn create(&mut self, creation: &Creation) -> Result<Done, StoreError> {
        let Creation { new, packs, epoch, replaces, .. } = creation;
        follows("sequence", 0, new.events.iter().map(|event| event.seq))?;
        if let Some(old) = replaces {
            self.delete(*old)?;
        }
        if self.sessions.values().any(|session| session.record.id == new.id) {
            return Err(StoreError::Exists);
        }
        self.last_no += 1;
        let last = new.events.last();
        let record = SessionRecord {
            no: SessionNo(self.last_no),
            id: new.id.clone(),
            epoch: epoch.clone(),
            agent: new.agent.clone(),
            request: new.request.clone(),
            labels: new.labels.clone(),
            created_ms: new.created_ms,
            updated_ms: last.map_or(0, |event| event.time_us.div_euclid(1000)).max(new.created_ms),
            fold: new.record.fold.clone(),
            ended: new.record.ended,
            open_from: new.record.open_from,
            last_seq: last.map_or(0, |event| event.seq),
            last_frame: packs.last().map_or(0, Pack::last),
        };
        let events = new.events.iter().map(stored).collect();
        let session = Session { record: record.clone(), events, queue: vec![], receipts: HashMap::new() };
        self.sessions.insert(record.no, Arc::new(session));
        for (first, last) in new.told() {
            self.note(record.no, Committed::Events { first, last });
        }
        Ok(Done::Created(Box::new(record)))
    }

    fn delete(&mut self, session: SessionNo) -> Result<Done, StoreError> {
        let removed = self.sessions.remove(&session).ok_or(StoreError::NoSession)?;
        let SessionRecord { id, agent, labels, .. } = removed.record.clone();
        self.note(session, Committed::Removed(Removed { session_id: id, agent, labels }));
        Ok(Done::Deleted(Some(Box::new(removed.record.clone()))))
    }

    fn note(&mut self, session: SessionNo, content: Committed) {
        let no = self.commits.last().map_or(0, |commit| commit.no) + 1;
        Arc::make_mut(&mut self.commits).push(Commit { no, session, content });
    }

    pub(super) fn read(&self, session: SessionNo, query: &ReadQuery) -> Result<Page, StoreError> {
        let session = self.sessions.get(&session).ok_or(StoreError::NoSession)?;
        let until = query.until.unwrap_or(u64::MAX);
        let wanted = |event: &&Arc<StoredEvent>| {
            event.seq > query.after
                && event.seq <= until
                && (query.types.is_empty() || query.types.contains(&event.kind))
        };
        let (mut events, mut bytes) = (vec![], 0);
        for event in session.events.iter().filter(wanted) {
            bytes += event.json.len();
            if (bytes > query.max_bytes && !events.is_empty()) || events.len() >= query.limit {
                return Ok(Page { events, has_more: true });
            }
            events.push(event.clone());
        }
        Ok(Page { events, has_more: false })
    }
}

fn stored(event: &NewEvent) -> Arc<StoredEvent> {
    let NewEvent { seq, kind, json, frame_no, .. } = event.clone();
    Arc::new(StoredEvent { seq, kind, json, frame_no })
}

fn follows(what: &'static str, last: u64, numbers: impl IntoIterator<Item = u64>) -> Result<(), StoreError> {
    match numbers.into_iter().zip(last + 1..).find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(StoreError::OutOfOrder { what, expected, found }),
        None => Ok(()),
    }
}
