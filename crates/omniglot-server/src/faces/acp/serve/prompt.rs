//! `session/prompt`: posts a message of the client, answers with the result of its turn, and cancels it.
//!
//! The answer is read from the log, so it exists whatever ends the turn: an error, a cancel, a dead agent, a
//! daemon that stops.

use agent_client_protocol_schema::v1::{Error, PromptResponse, RequestId, SessionId as WireId, StopReason};
use omniglot_runtime::{Hub, Posted, RuntimeError};
use omniglot_schema::{QueueOnCancel, UniversalEvent, UniversalEventType};
use omniglot_store::{Next, SessionRecord, StoreError, StoredEvent, Subscription};

use super::{Call, Served, error, files, session_id, unfit};
use crate::app::App;
use crate::faces::acp::connection::{From, Prompt, Shared};
use crate::faces::acp::project::{Audience, Blobs, Echo, Outgoing, Projector};
use crate::faces::acp::wanted;

/// The most bytes of events that are read at once.
const BATCH: usize = 64 << 10;

/// A prompt that was posted.
pub(super) struct Begun {
    record: SessionRecord,
    posted: Posted,
}

pub(super) async fn begin(app: &App, connection: &Shared, call: &Call) -> Result<Begun, Error> {
    let prompt: wanted::Prompt = call.params.read()?;
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
    let (no, message) = (record.no, posted.message_id.clone());
    let ended = Waiting::new(&app.hub, record, posted).end().await;
    connection.end_prompt(&message);
    match ended {
        Ok(Ended { answer, sequence }) => Served { after: Some((no, sequence)), ..Served::new(answer) },
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

/// Reads the log of a session until the turn of one message ends.
struct Waiting {
    hub: Hub,
    record: SessionRecord,
    posted: Posted,
    subscription: Subscription,
    projector: Projector,
    /// A message that is no longer in the queue has a turn, or was removed.
    begun: bool,
    /// The queue may have changed since it was read.
    queue_changed: bool,
}

struct Ended {
    answer: Result<PromptResponse, Error>,
    sequence: u64,
}

impl Waiting {
    /// Events before the message have no part in the answer.
    fn new(hub: &Hub, record: SessionRecord, posted: Posted) -> Self {
        let subscription = hub.subscribe(&record, posted.after);
        let projector = Projector::new(Audience::default(), Echo::Others);
        Self { hub: hub.clone(), record, posted, subscription, projector, begun: false, queue_changed: false }
    }

    async fn end(mut self) -> Result<Ended, RuntimeError> {
        loop {
            let events = match self.subscription.next(BATCH).await {
                Ok(Next::Events(events)) => events,
                Ok(Next::Deleted) => return Err(RuntimeError::SessionNotFound(self.record.id.to_string())),
                Err(StoreError::Closed) => return Err(RuntimeError::Stopping),
                Err(error) => return Err(error.into()),
            };
            for event in &events {
                if let Some(answer) = self.event(event) {
                    return Ok(Ended { answer, sequence: event.seq });
                }
                self.queue_changed |= event.kind == UniversalEventType::SessionUpdated;
            }
            if self.queue_changed && !self.begun && self.was_taken_out().await? {
                let answer = Ok(PromptResponse::new(StopReason::Cancelled));
                return Ok(Ended { answer, sequence: self.subscription.cursor() });
            }
        }
    }

    fn event(&mut self, stored: &StoredEvent) -> Option<Result<PromptResponse, Error>> {
        let event: UniversalEvent = serde_json::from_slice(&stored.json).ok()?;
        if let omniglot_schema::EventData::TurnStarted(data) = &event.data {
            self.begun |= data.metadata.message_id.as_ref() == Some(&self.posted.message_id);
        }
        self.projector.event(&event, &Blobs::default()).into_iter().find_map(|outgoing| match outgoing {
            Outgoing::TurnEnded(ended) if ended.message_id.as_ref() == Some(&self.posted.message_id) => {
                Some(ended.answer)
            }
            Outgoing::TurnEnded(_)
            | Outgoing::Update(_)
            | Outgoing::ClientRequest(_)
            | Outgoing::Settled(_)
            | Outgoing::Exited(_) => None,
        })
    }

    /// The row leaves the queue in the transaction of its `turn.started`, so once the log is read up to a
    /// state without the message, a turn for it would have been seen. Until then the queue is checked again
    /// with each further event.
    async fn was_taken_out(&mut self) -> Result<bool, RuntimeError> {
        let detail = self.hub.detail(&self.record.id).await?;
        let queue = detail.state.queue.unwrap_or_default();
        let waits = queue
            .inline()
            .is_none_or(|queue| queue.iter().any(|queued| queued.message_id == self.posted.message_id));
        self.queue_changed = !waits;
        Ok(!waits && detail.info.event_count <= self.subscription.cursor())
    }
}
