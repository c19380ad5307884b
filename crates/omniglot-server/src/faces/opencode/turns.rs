//! Waits for the end of the turn that answers a message.

use omniglot_runtime::{Hub, Posted, RuntimeError};
use omniglot_schema::{
    Delivered, EventData, MessageId, SessionDetail, SessionId, TurnId, UniversalEvent, UniversalEventType,
};
use omniglot_store::{Next, StoredEvent};

/// The bytes of the log that are read at once.
const BATCH: usize = 256 << 10;

/// The result of the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ended,
    /// The message was removed from the queue, or its session is gone: no turn will answer it.
    Dropped,
}

/// Returns when the turn of `posted` has ended.
pub(crate) async fn end_of(hub: &Hub, id: &SessionId, posted: &Posted) -> Result<Outcome, RuntimeError> {
    let record = hub.record(id).await?;
    let mut log = hub.subscribe(&record, posted.after);
    let mut wait = Wait::new(posted);
    loop {
        let Next::Events(events) = log.next(BATCH).await? else { return Ok(Outcome::Dropped) };
        if events.iter().any(|event| wait.ends_with(event)) {
            return Ok(Outcome::Ended);
        }
        if wait.asks_for_the_queue() && wait.is_dropped(&hub.detail(id).await?, log.cursor()) {
            return Ok(Outcome::Dropped);
        }
    }
}

/// The known facts of a message.
struct Wait {
    message: MessageId,
    awaited: Awaited,
    /// The queue may have changed since it was read.
    queue_changed: bool,
}

/// The turn to wait for.
enum Awaited {
    /// The turn that answers the message.
    Message,
    Turn(TurnId),
    Running,
}

impl Wait {
    fn new(posted: &Posted) -> Self {
        let awaited = match posted.delivered {
            Delivered::Steered => Awaited::Running,
            Delivered::Started | Delivered::Queued => Awaited::Message,
        };
        Self { message: posted.message_id.clone(), awaited, queue_changed: false }
    }

    fn ends_with(&mut self, event: &StoredEvent) -> bool {
        use UniversalEventType as T;
        self.queue_changed |= matches!(event.kind, T::SessionUpdated | T::SessionEnded);
        match (&self.awaited, event.kind) {
            (Awaited::Message, T::TurnStarted) => {
                if let Some(EventData::TurnStarted(turn)) = read(event)
                    && turn.metadata.message_id.as_ref() == Some(&self.message)
                {
                    self.awaited = Awaited::Turn(turn.turn_id);
                }
                false
            }
            (Awaited::Turn(id), T::TurnEnded) => {
                matches!(read(event), Some(EventData::TurnEnded(turn)) if turn.turn_id == *id)
            }
            (Awaited::Running, T::TurnEnded) => true,
            _ => false,
        }
    }

    fn asks_for_the_queue(&self) -> bool {
        self.queue_changed && matches!(self.awaited, Awaited::Message)
    }

    /// A row leaves the queue in the transaction of its `turn.started`, so once everything up to a state
    /// without the message is read, a turn for it would have been seen. Until then the queue is checked again
    /// with each further event.
    fn is_dropped(&mut self, session: &SessionDetail, read: u64) -> bool {
        let queue = session.state.queue.as_ref();
        let waits = queue.is_some_and(|queue| {
            queue.inline().is_none_or(|queue| queue.iter().any(|queued| queued.message_id == self.message))
        });
        self.queue_changed = !waits;
        !waits && session.info.event_count <= read
    }
}

fn read(event: &StoredEvent) -> Option<EventData> {
    let read = serde_json::from_slice::<UniversalEvent>(&event.json);
    read.inspect_err(|error| tracing::error!(seq = event.seq, %error, "a stored turn event cannot be read"))
        .ok()
        .map(|event| event.data)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn posted() -> Posted {
        Posted { message_id: MessageId("msg_b".into()), delivered: Delivered::Queued, after: 3 }
    }

    fn event(seq: u64, kind: UniversalEventType, data: Value) -> StoredEvent {
        let json = json!({ "event_id": "evt_1", "sequence": seq, "time": "2026-11-16T00:00:00Z",
            "session_id": "s", "source": "daemon", "synthetic": true, "type": kind, "data": data });
        StoredEvent { seq, kind, json: json.to_string().into(), frame_no: None }
    }

    /// A session with that many events, and these messages in its queue.
    fn session(events: u64, queue: &[&str]) -> SessionDetail {
        let queue: Vec<_> = queue.iter().map(|id| json!({ "message_id": id, "message": "hi" })).collect();
        let text = json!({
            "sessionId": "s", "agent": "mock", "agentMode": "build", "permissionMode": "default",
            "model": null, "variant": null, "nativeSessionId": null, "ended": false, "eventCount": events,
            "createdAt": 0, "updatedAt": 0, "directory": "/", "title": null, "status": "idle",
            "state": { "queue": queue }, "pending": [], "stats": {},
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_dropped_message_is_noticed_also_when_the_log_was_ahead_of_the_look() {
        let mut wait = Wait::new(&posted());
        assert!(!wait.ends_with(&event(4, UniversalEventType::SessionUpdated, json!({ "queue": null }))));
        assert!(wait.asks_for_the_queue() && !wait.is_dropped(&session(6, &[]), 4), "more is to be read");
        let ended = json!({ "phase": "ended", "turn_id": "turn_a",
            "metadata": { "stop_reason": "cancelled", "duration_ms": 1 } });
        assert!(!wait.ends_with(&event(6, UniversalEventType::TurnEnded, ended)));
        assert!(wait.asks_for_the_queue() && wait.is_dropped(&session(6, &[]), 6));
    }

    #[test]
    fn a_message_that_waits_is_looked_for_only_when_the_queue_changes() {
        let mut wait = Wait::new(&posted());
        assert!(!wait.asks_for_the_queue());
        wait.ends_with(&event(4, UniversalEventType::SessionUpdated, json!({})));
        assert!(wait.asks_for_the_queue() && !wait.is_dropped(&session(4, &["msg_a", "msg_b"]), 4));
        assert!(!wait.asks_for_the_queue());
        let started = json!({ "phase": "started", "turn_id": "turn_b",
            "metadata": { "origin": "user", "message_id": "msg_b" } });
        wait.ends_with(&event(5, UniversalEventType::TurnStarted, started));
        wait.ends_with(&event(6, UniversalEventType::SessionUpdated, json!({ "queue": null })));
        assert!(!wait.asks_for_the_queue(), "it has a turn");
    }
}
