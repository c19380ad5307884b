//! Text and reasoning parts: one part per item, made when its kind is known.

use omniglot_schema::{ContentPart, ItemKind};
use omniglot_timeline::view::Message;

use super::user::image;
use super::{Projector, is_of_user};
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{PartBody, Payload, Span};

/// The part of a message that still grows.
#[derive(Debug, Clone)]
pub(super) struct TextPart {
    message: Id,
    id: Id,
    start: i64,
    reasoning: bool,
}

impl Projector {
    pub(super) fn text_grew(&mut self, message: &Message, delta: &str) {
        let item = &message.item.item_id;
        let is_said = message.item.kind == ItemKind::Message && !is_of_user(message);
        if is_said && !delta.is_empty() && !self.texts.contains_key(item) {
            let part = self.begin_text(message);
            self.texts.extend(part.map(|part| (item.clone(), part)));
        }
        if let Some(part) = self.texts.get(item) {
            let (message_id, part_id) = (part.message.clone(), part.id.clone());
            let (session_id, delta) = (self.session_with(&message_id), delta.to_owned());
            self.say(Payload::PartDelta { session_id, message_id, part_id, field: "text", delta });
        }
    }

    pub(super) fn text_completed(&mut self, message: Message) {
        let part = match self.texts.remove(&message.item.item_id) {
            None if !message.text.is_empty() => self.begin_text(&message),
            part => part,
        };
        if let Some(part) = part {
            let time = Span { start: part.start, end: Some(self.now) };
            self.say_part(part.id, part.message, body(message.text, part.reasoning, time));
        }
        if message.within.is_none() {
            self.rest_of_message(&message.item.content);
        }
    }

    /// The agent put this into the conversation by itself.
    pub(super) fn system_said(&mut self, message: Message) {
        let text = message.text;
        let Some(message) = self.assistant().filter(|_| !text.is_empty()) else { return };
        let time = Some(Span { start: self.now, end: Some(self.now) });
        self.add_part(message, PartBody::Text { text, synthetic: Some(true), time });
    }

    fn begin_text(&mut self, said: &Message) -> Option<TextPart> {
        self.no_retry();
        let message = self.message_within(said.within.as_ref())?;
        let body = body(String::new(), said.reasoning, Span { start: self.now, end: None });
        let id = self.add_part(message.clone(), body);
        Some(TextPart { message, id, start: self.now, reasoning: said.reasoning })
    }

    /// Pictures, and the structured answer that was asked for.
    fn rest_of_message(&mut self, content: &[ContentPart]) {
        for part in content {
            let Some(message) = self.turn.as_ref().and_then(|turn| turn.assistant.clone()) else { return };
            match part {
                ContentPart::Image { path, mime } => {
                    self.add_part(message, PartBody::File(image(path, mime.as_deref())));
                }
                ContentPart::Json { json } => {
                    self.change_assistant(&message, |info, _| info.structured = Some(json.clone()));
                }
                _ => {}
            }
        }
    }
}

fn body(text: String, reasoning: bool, time: Span) -> PartBody {
    if reasoning {
        PartBody::Reasoning { text, metadata: None, time }
    } else {
        PartBody::Text { text, synthetic: None, time: Some(time) }
    }
}
