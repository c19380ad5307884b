//! Looks up why a command found nothing: who resolved its request, or whether its session was deleted.

use std::sync::atomic::Ordering;

use omniglot_schema::{EventData, ResolvedBy, SessionId, UniversalEvent, UniversalEventType};
use omniglot_store::ReadQuery;
use tokio::time::timeout;

use super::{Hub, PAGE_BYTES};
use crate::error::{RuntimeError, wire_word};

impl Hub {
    /// A session that is being deleted drops its commands without a word; the daemon goes on.
    pub(super) async fn or_deleted<T>(
        &self,
        id: &SessionId,
        result: Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        if matches!(result, Err(RuntimeError::Stopping)) && !self.inner.stopping.load(Ordering::SeqCst) {
            let _session_lock = self.inner.session_locks.hold(id).await;
            self.record(id).await?;
        }
        result
    }

    /// Why a request cannot be answered: it was resolved, or it never was.
    pub(super) async fn why_not_open(
        &self,
        id: &SessionId,
        request_id: &str,
    ) -> Result<RuntimeError, RuntimeError> {
        let record = self.record(id).await?;
        // The answer that was faster may still be on its way to the log.
        let _late = timeout(self.inner.deadlines.commit, self.inner.store.written()).await.is_err();
        let types = vec![UniversalEventType::PermissionResolved, UniversalEventType::QuestionResolved];
        let mut after = 0;
        loop {
            let query =
                ReadQuery { after, limit: 1000, max_bytes: PAGE_BYTES, types: types.clone(), until: None };
            let page = self.inner.store.read(record.no, query).await?;
            for stored in &page.events {
                after = stored.seq;
                if let Some(resolved) = resolution(&stored.json, request_id) {
                    return Ok(resolved);
                }
            }
            if !page.has_more {
                return Ok(RuntimeError::RequestNotFound(request_id.to_owned()));
            }
        }
    }
}

fn resolution(json: &[u8], request_id: &str) -> Option<RuntimeError> {
    let event: UniversalEvent = serde_json::from_slice(json).ok()?;
    let (id, status, metadata) = match event.data {
        EventData::PermissionResolved(data) => (data.permission_id.0, wire_word(data.status), data.metadata),
        EventData::QuestionResolved(data) => (data.question_id.0, wire_word(data.status), data.metadata),
        _ => return None,
    };
    let by = metadata.and_then(|metadata| metadata.resolved_by).unwrap_or(ResolvedBy::Agent);
    (id == request_id).then_some(RuntimeError::AlreadyResolved { id, status, by, at: event.time })
}

#[cfg(test)]
mod tests {
    use omniglot_agents::Registry;
    use omniglot_schema::SessionPatch;
    use omniglot_store::{NewEvent, NewSession, Options, RecordUpdate, Store};
    use omniglot_timeline::{Identity, Timeline};

    use super::super::{Backlog, HubConfig, lock};
    use super::*;
    use crate::config::Config;
    use crate::deadlines::Deadlines;

    async fn with_session(dir: &std::path::Path, id: &SessionId) -> (Hub, Store) {
        let store = Store::open(dir, Options::default()).unwrap();
        let identity = Identity { session_id: id.clone(), agent: "mock".into() };
        let fold = serde_json::to_string(&Timeline::new(identity, "seed").snapshot()).unwrap();
        let kind = UniversalEventType::SessionStarted;
        let new = NewSession {
            id: id.clone(),
            agent: "mock".into(),
            request: r#"{"agent":"mock"}"#.into(),
            labels: Default::default(),
            created_ms: 1,
            record: RecordUpdate { fold, ended: false, open_from: None },
            frames: vec![],
            events: vec![NewEvent { seq: 1, kind, time_us: 1, json: "{}".into(), frame_no: None }],
            copied: 0,
            blobs: vec![],
        };
        store.create(new).await.unwrap().unwrap();
        let hub = Hub::start(HubConfig {
            data_dir: dir.to_owned(),
            program: "/bin/false".into(),
            config: Config::default(),
            registry: Registry::default(),
            store: store.clone(),
            deadlines: Deadlines::default(),
            backlog: Backlog::Deliver,
        });
        (hub.await.unwrap(), store)
    }

    /// D15: it was told that the daemon is shutting down.
    #[tokio::test]
    async fn a_command_to_a_session_that_is_being_deleted_finds_no_session() {
        let (dir, id) = (tempfile::tempdir().unwrap(), SessionId::parse("s").unwrap());
        let (hub, store) = with_session(dir.path(), &id).await;
        let is_live = || lock(&hub.inner.live).contains_key(&id);
        let hold = store.hold_writer();
        let configuring = tokio::spawn({
            let (hub, id) = (hub.clone(), id.clone());
            let patch = SessionPatch { title: Some("new".into()), ..SessionPatch::default() };
            async move { hub.configure(&id, patch).await }
        });
        while !is_live() {
            tokio::task::yield_now().await;
        }
        let deleting = tokio::spawn({
            let (hub, id) = (hub.clone(), id.clone());
            async move { hub.delete(&id).await }
        });
        while is_live() {
            tokio::task::yield_now().await;
        }
        drop(hold);
        deleting.await.unwrap().unwrap();
        let refused = configuring.await.unwrap().unwrap_err();
        assert!(matches!(refused, RuntimeError::SessionNotFound(_)), "{refused}");
    }
}
