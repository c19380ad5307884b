//! Changing a session: its settings, a compact context.

use omniglot_schema::{CommandInfo, Listed, MessageRequest, SessionDetail, SessionId, SessionPatch};
use omniglot_store::SessionRecord;

use super::{Hub, Posted, present};
use crate::error::RuntimeError;
use crate::session::SessionCommand;

impl Hub {
    /// Returns the session as it is then. Settings of an agent that works are put off until it is done.
    pub async fn configure(
        &self,
        id: &SessionId,
        patch: SessionPatch,
    ) -> Result<SessionDetail, RuntimeError> {
        check(&patch)?;
        self.check_limited_patch(&patch)?;
        let SessionPatch { labels, .. } = patch.clone();
        let settings = SessionPatch { labels: None, ..patch };
        if labels.is_none() || settings != SessionPatch::default() {
            self.ask(id, SessionCommand::Configure(settings)).await?;
        }
        if let Some(labels) = labels {
            self.relabel(id, labels).await?;
        }
        self.detail(id).await
    }

    /// A turn in which the agent shortens what it remembers, where it can.
    pub async fn compact(&self, id: &SessionId) -> Result<Posted, RuntimeError> {
        let record = self.record(id).await?;
        let compact = self.inner.launcher.catalog.get(&record.agent)?.adapter.compact;
        let commands = self.commands(&record).await?;
        let message = compact.prompt(&commands).ok_or_else(|| {
            let agent = &record.agent;
            RuntimeError::unsupported(format!("agent {agent} lists no command that compacts its context"))
        })?;
        let request = MessageRequest::new(message);
        self.post(id, request, None).await
    }

    pub(super) async fn commands(&self, record: &SessionRecord) -> Result<Vec<CommandInfo>, RuntimeError> {
        let path = match present::snapshot(record)?.fold.state.commands {
            None => return Ok(vec![]),
            Some(Listed::Inline(commands)) => return Ok(commands),
            Some(Listed::Blob(blob)) => blob.path,
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        let blob = self.inner.store.blob(record.no, name).await?;
        Ok(blob.and_then(|blob| serde_json::from_slice(&blob.bytes).ok()).unwrap_or_default())
    }
}

/// An empty name is no name.
fn check(patch: &SessionPatch) -> Result<(), RuntimeError> {
    let SessionPatch { model, variant, agent_mode, permission_mode, title: _, force: _, labels: _ } = patch;
    let named = [
        ("model", model),
        ("variant", variant),
        ("agentMode", agent_mode),
        ("permissionMode", permission_mode),
    ];
    match named.iter().find(|(_, value)| value.as_ref().is_some_and(String::is_empty)) {
        Some((name, _)) => Err(RuntimeError::InvalidRequest(format!("`{name}` is empty"))),
        None => Ok(()),
    }
}
