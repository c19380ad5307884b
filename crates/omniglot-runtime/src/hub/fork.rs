//! A fork: a new session whose agent remembers what that of another does, and whose stream begins with a copy of
//! what was said there.

use std::collections::BTreeSet;

use omniglot_agents::{ForkPoint, Open};
use omniglot_schema::{CreateSessionRequest, CreateSessionResponse, SessionId, TurnId, UniversalEvent};
use omniglot_store::{Blob, SessionRecord, StoreError};
use omniglot_timeline::{ForkSource, ForkSourceReader, Snapshot};

use super::create::open_of;
use super::fork_end::{EventPosition, ForkEnd};
use super::{Hub, present};
use crate::error::RuntimeError;

/// The number of events that are read at a time.
const PAGE: usize = 1000;

/// The longest transcript that is copied: it is held in memory and committed at once.
const MAX_BYTES: usize = 256 << 20;

/// The beginning of a fork.
pub(super) struct Fork {
    pub(super) origin: ForkSource,
    /// Tells why nothing was copied.
    pub(super) left_out: Option<String>,
    /// The blobs that the copied events name.
    pub(super) blobs: Vec<Blob>,
}

impl Hub {
    /// Makes a new session `id` whose agent remembers what that of `origin` does, where it can: everything, or what
    /// was said before a turn.
    pub async fn fork(
        &self,
        origin: &SessionId,
        id: SessionId,
        before: Option<TurnId>,
    ) -> Result<CreateSessionResponse, RuntimeError> {
        self.check_open()?;
        let record = self.record(origin).await?;
        if self.inner.store.session(&id).await?.is_some() {
            return Err(RuntimeError::SessionExists(id.to_string()));
        }
        let info = present::info(&record)?;
        let request: CreateSessionRequest = present::request(&record)?;
        let snapshot = present::snapshot(&record)?;
        let native = info.native_session_id.filter(|_| !snapshot.foreign).ok_or_else(|| {
            RuntimeError::unsupported(format!("session {origin} has no session of its agent to copy yet"))
        })?;
        let request = CreateSessionRequest {
            model: info.model,
            variant: info.variant,
            agent_mode: snapshot.fold.state.agent_mode.clone(),
            permission_mode: snapshot.fold.state.permission_mode.clone(),
            title: None,
            labels: record.labels.clone(),
            // It works in the directory of its origin, which is the origin's to remove.
            worktree: false,
            ..request
        };
        let end = before.map(|turn| ForkEnd::new(turn, native.clone()));
        let (fork, point) = self.read_origin(&record, &snapshot, end).await?;
        let is_empty = point.as_ref().is_some_and(|point| point.messages_before == 0);
        let mut open = open_of(&request);
        if !is_empty {
            open = Open { resume: Some(native), fork: true, fork_before: point, ..open };
        }
        // The origin works with it.
        open.requested.force_model = true;
        self.create_with(id, request, open, Some(fork)).await
    }

    async fn read_origin(
        &self,
        record: &SessionRecord,
        snapshot: &Snapshot,
        mut end: Option<ForkEnd>,
    ) -> Result<(Fork, Option<ForkPoint>), RuntimeError> {
        let mut reader = ForkSourceReader::new(record.id.clone(), snapshot);
        let (mut after, mut bytes) = (0, 0);
        let (mut point, mut left_out) = (None, None);
        'log: loop {
            let page = self.events(record, after, PAGE, vec![]).await?;
            for event in &page.events {
                after = event.seq;
                bytes += event.json.len();
                let event = parse(record, &event.json, event.seq)?;
                let position = end.as_mut().map(|end| end.position_of(&event)).transpose()?;
                match position.unwrap_or(EventPosition::Before) {
                    EventPosition::Before if left_out.is_none() => reader.read(event),
                    EventPosition::Before | EventPosition::Behind => {}
                    EventPosition::Point(found) => {
                        point = Some(found);
                        break 'log;
                    }
                }
            }
            if bytes > MAX_BYTES {
                reader = ForkSourceReader::new(record.id.clone(), snapshot);
                let (id, limit) = (&record.id, MAX_BYTES >> 20);
                left_out = Some(format!("what was said in {id} is not copied: it is more than {limit} MiB"));
            }
            let has_all = left_out.is_some() && end.is_none();
            if has_all || !page.has_more {
                break;
            }
        }
        if let (Some(end), None) = (end, &point) {
            return Err(end.not_found());
        }
        let mut origin = reader.finish();
        let mut names = BTreeSet::new();
        origin.visit_blobs(&mut |path| names.extend(path.rsplit('/').next().map(str::to_owned)));
        let mut blobs = vec![];
        for name in names {
            // An image may also be a file of the project, which is no blob.
            blobs.extend(self.inner.store.blob(record.no, &name).await?);
        }
        Ok((Fork { origin, left_out, blobs }, point))
    }
}

fn parse(record: &SessionRecord, json: &[u8], seq: u64) -> Result<UniversalEvent, RuntimeError> {
    serde_json::from_slice(json).map_err(|error| {
        tracing::error!(session = %record.id, seq, %error, "an event that cannot be read");
        StoreError::Damaged { session: record.id.to_string(), seq }.into()
    })
}
