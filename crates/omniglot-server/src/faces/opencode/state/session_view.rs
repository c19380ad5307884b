//! One session's log, folded as it grows.
//!
//! The relay decides which streams receive the frames, and when.

use std::sync::Arc;

use bytes::Bytes;
use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::{CreateSessionRequest, SessionId, SessionInfo, UniversalEvent};
use omniglot_store::{Next, SessionNo, SessionRecord, StoreError, StoredEvent, Subscription};

use super::pictures;
use super::project_info::ProjectInfo;
use super::ring::Frame;
use crate::faces::opencode::project::{Projector, SessionSummary};
use crate::faces::opencode::wire::{OcEvent, Payload, Session, Status};

/// The bytes of the log that are read at once.
const BATCH: usize = 256 << 10;

/// A session's projection and its position.
pub(crate) struct SessionView {
    no: SessionNo,
    session: SessionId,
    directory: Arc<str>,
    projector: Projector,
    log: Subscription,
    /// Events that were read from the log and not folded yet.
    unread: Vec<UniversalEvent>,
    /// The sequence up to which events make no frames, because they were emitted.
    told: u64,
    /// The bytes that are left for images.
    room: usize,
}

impl SessionView {
    /// Begins at the first event, and makes no frames.
    pub(crate) fn new(hub: &Hub, record: &SessionRecord) -> Result<Self, RuntimeError> {
        Self::following(hub.subscribe(record, 0), record)
    }

    fn following(log: Subscription, record: &SessionRecord) -> Result<Self, RuntimeError> {
        let summary = facts_of(record)?;
        let directory = summary.directory.as_str().into();
        let (no, session, projector) = (record.no, record.id.clone(), Projector::new(summary));
        let (unread, told, room) = (vec![], u64::MAX, pictures::ROOM);
        Ok(Self { no, session, directory, projector, log, unread, told, room })
    }

    /// Events after this sequence make frames.
    pub(crate) fn tell_after(&mut self, told: u64) {
        self.told = told;
    }

    /// No event makes frames any more.
    pub(crate) fn hush(&mut self) {
        self.told = u64::MAX;
    }

    /// Whether the session is idle and has no open request.
    pub(crate) fn rests(&self) -> bool {
        *self.projector.status() == Status::Idle && self.projector.pending().is_empty()
    }

    pub(crate) fn no(&self) -> SessionNo {
        self.no
    }

    pub(crate) fn projector(&self) -> &Projector {
        &self.projector
    }

    /// Folds some of the committed events; `None` when all were folded.
    ///
    /// Cancel-safe: events that were read are kept until they are folded.
    pub(crate) async fn step(&mut self, hub: &Hub) -> Result<Option<Vec<Frame>>, RuntimeError> {
        if self.unread.is_empty() {
            if self.log.caught_up() {
                return Ok(None);
            }
            self.read().await?;
        }
        for event in &mut self.unread {
            pictures::put_in(hub, &self.session, event, &mut self.room).await;
        }
        Ok(Some(self.fold()))
    }

    async fn read(&mut self) -> Result<(), RuntimeError> {
        match self.log.next(BATCH).await? {
            Next::Events(events) => {
                self.unread = events.iter().filter_map(|event| parse(&self.session, event)).collect();
                Ok(())
            }
            Next::Deleted => Err(RuntimeError::SessionNotFound(self.session.to_string())),
        }
    }

    fn fold(&mut self) -> Vec<Frame> {
        let mut frames = vec![];
        for event in std::mem::take(&mut self.unread) {
            let told = self.projector.event(&event);
            if event.sequence > self.told {
                frames.extend(told.iter().map(|told| self.frame(event.sequence, told)));
            }
        }
        frames
    }

    pub(crate) fn frame(&self, sequence: u64, event: &OcEvent) -> Frame {
        Frame {
            session: Some(self.no),
            sequence: Some(sequence),
            directory: self.directory.clone(),
            only_for: None,
            json: encode(event),
        }
    }
}

/// One event that is not understood, such as one of a later version, must not hide all the others.
fn parse(session: &SessionId, event: &StoredEvent) -> Option<UniversalEvent> {
    serde_json::from_slice(&event.json)
        .inspect_err(|error| {
            tracing::error!(%session, seq = event.seq, %error, "OpenCode's clients miss an event that cannot be read")
        })
        .ok()
}

pub(crate) fn encode(event: &OcEvent) -> Bytes {
    // Plain records of strings and numbers cannot fail to encode.
    serde_json::to_vec(event).map(Bytes::from).unwrap_or_default()
}

/// The initial facts of a session, as it was requested: later changes are ignored, so every fold is the same.
fn facts_of(record: &SessionRecord) -> Result<SessionSummary, RuntimeError> {
    let unreadable = |_| StoreError::DamagedSession { session: record.id.to_string() };
    let request: CreateSessionRequest = serde_json::from_str(&record.request).map_err(unreadable)?;
    let directory = request.directory.unwrap_or_default();
    let ProjectInfo { project, worktree, .. } = ProjectInfo::of(&directory);
    Ok(SessionSummary {
        session: record.id.clone(),
        agent: record.agent.clone(),
        project,
        worktree,
        directory,
        created: record.created_ms,
        title: request.title,
        model: request.model,
        agent_mode: request.agent_mode,
    })
}

/// Makes a session's record from its row alone, without reading its log. The costs are those of its state.
pub(crate) fn quick_record(info: SessionInfo) -> Session {
    let directory = info.directory.unwrap_or_default();
    let ProjectInfo { project, worktree, .. } = ProjectInfo::of(&directory);
    let summary = SessionSummary {
        session: info.session_id,
        agent: info.agent,
        project,
        worktree,
        directory,
        created: info.created_at,
        title: info.title,
        model: info.model,
        agent_mode: Some(info.agent_mode),
    };
    let mut record = Projector::new(summary).session();
    record.time.updated = info.updated_at;
    record.cost = info.state.and_then(|state| state.cost_usd).unwrap_or_default();
    record
}

/// Makes the frame of a session's deletion, from its last row.
pub(crate) fn farewell(record: &SessionRecord) -> Result<Frame, RuntimeError> {
    let info = Box::new(quick_record(Hub::info(record)?));
    let directory = info.directory.as_str().into();
    let payload = Payload::SessionDeleted { session_id: info.id.clone(), info };
    let event = OcEvent::loose(jiff::Timestamp::now().as_millisecond(), payload);
    Ok(Frame { session: Some(record.no), sequence: None, directory, only_for: None, json: encode(&event) })
}

#[cfg(test)]
mod tests {
    use omniglot_schema::UniversalEventType;
    use omniglot_store::{NewEvent, NewSession, Options, RecordUpdate, Store};
    use serde_json::{Value, json};

    use super::*;

    fn event(seq: u64, data: Value) -> NewEvent {
        let json = json!({ "event_id": format!("evt_{seq}"), "sequence": seq, "time": "2026-11-16T00:00:00Z",
            "session_id": "s", "source": "daemon", "synthetic": true, "type": "session.updated", "data": data });
        let kind = UniversalEventType::SessionUpdated;
        NewEvent { seq, kind, time_us: 0, json: json.to_string().into(), frame_no: None }
    }

    #[tokio::test]
    async fn an_event_that_cannot_be_read_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let new = NewSession {
            id: SessionId::parse("s").unwrap(),
            agent: "mock".into(),
            request: r#"{"agent":"mock"}"#.into(),
            labels: Default::default(),
            created_ms: 0,
            record: RecordUpdate { fold: "{}".into(), ended: false, open_from: None },
            frames: vec![],
            events: vec![
                event(1, json!({ "title": "before" })),
                event(2, json!({ "title": 3 })),
                event(3, json!({ "title": "after" })),
            ],
            copied: 0,
            blobs: vec![],
        };
        let record = store.create(new).await.unwrap().unwrap();
        let mut live = SessionView::following(store.subscribe(record.no, 0), &record).unwrap();
        live.tell_after(0);
        live.read().await.unwrap();
        let told: Vec<u64> = live.fold().iter().filter_map(|frame| frame.sequence).collect();
        assert_eq!((told, live.projector().session().title), (vec![1, 3], "after".into()));
    }
}
