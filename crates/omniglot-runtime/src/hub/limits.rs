//! The view of one caller: a limited token sees only sessions with its label, and makes only such.

use std::collections::HashSet;

use omniglot_schema::{CreateSessionRequest, Labels, SessionId, SessionPatch, check_labels};
use omniglot_store::{ListFilter, SessionNo, SessionRecord};

use super::{Hub, flatten};
use crate::caller::Caller;
use crate::error::RuntimeError;

/// The permission modes in which an agent still asks before it does what a sandbox would forbid.
const ASKING: [&str; 6] = ["default", "plan", "acceptEdits", "read-only", "untrusted", "on-request"];

/// Parts of the names that agents give to modes without questions, in lower case and without separators.
const UNASKED: [&str; 7] =
    ["bypass", "yolo", "fullaccess", "dontask", "never", "skippermissions", "dangerously"];

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
            flatten(self.inner.store.label(record.no, labels).await)?;
            self.inner.tokens.labels_changed();
        }
        Ok(())
    }
}

fn check_modes(agent_mode: Option<&str>, permission_mode: Option<&str>) -> Result<(), RuntimeError> {
    if agent_mode.into_iter().chain(permission_mode).any(is_unasked) {
        return Err(beyond("the agent would work unasked"));
    }
    match permission_mode {
        Some(mode) if !ASKING.contains(&mode) => {
            Err(beyond(&format!("of the permission modes only {} are known to ask", ASKING.join(", "))))
        }
        _ => Ok(()),
    }
}

fn is_unasked(mode: &str) -> bool {
    let plain: String = mode.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    UNASKED.iter().any(|word| plain.contains(word))
}

fn beyond(why: &str) -> RuntimeError {
    RuntimeError::Forbidden(format!("a token that is limited to some sessions may not do this: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_mode_that_does_not_ask_is_refused() {
        for mode in ["bypass", "bypassPermissions", "yolo", "YOLO", "danger-full-access", "never", "dontAsk"]
        {
            assert!(check_modes(None, Some(mode)).is_err(), "{mode}");
            assert!(check_modes(Some(mode), None).is_err(), "{mode}");
        }
        for mode in ["agent-full-access", "full_access", "Bypass Permissions"] {
            assert!(check_modes(Some(mode), None).is_err(), "{mode}");
        }
        assert!(check_modes(None, Some("auto")).is_err(), "nobody knows whether it asks");
        assert!(check_modes(Some("architect"), Some("acceptEdits")).is_ok());
    }
}
