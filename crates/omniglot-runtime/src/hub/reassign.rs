//! Gives a session in which nothing was done yet to another agent.
//!
//! Some clients make a session without saying for whom, and name the agent with its first message. Ours belong
//! to an agent from the start, so such a session is made anew under its id.

use omniglot_agents::Open;
use omniglot_schema::{CreateSessionRequest, EventData, QuestionPolicy, SessionId, UniversalEvent};
use omniglot_store::SessionRecord;

use super::create::open_of;
use super::{Hub, lock, present};
use crate::error::RuntimeError;
use crate::session::{SessionCommand, is_unused};

/// Who takes a session over. A model and an effort are words of one agent, so they come with it.
#[derive(Debug, Clone)]
pub struct NewAgent {
    pub agent: String,
    pub model: Option<String>,
    pub variant: Option<String>,
}

/// The result of a reassignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reassigned {
    /// The session is the new agent's, now or since before.
    Done,
    /// It stays as it is: something was done in it, or waits to be.
    InUse,
}

impl Hub {
    /// Nobody finds the session missing meanwhile, and a message that is posted goes to one agent or the other.
    /// When the new agent does not start, the session stays as it was.
    pub async fn reassign(&self, id: &SessionId, new_agent: NewAgent) -> Result<Reassigned, RuntimeError> {
        self.check_open()?;
        let before = self.record(id).await?;
        if before.agent == new_agent.agent {
            return Ok(Reassigned::Done);
        }
        if !self.is_unused_row(&before).await? {
            return Ok(Reassigned::InUse);
        }
        self.make_room().await;
        // From here on whoever posts a message waits, unless the session has it already.
        let _session_lock = self.inner.session_locks.hold(id).await;
        let before = self.record(id).await?;
        if before.agent == new_agent.agent {
            return Ok(Reassigned::Done);
        }
        let request = self.checked(inherited(&before, new_agent)?)?;
        let reassigned = self.replace_agent(id, &before, &request).await;
        if !matches!(reassigned, Ok(Reassigned::Done)) {
            self.place_skills(id, &present::request(&before)?)?;
        }
        reassigned
    }

    /// Deletes a session that a program has made for a message which was refused: nobody is in it, and nothing was done.
    pub async fn delete_unattended(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let record = self.record(id).await?;
        let is_attended = present::request(&record)?.questions != Some(QuestionPolicy::Reject);
        if is_attended || !self.is_unused_row(&record).await? {
            return Ok(());
        }
        self.delete(id).await
    }

    async fn replace_agent(
        &self,
        id: &SessionId,
        before: &SessionRecord,
        request: &CreateSessionRequest,
    ) -> Result<Reassigned, RuntimeError> {
        self.place_skills(id, request)?;
        let open = Open { skills: self.skills_of(id, request), ..open_of(request) };
        let pending = self.open_agent(id, request, open, None).await?;
        if !self.leaves_unused(id).await? || !self.is_unused_row(&self.record(id).await?).await? {
            return Ok(Reassigned::InUse);
        }
        self.persist(id.clone(), request, pending, Some(before.no)).await?;
        self.drop_attachments(before.no);
        Ok(Reassigned::Done)
    }

    /// Ends the session's actor, if there is one and nothing was done.
    async fn leaves_unused(&self, id: &SessionId) -> Result<bool, RuntimeError> {
        let handle = lock(&self.inner.live).get(id).cloned();
        let Some(handle) = handle else { return Ok(true) };
        match handle.ask(SessionCommand::DiscardUnused).await {
            Ok(Err(RuntimeError::Busy)) => Ok(false),
            Ok(Err(error)) => Err(error),
            // One that has just retired is a row by now.
            Ok(Ok(_)) | Err(_) => Ok(true),
        }
    }

    /// A copy of another session begins without a turn, and yet remembers what was said there.
    async fn is_unused_row(&self, record: &SessionRecord) -> Result<bool, RuntimeError> {
        let unused = is_unused(&present::snapshot(record)?.fold);
        let waiting = unused && !self.inner.store.queue(record.no).await?.is_empty();
        Ok(unused && !waiting && !self.is_copy(record).await?)
    }

    async fn is_copy(&self, record: &SessionRecord) -> Result<bool, RuntimeError> {
        let first = self.events(record, 0, 1, vec![]).await?.events;
        let first =
            first.first().and_then(|event| serde_json::from_slice::<UniversalEvent>(&event.json).ok());
        let metadata = match first.map(|event| event.data) {
            Some(EventData::SessionStarted(data)) => data.metadata,
            _ => None,
        };
        Ok(metadata.is_some_and(|metadata| metadata.forked_from.is_some()))
    }
}

/// Returns the request for the new session: everything that is not specific to the old agent.
fn inherited(before: &SessionRecord, new_agent: NewAgent) -> Result<CreateSessionRequest, RuntimeError> {
    let title = present::snapshot(before)?.fold.state.title;
    let request = present::request(before)?;
    Ok(CreateSessionRequest {
        agent: new_agent.agent,
        agent_mode: None,
        agent_version: None,
        permission_mode: None,
        model: new_agent.model,
        variant: new_agent.variant,
        title: title.or(request.title),
        labels: before.labels.clone(),
        ..request
    })
}
