//! A fork: a new session whose agent remembers what that of another does, and whose stream begins with a copy of
//! what was said there.

use std::collections::BTreeSet;

use omniglot_agents::Open;
use omniglot_schema::{CreateSessionRequest, CreateSessionResponse, SessionId, UniversalEvent};
use omniglot_store::{Blob, SessionRecord, StoreError};
use omniglot_timeline::{ForkSource, ForkSourceReader, Snapshot};

use super::create::open_of;
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
    /// Makes a new session `id` whose agent remembers what that of `origin` does, where it can.
    pub async fn fork(
        &self,
        origin: &SessionId,
        id: SessionId,
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
        let mut open = Open { resume: Some(native), fork: true, ..open_of(&request) };
        // The origin works with it.
        open.requested.force_model = true;
        let fork = self.read_origin(&record, &snapshot).await?;
        self.create_with(id, request, open, Some(fork)).await
    }

    async fn read_origin(&self, record: &SessionRecord, snapshot: &Snapshot) -> Result<Fork, RuntimeError> {
        let mut reader = ForkSourceReader::new(record.id.clone(), snapshot);
        let (mut after, mut bytes) = (0, 0);
        loop {
            let page = self.events(record, after, PAGE, vec![]).await?;
            for event in &page.events {
                after = event.seq;
                bytes += event.json.len();
                reader.read(parse(record, &event.json, event.seq)?);
            }
            if bytes > MAX_BYTES {
                let origin = ForkSourceReader::new(record.id.clone(), snapshot).finish();
                let left_out = format!(
                    "what was said in {} is not copied: it is more than {} MiB",
                    record.id,
                    MAX_BYTES >> 20
                );
                return Ok(Fork { origin, left_out: Some(left_out), blobs: vec![] });
            }
            if !page.has_more {
                break;
            }
        }
        let mut origin = reader.finish();
        let mut names = BTreeSet::new();
        origin.visit_blobs(&mut |path| names.extend(path.rsplit('/').next().map(str::to_owned)));
        let mut blobs = vec![];
        for name in names {
            // An image may also be a file of the project, which is no blob.
            blobs.extend(self.inner.store.blob(record.no, &name).await?);
        }
        Ok(Fork { origin, left_out: None, blobs })
    }
}

fn parse(record: &SessionRecord, json: &[u8], seq: u64) -> Result<UniversalEvent, RuntimeError> {
    serde_json::from_slice(json).map_err(|error| {
        tracing::error!(session = %record.id, seq, %error, "an event that cannot be read");
        StoreError::Damaged { session: record.id.to_string(), seq }.into()
    })
}
