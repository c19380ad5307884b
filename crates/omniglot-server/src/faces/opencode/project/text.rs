//! What the agent says and thinks: one part per item, made when it is known which of both it is.

use omniglot_schema::{ContentPart, ItemDeltaData, UniversalItem};
use serde_json::json;

use super::Projector;
use super::user::image;
use crate::faces::opencode::ids::Id;
use crate::faces::opencode::wire::{PartBody, Payload, Record, Span};

/// An item that still grows.
#[derive(Debug, Clone)]
pub(super) struct OpenText {
    part: Option<TextPart>,
    /// The call of the subagent whose words these are.
    subagent: Option<String>,
}

#[derive(Debug, Clone)]
struct TextPart {
    message: Id,
    id: Id,
    start: i64,
    reasoning: bool,
}

impl Projector {
    pub(super) fn text_started(&mut self, item: &UniversalItem) {
        let subagent = self.inside.contains(&item.item_id).then(|| {
            let call = item.parent_id.as_ref().and_then(|parent| self.called.get(parent));
            call.map(|call| call.call_id.clone()).unwrap_or_default()
        });
        self.texts.insert(item.item_id.clone(), OpenText { part: None, subagent });
    }

    pub(super) fn text_grew(&mut self, delta: &ItemDeltaData, reasoning: bool) {
        let Some(mut open) = self.texts.remove(&delta.item_id) else { return };
        if open.part.is_none() && !delta.delta.is_empty() {
            open.part = self.begin_text(reasoning, open.subagent.as_deref());
        }
        if let Some(part) = &open.part {
            let (message_id, part_id) = (part.message.clone(), part.id.clone());
            let (session_id, delta) = (self.id.clone(), delta.delta.clone());
            self.say(Payload::PartDelta { session_id, message_id, part_id, field: "text", delta });
        }
        self.texts.insert(delta.item_id.clone(), open);
    }

    pub(super) fn text_completed(&mut self, item: &UniversalItem) {
        let Some(open) = self.texts.remove(&item.item_id) else { return };
        let (text, reasoning) = words(&item.content);
        let part = match open.part {
            None if !text.is_empty() => self.begin_text(reasoning, open.subagent.as_deref()),
            part => part,
        };
        if let Some(part) = part {
            let time = Span { start: part.start, end: Some(self.now) };
            let body = body(text, part.reasoning, open.subagent.as_deref(), time);
            self.say_part(part.id, part.message, body);
        }
        self.rest_of_message(&item.content);
    }

    /// The agent put this into the conversation by itself.
    pub(super) fn system_said(&mut self, item: &UniversalItem) {
        let (text, _) = words(&item.content);
        let Some(message) = self.assistant().filter(|_| !text.is_empty()) else { return };
        let time = Some(Span { start: self.now, end: Some(self.now) });
        self.add_part(message, PartBody::Text { text, synthetic: Some(true), time });
    }

    fn begin_text(&mut self, reasoning: bool, subagent: Option<&str>) -> Option<TextPart> {
        self.no_retry();
        let message = self.assistant()?;
        let reasoning = reasoning || subagent.is_some();
        let body = body(String::new(), reasoning, subagent, Span { start: self.now, end: None });
        let id = self.add_part(message.clone(), body);
        Some(TextPart { message, id, start: self.now, reasoning })
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

/// The words of an item, and whether they are thoughts.
fn words(content: &[ContentPart]) -> (String, bool) {
    let mut words = String::new();
    let mut thoughts = false;
    for part in content {
        match part {
            ContentPart::Text { text } => words.push_str(text),
            ContentPart::Reasoning { text, .. } => {
                thoughts = true;
                words.push_str(text);
            }
            _ => {}
        }
    }
    (words, thoughts)
}

fn body(text: String, reasoning: bool, subagent: Option<&str>, time: Span) -> PartBody {
    if !reasoning {
        return PartBody::Text { text, synthetic: None, time: Some(time) };
    }
    let metadata = subagent.map(|call| Record::from_iter([("subagent".to_owned(), json!(call))]));
    PartBody::Reasoning { text, metadata, time }
}
