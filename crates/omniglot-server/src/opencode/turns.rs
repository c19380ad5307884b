//! Waiting for the end of the turn that takes a message.

use omniglot_runtime::{Hub, Posted, RuntimeError};
use omniglot_schema::{Delivered, EventData, SessionId, TurnId, UniversalEvent, UniversalEventType};
use omniglot_store::{Next, StoredEvent};

/// How much of the log is read at once.
const BATCH: usize = 256 << 10;

/// How the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ended,
    /// The message was taken out of the queue, or its session is gone: no turn will answer it.
    Dropped,
}

/// Which turn is waited for.
enum Awaited {
    /// The one that takes the message.
    Message,
    Turn(TurnId),
    Running,
}

/// Returns when the turn of `posted` has ended.
pub(crate) async fn end_of(hub: &Hub, id: &SessionId, posted: &Posted) -> Result<Outcome, RuntimeError> {
    let record = hub.record(id).await?;
    let mut log = hub.subscribe(&record, posted.after);
    let mut awaited = match posted.delivered {
        Delivered::Steered => Awaited::Running,
        Delivered::Started | Delivered::Queued => Awaited::Message,
    };
    loop {
        let Next::Events(events) = log.next(BATCH).await? else { return Ok(Outcome::Dropped) };
        let mut queue_changed = false;
        for event in events {
            if awaited.ends_with(&event, posted) {
                return Ok(Outcome::Ended);
            }
            queue_changed |=
                matches!(event.kind, UniversalEventType::SessionUpdated | UniversalEventType::SessionEnded);
        }
        let waits = matches!(awaited, Awaited::Message);
        if waits && queue_changed && is_dropped(hub, id, posted, log.cursor()).await? {
            return Ok(Outcome::Dropped);
        }
    }
}

impl Awaited {
    fn ends_with(&mut self, event: &StoredEvent, posted: &Posted) -> bool {
        use UniversalEventType as T;
        match (&*self, event.kind) {
            (Self::Message, T::TurnStarted) => {
                if let Some(EventData::TurnStarted(turn)) = read(event)
                    && turn.metadata.message_id.as_ref() == Some(&posted.message_id)
                {
                    *self = Self::Turn(turn.turn_id);
                }
                false
            }
            (Self::Turn(id), T::TurnEnded) => {
                matches!(read(event), Some(EventData::TurnEnded(turn)) if turn.turn_id == *id)
            }
            (Self::Running, T::TurnEnded) => true,
            _ => false,
        }
    }
}

fn read(event: &StoredEvent) -> Option<EventData> {
    let read = serde_json::from_slice::<UniversalEvent>(&event.json);
    read.inspect_err(|error| tracing::error!(seq = event.seq, %error, "a stored turn event cannot be read"))
        .ok()
        .map(|event| event.data)
}

/// A row leaves the queue in the transaction of its `turn.started`, so once everything up to a state without
/// the message is read, a turn for it would have been seen.
async fn is_dropped(hub: &Hub, id: &SessionId, posted: &Posted, read: u64) -> Result<bool, RuntimeError> {
    let detail = hub.detail(id).await?;
    let queue = detail.state.queue.unwrap_or_default();
    let waits =
        queue.inline().is_none_or(|queue| queue.iter().any(|queued| queued.message_id == posted.message_id));
    Ok(!waits && detail.info.event_count <= read)
}
