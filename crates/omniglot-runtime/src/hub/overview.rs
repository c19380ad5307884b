//! The overview for faces that show all sessions at once: which of them change, which are in the middle of
//! something, and what is known of the agents without asking them.

use omniglot_schema::{
    AgentModelsResponse, AgentModesResponse, CommandInfo, OpenRequestsResponse, SessionDetail, SessionId,
    SessionInfo,
};
use omniglot_store::{Changes, ListFilter};

use super::{Hub, lock, present};
use crate::error::RuntimeError;

impl Hub {
    /// Tells which sessions change from now on.
    pub fn follow(&self) -> Changes {
        self.inner.store.follow()
    }

    /// The sessions that something is open in, or that messages wait for.
    pub async fn unfinished(&self) -> Result<Vec<SessionDetail>, RuntimeError> {
        let unfinished = self.inner.store.unfinished().await?;
        unfinished.iter().filter(|record| self.sees(record)).map(present::detail).collect()
    }

    /// Lists sessions as [`Hub::list`] does, each with its state.
    pub async fn list_with_state(&self, filter: ListFilter) -> Result<Vec<SessionInfo>, RuntimeError> {
        self.listed(filter).await?.iter().map(present::info_with_state).collect()
    }

    /// Returns the open permissions and questions of sessions created after `after`, oldest session first, until
    /// there are at least `limit`.
    pub async fn open_requests(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<OpenRequestsResponse, RuntimeError> {
        let after = match after {
            Some(after) => Some(self.record(after).await?.no),
            None => None,
        };
        let unfinished = self.inner.store.unfinished().await?;
        let mut page = OpenRequestsResponse { requests: vec![], has_more: false, next: None };
        for record in unfinished.iter().filter(|record| self.sees(record) && Some(record.no) > after) {
            let mut open = present::open_requests(record)?;
            if open.is_empty() {
                continue;
            }
            if page.requests.len() >= limit {
                page.has_more = true;
                return Ok(page);
            }
            page.requests.append(&mut open);
            page.next = Some(record.id.clone());
        }
        page.next = None;
        Ok(page)
    }

    /// The commands that the session's agent lists.
    pub async fn commands_of(&self, id: &SessionId) -> Result<Vec<CommandInfo>, RuntimeError> {
        self.commands(&self.record(id).await?).await
    }

    /// Returns the lists of the agent since this daemon started; `None` if it was never asked.
    pub fn known_offers(&self, agent: &str) -> Option<(AgentModelsResponse, AgentModesResponse)> {
        lock(&self.inner.probes).get(agent)?.offered()
    }
}
