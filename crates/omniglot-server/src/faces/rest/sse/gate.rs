//! Selects the events of the log that a stream sends: all, or those of the turn that answers one message.

use omniglot_schema::{MessageId, TurnId, UniversalEventType};
use omniglot_store::StoredEvent;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gate {
    All,
    /// Nothing until the turn that answers this message begins.
    Message(MessageId),
    /// Everything until this turn ends.
    Turn(TurnId),
    /// Everything until the running turn ends.
    Running,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Skip,
    Send,
    /// Send the event and end.
    Last,
}

impl Gate {
    pub(super) fn pass(&mut self, event: &StoredEvent) -> Pass {
        use UniversalEventType::{TurnEnded, TurnStarted};
        match (&*self, event.kind) {
            (Self::Message(message), TurnStarted) => match Turn::read(event) {
                Some(turn) if turn.takes(message) => {
                    *self = Self::Turn(turn.turn_id);
                    Pass::Send
                }
                _ => Pass::Skip,
            },
            (Self::Message(_), _) => Pass::Skip,
            (Self::Turn(id), TurnEnded) if Turn::read(event).is_some_and(|turn| turn.turn_id == *id) => {
                Pass::Last
            }
            (Self::Running, TurnEnded) => Pass::Last,
            (Self::All | Self::Turn(_) | Self::Running, _) => Pass::Send,
        }
    }

    pub(super) fn waits_for(&self) -> Option<&MessageId> {
        match self {
            Self::Message(message) => Some(message),
            Self::All | Self::Turn(_) | Self::Running => None,
        }
    }
}

pub(super) fn may_change_queue(event: &StoredEvent) -> bool {
    matches!(event.kind, UniversalEventType::SessionUpdated | UniversalEventType::SessionEnded)
}

/// The members of both turn events that are needed here.
#[derive(Deserialize)]
struct Turn {
    turn_id: TurnId,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    message_id: Option<MessageId>,
}

impl Turn {
    fn read(event: &StoredEvent) -> Option<Self> {
        #[derive(Deserialize)]
        struct Event {
            data: Turn,
        }
        match serde_json::from_slice::<Event>(&event.json) {
            Ok(event) => Some(event.data),
            Err(error) => {
                tracing::error!(seq = event.seq, %error, "a stored turn event cannot be read");
                None
            }
        }
    }

    fn takes(&self, message: &MessageId) -> bool {
        self.metadata.message_id.as_ref() == Some(message)
    }
}
