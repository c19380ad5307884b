//! One session's log, folded as it grows.
//!
//! Who is told, and when, is left to the relay.

use std::sync::Arc;

use bytes::Bytes;
use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::{CreateSessionRequest, SessionId, SessionInfo, UniversalEvent};
use omniglot_store::{Next, SessionRecord, StoreError, StoredEvent, Subscription};

use super::backlog::Frame;
use super::place::Place;
use super::project::{Facts, Projector};
use super::wire::{OcEvent, Session};

/// How much of the log is read at once.
const BATCH: usize = 256 << 10;

/// A session's projection and how far it has come.
pub(crate) struct Live {
    session: SessionId,
    epoch: String,
    pub(super) directory: Arc<str>,
    projector: Projector,
    log: Subscription,
    /// Everybody knows what happened up to here.
    told: u64,
}

impl Live {
    /// Begins at the first event; those after `told` will make frames.
    pub(super) async fn open(hub: &Hub, id: &SessionId, told: u64) -> Result<Self, RuntimeError> {
        let record = hub.record(id).await?;
        let facts = facts_of(&record)?;
        let (log, directory) = (hub.subscribe(&record, 0), facts.directory.as_str().into());
        let projector = Projector::new(facts);
        Ok(Self { session: id.clone(), epoch: record.epoch, directory, projector, log, told })
    }

    /// Whether it is this session, and not an older one of the same id.
    pub(super) fn is_of(&self, record: &SessionRecord) -> bool {
        self.epoch == record.epoch
    }

    pub(crate) fn projector(&self) -> &Projector {
        &self.projector
    }

    /// Folds some of what is committed; `None` when that was all.
    ///
    /// Cancel-safe: what was read is folded.
    pub(super) async fn step(&mut self) -> Result<Option<Vec<Frame>>, RuntimeError> {
        if self.log.caught_up() {
            return Ok(None);
        }
        match self.log.next(BATCH).await? {
            Next::Events(events) => {
                events.iter().try_fold(vec![], |frames, event| self.fold(frames, event)).map(Some)
            }
            Next::Deleted => Err(RuntimeError::SessionNotFound(self.session.to_string())),
        }
    }

    fn fold(&mut self, mut frames: Vec<Frame>, event: &StoredEvent) -> Result<Vec<Frame>, RuntimeError> {
        let damaged = || StoreError::Damaged { session: self.session.to_string(), seq: event.seq };
        let event: UniversalEvent = serde_json::from_slice(&event.json).map_err(|_| damaged())?;
        let told = self.projector.event(&event);
        if event.sequence > self.told {
            frames.extend(told.iter().map(|told| self.frame(Some(event.sequence), told)));
        }
        Ok(frames)
    }

    pub(super) fn frame(&self, sequence: Option<u64>, event: &OcEvent) -> Frame {
        Frame {
            session: Some(self.session.clone()),
            sequence,
            directory: self.directory.clone(),
            json: encode(event),
        }
    }
}

pub(super) fn encode(event: &OcEvent) -> Bytes {
    // Plain records of strings and numbers cannot fail to encode.
    serde_json::to_vec(event).map(Bytes::from).unwrap_or_default()
}

/// How a session began: as it was asked for, whatever became of it, so that every fold is the same.
fn facts_of(record: &SessionRecord) -> Result<Facts, RuntimeError> {
    let unreadable = |_| StoreError::DamagedSession { session: record.id.to_string() };
    let request: CreateSessionRequest = serde_json::from_str(&record.request).map_err(unreadable)?;
    let directory = request.directory.unwrap_or_default();
    Ok(Facts {
        session: record.id.clone(),
        agent: record.agent.clone(),
        project: Place::of(&directory).project,
        directory,
        created: record.created_ms,
        title: request.title,
        model: request.model,
        agent_mode: request.agent_mode,
    })
}

/// A session's record from its row alone, without reading its log.
pub(crate) fn quick_record(info: SessionInfo) -> Session {
    let directory = info.directory.unwrap_or_default();
    let facts = Facts {
        session: info.session_id,
        agent: info.agent,
        project: Place::of(&directory).project,
        directory,
        created: info.created_at,
        title: info.title,
        model: info.model,
        agent_mode: Some(info.agent_mode),
    };
    let mut record = Projector::new(facts).session();
    record.time.updated = info.updated_at;
    record
}
