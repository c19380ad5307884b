//! Looks up in the log who resolved a request.

use omniglot_schema::{EventData, ResolvedBy, UniversalEvent, UniversalEventType};
use omniglot_store::ReadQuery;

use super::{Hub, PAGE_BYTES};
use crate::error::{RuntimeError, wire_word};

impl Hub {
    /// Why a request cannot be answered: it was resolved, or it never was.
    pub(super) async fn why_not_open(
        &self,
        id: &omniglot_schema::SessionId,
        request_id: &str,
    ) -> Result<RuntimeError, RuntimeError> {
        let record = self.record(id).await?;
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
