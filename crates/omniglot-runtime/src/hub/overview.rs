//! The overview for faces that show all sessions at once: which of them change, which are in the middle of
//! something, and what is known of the agents without asking them.

use omniglot_schema::{AgentModelsResponse, AgentModesResponse, CommandInfo, SessionDetail, SessionId};
use omniglot_store::Changes;

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

    /// The commands that the session's agent lists.
    pub async fn commands_of(&self, id: &SessionId) -> Result<Vec<CommandInfo>, RuntimeError> {
        self.commands(&self.record(id).await?).await
    }

    /// Returns the lists of the agent since this daemon started; `None` if it was never asked.
    pub fn known_offers(&self, agent: &str) -> Option<(AgentModelsResponse, AgentModesResponse)> {
        lock(&self.inner.probes).get(agent)?.offered()
    }
}
