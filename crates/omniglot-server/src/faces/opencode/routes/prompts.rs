//! The routes that start a turn: prompts, commands, compaction.
//!
//! Scripts and `opencode run` treat the answer of a prompt as the end of its turn, so it is held until every
//! stream has received all of that turn.

mod message;
mod settings;

use axum::Json;
use http::header::USER_AGENT;
use http::{HeaderMap, StatusCode};
use omniglot_runtime::{NewAgent, Posted, TurnOutcome};
use omniglot_schema::{Listed, SessionDetail, SessionId};

use super::InSession;
use crate::app::complete;
use crate::faces::opencode::Face;
use crate::faces::opencode::project::DEFAULT_MODEL;
use crate::faces::opencode::routes::bodies::{ModelChoice, OptionalBody, PartInput, Prompt, RunCommand};
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::session_view::SessionView;
use crate::faces::opencode::wire::{MessageInfo, MessageWithParts};
use crate::http::problem::Problem;
use message::message;
use settings::Wanted;

pub(crate) async fn prompt(
    face: Face,
    InSession(id): InSession,
    headers: HeaderMap,
    OptionalBody(prompt): OptionalBody<Prompt>,
) -> Result<Json<MessageWithParts>, Refusal> {
    let name = name_of(prompt.message_id.as_deref());
    heard(&face, &id, &headers).await?;
    match post_prompt(&face, &id, &name, prompt).await {
        Ok(posted) => answer(&face, &id, &name, &posted).await,
        Err(refusal) => Err(refused(&face, &id, &headers, refusal).await),
    }
}

pub(crate) async fn prompt_async(
    face: Face,
    InSession(id): InSession,
    OptionalBody(prompt): OptionalBody<Prompt>,
) -> Result<StatusCode, Refusal> {
    let name = name_of(prompt.message_id.as_deref());
    post_prompt(&face, &id, &name, prompt).await.map_err(|refusal| refusal.session(&id))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Waits for the stream of a program that needs one.
///
/// `opencode run` sends its prompt at the moment at which it opens its stream, and prints only what it hears:
/// a turn that is over before would be lost to it. Scripts may well do without a stream.
async fn heard(face: &Face, id: &SessionId, headers: &HeaderMap) -> Result<(), Refusal> {
    if is_program(headers) {
        let session = face.app.hub.detail(id).await.map_err(|error| Refusal::from(error).session(id))?;
        face.relay.audience(session.info.directory.as_deref().unwrap_or_default()).await;
    }
    Ok(())
}

pub(super) fn is_program(headers: &HeaderMap) -> bool {
    let name = headers.get(USER_AGENT).and_then(|name| name.to_str().ok());
    name.is_some_and(|name| name.starts_with("opencode/"))
}

/// Agents accept their commands as a message that begins with a slash.
pub(crate) async fn command(
    face: Face,
    InSession(id): InSession,
    headers: HeaderMap,
    OptionalBody(asked): OptionalBody<RunCommand>,
) -> Result<Json<MessageWithParts>, Refusal> {
    if asked.command.is_empty() {
        return Err(Refusal::invalid("`command` is missing").session(&id));
    }
    let name = name_of(asked.message_id.as_deref());
    let text = format!("/{} {}", asked.command, asked.arguments).trim_end().to_owned();
    let parts = std::iter::once(PartInput::Text { id: None, text }).chain(asked.parts);
    let prompt = Prompt {
        agent: asked.agent,
        model: asked.model.as_deref().and_then(model_of),
        variant: asked.variant,
        parts: parts.collect(),
        ..Prompt::default()
    };
    heard(&face, &id, &headers).await?;
    match post_prompt(&face, &id, &name, prompt).await {
        Ok(posted) => answer(&face, &id, &name, &posted).await,
        Err(refusal) => Err(refused(&face, &id, &headers, refusal).await),
    }
}

pub(crate) async fn summarize(face: Face, InSession(id): InSession) -> Result<Json<bool>, Refusal> {
    let (hub, session) = (face.app.hub.clone(), id.clone());
    let posted = complete(async move { hub.compact(&session).await }).await?;
    ended(&face, &id, &posted).await?;
    Ok(Json(true))
}

/// Returns the id of the message: the client's, or a new one of the same kind.
pub(super) fn name_of(requested: Option<&str>) -> String {
    let mint = || {
        let milliseconds = jiff::Timestamp::now().as_millisecond();
        let stamp = (milliseconds.unsigned_abs() << 12) & ((1 << 48) - 1);
        let random: String = uuid::Uuid::new_v4().simple().to_string().chars().take(14).collect();
        format!("msg_{stamp:012x}{random}")
    };
    requested.map_or_else(mint, str::to_owned)
}

fn model_of(text: &str) -> Option<ModelChoice> {
    let (provider_id, model_id) = text.split_once('/')?;
    Some(ModelChoice { provider_id: provider_id.into(), model_id: model_id.into(), variant: None })
}

/// Ends with a refusal. `opencode run` makes a session for its prompt, and one whose prompt is refused is of no use.
async fn refused(face: &Face, id: &SessionId, headers: &HeaderMap, refusal: Refusal) -> Refusal {
    if is_program(headers) {
        let (hub, session) = (face.app.hub.clone(), id.clone());
        if let Err(problem) = complete(async move { hub.delete_unattended(&session).await }).await {
            tracing::debug!(session = %id, problem = ?problem.details(), "the session of a refused prompt stays");
        }
    }
    refusal.session(id)
}

async fn post_prompt(face: &Face, id: &SessionId, name: &str, mut prompt: Prompt) -> Result<Posted, Refusal> {
    if prompt.no_reply {
        return Err(Refusal::invalid("an agent always replies; leave out `noReply`"));
    }
    if prompt.system.as_ref().is_some_and(|system| !system.is_empty()) {
        return Err(Refusal::invalid("agents have their own system prompt; leave out `system`"));
    }
    if let Some(model) = &mut prompt.model {
        if face.catalog.leaves_choice(&model.provider_id, &model.model_id) {
            model.model_id = DEFAULT_MODEL.to_owned();
        }
        give_to(face, id, model).await?;
    }
    let hub = &face.app.hub;
    let detail = hub.detail(id).await?;
    let mode = prompt.agent.filter(|mode| fits(face, &detail, mode));
    let wanted = Wanted { model: prompt.model, variant: prompt.variant, mode };
    let patch = settings::patch(&detail, wanted)?;
    let message = message(hub, id, name.to_owned(), prompt.parts).await?;
    let (hub, session) = (hub.clone(), id.clone());
    let posted = complete(async move {
        if let Some(patch) = patch {
            hub.configure(&session, patch).await?;
        }
        hub.post(&session, message, None).await
    });
    Ok(posted.await?)
}

/// A client offers the modes of one agent for the sessions of all: where another agent has no such mode, the session
/// keeps its own, rather than that the prompt is lost.
fn fits(face: &Face, session: &SessionDetail, mode: &str) -> bool {
    let info = &session.info;
    let listed = session.state.modes.as_ref().and_then(Listed::inline).unwrap_or_default();
    listed.iter().any(|it| it.id == mode) || !face.catalog.is_of_others(&info.agent, mode)
}

/// Scripts, `opencode run` and the web page create a session without an agent, and name the provider in its
/// first prompt. A session that has a turn keeps its agent; `settings` checks whether the prompt fits it.
async fn give_to(face: &Face, id: &SessionId, model: &ModelChoice) -> Result<(), Refusal> {
    let new_agent = NewAgent {
        agent: model.provider_id.clone(),
        model: Some(model.model_id.clone()).filter(|model| model != DEFAULT_MODEL),
        variant: model.variant.clone(),
    };
    let (hub, id) = (face.app.hub.clone(), id.clone());
    complete(async move { hub.reassign(&id, new_agent).await }).await?;
    Ok(())
}

/// Waits for the end of the turn, and until the streams have received it.
async fn ended(face: &Face, id: &SessionId, posted: &Posted) -> Result<(), Refusal> {
    let record = face.app.hub.record(id).await?;
    let outcome = tokio::select! {
        outcome = face.app.hub.follow_turn(&record, posted).end() => outcome?,
        () = face.app.stop.cancelled() => {
            return Err(Refusal::of(Problem::unavailable("the daemon is shutting down")));
        }
    };
    match outcome {
        TurnOutcome::Ended => Ok(face.relay.deliver(id, posted.after).await?),
        TurnOutcome::Dropped | TurnOutcome::Deleted => {
            Err(Refusal::invalid("the message was taken back before it was delivered").session(id))
        }
    }
}

pub(super) async fn answer(
    face: &Face,
    id: &SessionId,
    name: &str,
    posted: &Posted,
) -> Result<Json<MessageWithParts>, Refusal> {
    ended(face, id, posted).await?;
    let found = face.view(id, |live| reply_to(live, name)).await?;
    found.map(Json).ok_or_else(|| Refusal::not_found("the turn has no answer").session(id))
}

/// Returns the last message of the turn that `name` began.
fn reply_to(live: &SessionView, name: &str) -> Option<MessageWithParts> {
    let replies = |message: &&MessageWithParts| match &message.info {
        MessageInfo::Assistant(assistant) => assistant.parent_id.as_str() == name,
        MessageInfo::User(_) => false,
    };
    let projector = live.projector();
    projector.messages().iter().rev().find(replies).or_else(|| projector.answer()).cloned()
}
