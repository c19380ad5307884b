//! Gives a session that has done nothing yet to another agent.
//!
//! Scripts, `opencode run` and the web page create a session without saying for whom, and name the provider
//! in its first prompt. Ours belong to an agent from the start, so such a session is made anew under its id.

use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::{CreateSessionRequest, Listed, SessionId, SessionStatus};
use omniglot_store::{SessionRecord, StoreError};

use super::Face;
use super::asked::ModelChoice;
use super::project::DEFAULT_MODEL;
use super::refusal::Refusal;
use crate::app::complete;

/// A session with a turn behind it stays as it is; whether the prompt fits it is for `settings` to say.
pub(crate) async fn take(face: &Face, id: &SessionId, wanted: Option<&ModelChoice>) -> Result<(), Refusal> {
    let Some(model) = wanted else { return Ok(()) };
    let record = face.app.hub.record(id).await?;
    if record.agent == model.provider_id || !is_untouched(face, id).await? {
        return Ok(());
    }
    let before = request_of(&record)?;
    let after = for_another(&before, model);
    face.relay.exchange(id);
    let (hub, id) = (face.app.hub.clone(), id.clone());
    Ok(complete(async move { replace(&hub, &id, before, after).await }).await?)
}

async fn is_untouched(face: &Face, id: &SessionId) -> Result<bool, RuntimeError> {
    let session = face.app.hub.detail(id).await?;
    let waiting =
        session.state.queue.as_ref().and_then(Listed::inline).is_some_and(|queue| !queue.is_empty());
    let quiet = session.status == SessionStatus::Idle && !waiting;
    Ok(quiet && face.relay.view(id, |live| live.projector().messages().is_empty()).await?)
}

fn request_of(record: &SessionRecord) -> Result<CreateSessionRequest, RuntimeError> {
    let damaged = |_| StoreError::DamagedSession { session: record.id.to_string() };
    Ok(serde_json::from_str(&record.request).map_err(damaged)?)
}

/// Modes and models are words of one agent, so those of the first are dropped.
fn for_another(before: &CreateSessionRequest, model: &ModelChoice) -> CreateSessionRequest {
    CreateSessionRequest {
        agent: model.provider_id.clone(),
        agent_mode: None,
        permission_mode: None,
        model: Some(model.model_id.clone()).filter(|model| model != DEFAULT_MODEL),
        variant: model.variant.clone(),
        ..before.clone()
    }
}

async fn replace(
    hub: &Hub,
    id: &SessionId,
    before: CreateSessionRequest,
    after: CreateSessionRequest,
) -> Result<(), RuntimeError> {
    hub.delete(id).await?;
    let refused = hub.create(id.clone(), after).await.err();
    if let Some(refused) = refused {
        // Its client knows it and may try once more.
        hub.create(id.clone(), before).await?;
        return Err(refused);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_first_agent_understands_is_dropped() {
        let before = CreateSessionRequest {
            title: Some("Kept".into()),
            directory: Some("/kept".into()),
            agent_mode: Some("plan".into()),
            model: Some("small".into()),
            ..CreateSessionRequest::new("one")
        };
        let wanted = ModelChoice { provider_id: "two".into(), model_id: DEFAULT_MODEL.into(), variant: None };
        let after = for_another(&before, &wanted);
        let kept = CreateSessionRequest {
            title: Some("Kept".into()),
            directory: Some("/kept".into()),
            ..CreateSessionRequest::new("two")
        };
        assert_eq!(after, kept);
    }
}
