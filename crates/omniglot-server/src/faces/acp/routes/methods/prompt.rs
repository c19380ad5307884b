//! `session/prompt`: posts a message of the client, answers with the result of its turn, and cancels it.
//!
//! The answer is read from the log, so it exists whatever ends the turn: an error, a cancel, a dead agent, a
//! daemon that stops.

use agent_client_protocol_schema::v1::{Error, PromptResponse, RequestId, SessionId as WireId, StopReason};
use omniglot_runtime::{Followed, Hub, Posted, RuntimeError, TurnOutcome};
use omniglot_schema::{QueueOnCancel, UniversalEventType};
use omniglot_store::{SessionRecord, StoreError, StoredEvent};

use super::{Call, Served, error, files, session_id, unfit};
use crate::app::App;
use crate::faces::acp::project::{Audience, Blobs, Echo, Outgoing, Projector, with_session_end};
use crate::faces::acp::state::connection::{From, Prompt, Shared};
use crate::faces::acp::wire::requests;

/// The most bytes of events that are read at once.
const BATCH: usize = 64 << 10;

/// A prompt that was posted.
pub(super) struct Begun {
    record: SessionRecord,
    posted: Posted,
}

pub(super) async fn begin(app: &App, connection: &Shared, call: &Call) -> Result<Begun, Error> {
    let prompt: requests::Prompt = call.params.read()?;
    let session = session_id(&prompt.session_id)?;
    let record = app.hub.record(&session).await.map_err(error)?;
    connection.follow(&app.hub, &record, From::Now);
    let message = prompt.into_message().map_err(unfit)?;
    let message = files::keep(&app.hub, &session, message).await.map_err(error)?;
    let post = app.hub.post(&session, message, call.key.clone());
    let posted = connection.post(&session, post, |posted: &Posted| posted.message_id.clone()).await;
    let posted = posted.map_err(error)?;
    let message = posted.message_id.clone();
    connection.begin_prompt(Prompt { request: call.id.clone(), session, message });
    Ok(Begun { record, posted })
}

/// Waits for the end of the turn.
pub(super) async fn end(app: &App, connection: &Shared, begun: Result<Begun, Error>) -> Served {
    let Begun { record, posted } = match begun {
        Ok(begun) => begun,
        Err(error) => return Served::new::<()>(Err(error)),
    };
    let answered = answer(&app.hub, &record, &posted).await;
    connection.end_prompt(&posted.message_id);
    match answered {
        Ok((answer, sequence)) => Served { after: Some((record.no, sequence)), ..Served::new(answer) },
        Err(refused) => Served::new::<()>(Err(error(refused))),
    }
}

/// Cancels the running turn, and removes this client's prompts from the queue behind it.
pub(super) async fn cancel(app: &App, connection: &Shared, session: &WireId) -> Result<(), Error> {
    let session = session_id(session)?;
    for prompt in connection.prompts_of(&session) {
        take_back(app, &prompt).await;
    }
    app.hub.cancel(&session, QueueOnCancel::Keep).await.map_err(error)
}

/// Cancels one prompt: removes it from the queue, or cancels its turn if it is the running one.
pub(super) async fn cancel_request(app: &App, connection: &Shared, id: &RequestId) -> Result<(), Error> {
    let Some(prompt) = connection.prompt(id) else { return Ok(()) };
    if take_back(app, &prompt).await {
        return Ok(());
    }
    app.hub.cancel(&prompt.session, QueueOnCancel::Keep).await.map_err(error)
}

/// Removes a prompt from the queue; one that is not in the queue any more runs or has ended.
async fn take_back(app: &App, prompt: &Prompt) -> bool {
    app.hub.remove_queued(&prompt.session, &prompt.message).await.is_ok()
}

/// Reads the turn of the message; returns its answer and the sequence after which it is sent. A message that
/// was removed from the queue is answered as cancelled.
async fn answer(hub: &Hub, record: &SessionRecord, posted: &Posted) -> Result<(Answer, u64), RuntimeError> {
    let mut turn = hub.follow_turn(record, posted);
    let mut projector = Projector::new(Audience::default(), Echo::Others);
    let mut answer = Ok(PromptResponse::new(StopReason::Cancelled));
    loop {
        match turn.next(BATCH).await? {
            Followed::Events(events) => {
                for event in events {
                    let damaged = |_| StoreError::Damaged { session: record.id.to_string(), seq: event.seq };
                    answer = told(&mut projector, &event).map_err(damaged)?.unwrap_or(answer);
                }
            }
            Followed::Over(TurnOutcome::Deleted) => {
                return Err(RuntimeError::SessionNotFound(record.id.to_string()));
            }
            Followed::Over(TurnOutcome::Dropped) => return Ok((answer, turn.position())),
            Followed::Over(TurnOutcome::Ended) => {
                return Ok((ended_with(hub, record, turn.position(), answer).await?, turn.position()));
            }
        }
    }
}

/// A turn that was cancelled because its session was terminated tells the end of the session.
async fn ended_with(
    hub: &Hub,
    record: &SessionRecord,
    position: u64,
    answer: Answer,
) -> Result<Answer, RuntimeError> {
    Ok(match answer {
        Ok(answer) if answer.stop_reason == StopReason::Cancelled => {
            match hub.session_end(record, position).await? {
                Some(end) => Ok(with_session_end(answer, &end)),
                None => Ok(answer),
            }
        }
        answer => answer,
    })
}

type Answer = Result<PromptResponse, Error>;

/// Only the turn's own events decide its answer.
fn told(projector: &mut Projector, stored: &StoredEvent) -> serde_json::Result<Option<Answer>> {
    use UniversalEventType::{Error, TurnEnded, TurnStarted};
    if !matches!(stored.kind, TurnStarted | Error | TurnEnded) {
        return Ok(None);
    }
    let event = serde_json::from_slice(&stored.json)?;
    let ended = projector.event(&event, &Blobs::default()).into_iter().find_map(|outgoing| match outgoing {
        Outgoing::TurnEnded(ended) => Some(ended.answer),
        Outgoing::Update(_) | Outgoing::ClientRequest(_) | Outgoing::Settled(_) | Outgoing::Exited(_) => None,
    });
    Ok(ended)
}
