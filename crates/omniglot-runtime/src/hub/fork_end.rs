//! The turn before which a fork ends, and the message that began it: looked for in the log of the origin.

use omniglot_agents::ForkPoint;
use omniglot_schema::{
    ContentPart, EventData, ItemEventData, ItemKind, ItemRole, TurnId, TurnOrigin, UniversalEvent,
};

use crate::error::RuntimeError;

pub(super) struct ForkEnd {
    turn: TurnId,
    /// The native session that is copied.
    native: String,
    point: ForkPoint,
    /// The texts of the user's messages before it, of the same native session.
    earlier: Vec<String>,
    found: bool,
}

/// Where an event stands.
pub(super) enum EventPosition {
    Before,
    Behind,
    /// It is the message that begins the turn.
    Point(ForkPoint),
}

impl ForkEnd {
    pub(super) fn new(turn: TurnId, native: String) -> Self {
        let point = ForkPoint {
            message_id: None,
            native_id: None,
            text: String::new(),
            messages_before: 0,
            same_before: 0,
        };
        Self { turn, native, point, earlier: vec![], found: false }
    }

    /// Reads the events of the origin in their order.
    pub(super) fn position_of(&mut self, event: &UniversalEvent) -> Result<EventPosition, RuntimeError> {
        match &event.data {
            EventData::TurnStarted(data) if data.turn_id == self.turn => {
                self.check(event, data.metadata.origin)?;
                self.found = true;
                self.point.message_id.clone_from(&data.metadata.message_id);
            }
            EventData::TurnEnded(data) if data.turn_id == self.turn => {
                let message = format!("turn {} has no message of the user", self.turn);
                return Err(RuntimeError::unsupported(message));
            }
            EventData::ItemCompleted(data) if is_message_of_user(data) => {
                if self.found {
                    self.point.native_id.clone_from(&data.item.native_item_id);
                    self.point.text = text(data);
                    let is_same = |earlier: &&String| earlier.starts_with(&self.point.text);
                    self.point.same_before = self.earlier.iter().filter(is_same).count();
                    return Ok(EventPosition::Point(self.point.clone()));
                }
                self.point.messages_before += 1;
                if event.native_session_id.as_ref().is_none_or(|native| *native == self.native) {
                    self.earlier.push(text(data));
                }
            }
            _ => {}
        }
        Ok(if self.found { EventPosition::Behind } else { EventPosition::Before })
    }

    /// Whether the session of the agent has the turn at all.
    fn check(&self, event: &UniversalEvent, origin: TurnOrigin) -> Result<(), RuntimeError> {
        let copied = event.metadata.as_ref().and_then(|metadata| metadata.copied_from.as_ref());
        let why = match (copied, &event.native_session_id) {
            _ if origin == TurnOrigin::Agent => "the agent has begun it by itself".to_owned(),
            (Some(origin), _) => format!("it was copied from session {}: fork that one", origin.session),
            (None, Some(native)) if *native != self.native => {
                "the agent has begun a new session of its own since".to_owned()
            }
            _ => return Ok(()),
        };
        Err(RuntimeError::unsupported(format!("turn {} cannot be the end of a fork: {why}", self.turn)))
    }

    pub(super) fn not_found(self) -> RuntimeError {
        let Self { turn, found, .. } = self;
        if found { RuntimeError::Busy } else { RuntimeError::TurnNotFound(turn.to_string()) }
    }
}

fn is_message_of_user(data: &ItemEventData) -> bool {
    data.item.kind == ItemKind::Message && data.item.role == Some(ItemRole::User)
}

fn text(data: &ItemEventData) -> String {
    let texts = data.item.content.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
