//! The messages of a session, changed by the events that tell of them.

use std::collections::HashMap;

use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{MessageInfo, MessageWithParts, Part, PartBody, Payload};

#[derive(Debug, Clone, Default)]
pub(super) struct Messages {
    messages: Vec<MessageWithParts>,
    places: HashMap<Id, usize>,
}

impl Messages {
    pub(super) fn messages(&self) -> &[MessageWithParts] {
        &self.messages
    }

    pub(super) fn message(&self, id: &str) -> Option<&MessageWithParts> {
        self.messages.get(*self.places.get(&Id::from(id))?)
    }

    pub(super) fn info(&self, id: &Id) -> Option<&MessageInfo> {
        self.messages.get(*self.places.get(id)?).map(|message| &message.info)
    }

    /// Does to the messages what a client does when it hears this.
    pub(super) fn apply(&mut self, payload: &Payload) {
        match payload {
            Payload::MessageUpdated { info, .. } => self.put(info),
            Payload::PartUpdated { part, .. } => self.put_part(part),
            Payload::PartDelta { message_id, part_id, delta, .. } => self.grow(message_id, part_id, delta),
            Payload::MessageRemoved { message_id, .. } => self.remove(message_id),
            _ => {}
        }
    }

    fn put(&mut self, info: &MessageInfo) {
        let known = self.places.get(info.id()).and_then(|place| self.messages.get_mut(*place));
        if let Some(known) = known {
            known.info = info.clone();
            return;
        }
        self.places.insert(info.id().clone(), self.messages.len());
        self.messages.push(MessageWithParts { info: info.clone(), parts: vec![] });
    }

    fn put_part(&mut self, part: &Part) {
        let Some(parts) = self.parts(&part.message_id) else { return };
        match parts.iter_mut().rev().find(|known| known.id == part.id) {
            Some(known) => *known = part.clone(),
            None => parts.push(part.clone()),
        }
    }

    fn grow(&mut self, message: &Id, part: &Id, delta: &str) {
        let parts = self.parts(message);
        let part = parts.and_then(|parts| parts.iter_mut().rev().find(|known| known.id == *part));
        if let Some(PartBody::Text { text, .. } | PartBody::Reasoning { text, .. }) =
            part.map(|part| &mut part.body)
        {
            text.push_str(delta);
        }
    }

    fn remove(&mut self, message: &Id) {
        let Some(place) = self.places.remove(message) else { return };
        self.messages.remove(place);
        self.places.values_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
    }

    fn parts(&mut self, message: &Id) -> Option<&mut Vec<Part>> {
        let place = self.places.get(message)?;
        self.messages.get_mut(*place).map(|message| &mut message.parts)
    }
}
