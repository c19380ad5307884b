//! The view of one caller: a limited token sees only sessions with its label, and makes only such.

use std::collections::HashSet;

use omniglot_schema::{CreateSessionRequest, Labels, SessionId, SessionPatch, check_labels};
use omniglot_store::{ListFilter, SessionNo, SessionRecord};

use super::Hub;
use crate::caller::Caller;
use crate::error::RuntimeError;

/// The modes in which an agent still asks before it does what a sandbox would forbid, by the names of all agents:
/// of ACP agents one list is both kinds of modes. What is not here may approve by itself (`auto`, `autopilot`).
const ASKING: [&str; 13] = [
    "build",
    "plan",
    "default",
    "ask",
    "agent",
    "architect",
    "acceptEdits",
    "autoEdit",
    "auto-edit",
    "read-only",
    "workspace-write",
    "untrusted",
    "on-request",
];

/// ACP agents may name a mode by its meaning in the protocol.
const PROTOCOL_MODE: &str = "https://agentclientprotocol.com/protocol/session-modes#";

impl Hub {
    /// The same sessions as this caller may see and change them.
    #[must_use]
    pub fn for_caller(&self, caller: Caller) -> Self {
        Self { inner: self.inner.clone(), caller }
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) fn sees(&self, record: &SessionRecord) -> bool {
        self.caller.limit().is_none_or(|limit| limit.is_in(&record.labels))
    }

    /// Refuses a session that this caller does not see, as one that does not exist.
    pub(super) async fn check_seen(&self, id: &SessionId) -> Result<(), RuntimeError> {
        match self.caller.limit() {
            Some(_) => self.record(id).await.map(drop),
            None => Ok(()),
        }
    }

    /// The numbers of all sessions that this caller sees; `None` when it sees every session.
    pub async fn seen(&self) -> Result<Option<HashSet<SessionNo>>, RuntimeError> {
        let Some(limit) = self.caller.limit() else { return Ok(None) };
        let filter = ListFilter { labels: vec![limit.clone()], ..ListFilter::default() };
        let records = self.inner.store.list(filter).await?;
        Ok(Some(records.into_iter().map(|record| record.no).collect()))
    }

    /// Adds the label of a limited caller, and refuses what would lead beyond its limit.
    pub(super) fn limited(
        &self,
        mut request: CreateSessionRequest,
    ) -> Result<CreateSessionRequest, RuntimeError> {
        check_labels(&request.labels).map_err(|error| RuntimeError::InvalidRequest(error.to_string()))?;
        let Some(limit) = self.caller.limit() else { return Ok(request) };
        if request.mcp.as_ref().is_some_and(|mcp| !mcp.is_empty()) {
            return Err(beyond("`mcp` starts programs"));
        }
        if request.skills.is_some() {
            return Err(beyond("`skills` brings programs"));
        }
        if request.allowed_tools.is_some() {
            return Err(beyond("`allowedTools` lets the agent use tools unasked"));
        }
        if request.worktree {
            return Err(beyond("`worktree` runs git by the settings of the project"));
        }
        check_modes(request.agent_mode.as_deref(), request.permission_mode.as_deref())?;
        request.labels.insert(limit.key.clone(), limit.value.clone());
        check_labels(&request.labels).map_err(|error| RuntimeError::InvalidRequest(error.to_string()))?;
        Ok(request)
    }

    pub(super) fn check_limited_patch(&self, patch: &SessionPatch) -> Result<(), RuntimeError> {
        if self.caller.limit().is_none() {
            return Ok(());
        }
        if patch.labels.is_some() {
            return Err(beyond("labels decide which sessions a token sees"));
        }
        check_modes(patch.agent_mode.as_deref(), patch.permission_mode.as_deref())
    }

    /// Merges the patch into the session's labels: `null` removes a label.
    pub(super) async fn relabel(
        &self,
        id: &SessionId,
        patch: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> Result<(), RuntimeError> {
        let _session_lock = self.inner.session_locks.hold(id).await;
        let record = self.record(id).await?;
        let mut labels: Labels = record.labels.clone();
        for (key, value) in patch {
            match value {
                Some(value) => labels.insert(key, value),
                None => labels.remove(&key),
            };
        }
        check_labels(&labels).map_err(|error| RuntimeError::InvalidRequest(error.to_string()))?;
        if labels != record.labels {
            self.committed(self.inner.store.label(record.no, labels)).await?;
            self.inner.tokens.labels_changed();
        }
        Ok(())
    }
}

fn check_modes(agent_mode: Option<&str>, permission_mode: Option<&str>) -> Result<(), RuntimeError> {
    match agent_mode.into_iter().chain(permission_mode).find(|mode| !asks(mode)) {
        Some(mode) => Err(beyond(&format!(
            "nobody knows that an agent asks in mode {mode}; leave the mode out, or use one of {}",
            ASKING.join(", ")
        ))),
        None => Ok(()),
    }
}

fn asks(mode: &str) -> bool {
    ASKING.contains(&mode.strip_prefix(PROTOCOL_MODE).unwrap_or(mode))
}

fn beyond(why: &str) -> RuntimeError {
    RuntimeError::Forbidden(format!("a token that is limited to some sessions may not do this: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(mode: &str) -> bool {
        let allowed = check_modes(Some(mode), None).is_ok();
        assert_eq!(check_modes(None, Some(mode)).is_ok(), allowed, "{mode} is one thing in both members");
        allowed
    }

    #[test]
    fn a_mode_of_which_nobody_knows_that_it_asks_is_refused() {
        for mode in ["bypass", "bypassPermissions", "yolo", "YOLO", "danger-full-access", "never", "dontAsk"]
        {
            assert!(!is_allowed(mode), "{mode}");
        }
        for mode in ["agent-full-access", "full_access", "Bypass Permissions", "auto", "autopilot", "", "new"]
        {
            assert!(!is_allowed(mode), "{mode}");
        }
        for mode in ["https://agentclientprotocol.com/protocol/session-modes#autopilot", "x#plan", "#plan"] {
            assert!(!is_allowed(mode), "{mode}");
        }
    }

    #[test]
    fn a_mode_that_asks_is_allowed() {
        for mode in ASKING {
            assert!(is_allowed(mode), "{mode}");
            assert!(is_allowed(&format!("{PROTOCOL_MODE}{mode}")), "{mode}");
        }
        assert!(check_modes(Some("architect"), Some("acceptEdits")).is_ok());
        assert!(check_modes(Some("plan"), Some("auto")).is_err());
        assert!(check_modes(Some("auto"), Some("plan")).is_err());
    }
}
