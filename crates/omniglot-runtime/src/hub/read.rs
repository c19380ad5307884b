//! The reading calls: sessions, their events and frames, and the agents with what they offer.
//!
//! They answer from rows, the log and the catalog, and wake no session.

use std::collections::HashMap;

use omniglot_schema::{
    AgentInfo, AgentModelsResponse, AgentModesResponse, SessionDetail, SessionId, SessionInfo,
    UniversalEventType,
};
use omniglot_store::{
    ListFilter, Page, ReadQuery, SessionNo, SessionRecord, StoreError, StoredFrame, Subscription,
};

use super::{Hub, PAGE_BYTES, lock, present};
use crate::agent::catalog::Entry;
use crate::config::BUILT_IN_AGENT;
use crate::error::RuntimeError;

impl Hub {
    pub async fn list(&self, filter: ListFilter) -> Result<Vec<SessionInfo>, RuntimeError> {
        self.listed(filter).await?.iter().map(present::info).collect()
    }

    pub(super) async fn listed(&self, mut filter: ListFilter) -> Result<Vec<SessionRecord>, RuntimeError> {
        if let Some(after) = &filter.after {
            self.check_seen(after).await.map_err(|_| StoreError::NoSession)?;
        }
        filter.labels.extend(self.caller.limit().cloned());
        Ok(self.inner.store.list(filter).await?)
    }

    pub async fn detail(&self, id: &SessionId) -> Result<SessionDetail, RuntimeError> {
        let record = self.record(id).await?;
        let mut detail = present::detail(&record)?;
        let agent = self.inner.launcher.catalog.get(&record.agent).ok();
        detail.capabilities = detail.capabilities.or_else(|| agent.map(|agent| agent.adapter.capabilities()));
        Ok(detail)
    }

    /// Returns the session's info from its row, also after the session has ended.
    pub fn info(record: &SessionRecord) -> Result<SessionInfo, RuntimeError> {
        present::info(record)
    }

    /// The session's row: its epoch, last sequence and number in the store.
    pub async fn record(&self, id: &SessionId) -> Result<SessionRecord, RuntimeError> {
        let record = self.inner.store.session(id).await?.filter(|record| self.sees(record));
        record.ok_or_else(|| RuntimeError::SessionNotFound(id.to_string()))
    }

    /// The session of that number; numbers are never used again.
    pub async fn record_numbered(&self, no: SessionNo) -> Result<Option<SessionRecord>, RuntimeError> {
        Ok(self.inner.store.session_numbered(no).await?.filter(|record| self.sees(record)))
    }

    /// The agent of a session whose client names none.
    pub fn default_agent(&self) -> &str {
        self.configured_agent().unwrap_or(BUILT_IN_AGENT)
    }

    /// Returns the default agent that the configuration names.
    pub fn configured_agent(&self) -> Option<&str> {
        self.inner.default_agent.as_deref()
    }

    /// Refuses the name of an agent that is not there.
    pub fn knows_agent(&self, name: &str) -> Result<(), RuntimeError> {
        self.inner.launcher.catalog.get(name).map(drop)
    }

    /// A page of committed events.
    pub async fn events(
        &self,
        record: &SessionRecord,
        after: u64,
        limit: usize,
        types: Vec<UniversalEventType>,
    ) -> Result<Page, RuntimeError> {
        let query = ReadQuery { after, limit, max_bytes: PAGE_BYTES, types, until: None };
        Ok(self.inner.store.read(record.no, query).await?)
    }

    /// The session's events after `after`, those to come included.
    pub fn subscribe(&self, record: &SessionRecord, after: u64) -> Subscription {
        self.inner.store.subscribe(record.no, after)
    }

    /// Native frames by number; those that were never stored are absent.
    pub async fn frames(
        &self,
        record: &SessionRecord,
        numbers: &[u64],
    ) -> Result<HashMap<u64, StoredFrame>, RuntimeError> {
        Ok(self.inner.store.frames(record.no, numbers).await?)
    }

    pub fn agents(&self) -> Vec<AgentInfo> {
        let probes = lock(&self.inner.probes);
        let info = |entry: &Entry| {
            let known = probes.get(&entry.name);
            let version = self.inner.launcher.versions.known(entry);
            let version = version.or_else(|| known.and_then(|probe| probe.version.clone()));
            let mut info = entry.info(version, self.login_status(entry));
            info.server_status =
                info.capabilities.shared_process.then(|| self.inner.launcher.servers.status(&entry.name));
            if let Some(capabilities) = known.and_then(|probe| probe.capabilities) {
                info.capabilities = capabilities;
            }
            info
        };
        self.inner.launcher.catalog.entries().map(info).collect()
    }

    pub async fn models(&self, agent: &str) -> Result<AgentModelsResponse, RuntimeError> {
        self.offered_models(agent).await
    }

    pub async fn modes(&self, agent: &str) -> Result<AgentModesResponse, RuntimeError> {
        self.offered_modes(agent).await
    }
}
