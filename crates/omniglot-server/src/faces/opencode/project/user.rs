//! The user's messages: those that wait for their turn, and those that were delivered.
//!
//! A message that waits is shown at once, as OpenCode does; when its turn comes it keeps its ids.

use omniglot_schema::{ContentPart, Listed, MessageAttachment, MessageId, QueuedMessage, uri};
use omniglot_timeline::view::Message;

use super::Projector;
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{
    Attachment, MessageInfo, PartBody, Payload, Status, UserMessage, UserTime,
};

/// How the address of a file begins that holds the file itself.
const INLINE: &str = "data:";

/// A message in the queue, and what it is called here.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    posted: MessageId,
    id: Id,
}

impl Projector {
    /// The queue is now this: what is new is shown, and what nobody will deliver is taken away.
    pub(super) fn queue_is(&mut self, queue: Option<&Listed<QueuedMessage>>) {
        let queue = match queue {
            None => &[][..],
            // A queue too long to stand in the event is shown as far as it was known.
            Some(listed) => match listed.inline() {
                Some(queue) => queue,
                None => return,
            },
        };
        self.forget_dropped(queue);
        for message in queue {
            self.show_waiting(message);
        }
        if self.turn.is_none() {
            // Something waits for nothing but its agent to start: to the client, it runs.
            self.say_status(if queue.is_empty() { Status::Idle } else { Status::Busy });
        }
    }

    fn forget_dropped(&mut self, queue: &[QueuedMessage]) {
        let is_there = |waiting: &Waiting| queue.iter().any(|queued| queued.message_id == waiting.posted);
        let (kept, dropped) = std::mem::take(&mut self.waiting).into_iter().partition(is_there);
        self.waiting = kept;
        for Waiting { id, .. } in dropped {
            self.say(Payload::MessageRemoved { session_id: self.id.clone(), message_id: id });
        }
    }

    fn show_waiting(&mut self, message: &QueuedMessage) {
        if self.waiting.iter().any(|waiting| waiting.posted == message.message_id) {
            return;
        }
        let delivered =
            self.turn.as_ref().is_some_and(|turn| turn.posted.as_ref() == Some(&message.message_id));
        if delivered {
            return;
        }
        self.forget_hidden();
        let id = self.name_message(&message.client_ids);
        self.say_user(id.clone());
        let text = std::iter::once(text_part(message.message.clone()));
        let files = message.attachments.iter().map(|file| PartBody::File(attached(file)));
        self.say_parts(&id, text.chain(files).collect(), &message.client_ids);
        self.waiting.push(Waiting { posted: message.message_id.clone(), id });
    }

    pub(super) fn user_started(&mut self, message: &Message) {
        if message.within.is_some() {
            return;
        }
        let Some(turn) = &self.turn else { return };
        let (first, client_ids) = (turn.user.is_none(), turn.client_ids.clone());
        let place = self.waiting.iter().position(|waiting| Some(&waiting.posted) == turn.posted.as_ref());
        let id = match place.filter(|_| first) {
            Some(place) => self.waiting.remove(place).id,
            None if first => self.name_message(&client_ids),
            None => {
                self.leave_assistant();
                self.ids.message(self.now)
            }
        };
        self.say_user(id.clone());
        self.user_is(id.clone());
        if let Some(turn) = &mut self.turn {
            turn.user = Some(id.clone());
            turn.user_items.push((message.item.item_id.clone(), id.clone()));
        }
        // An agent may take its time to name the message, and its words are here already.
        self.say_parts(&id, message.item.content.iter().filter_map(said).collect(), &client_ids);
    }

    /// The turn that runs answers this message.
    pub(super) fn user_is(&mut self, id: Id) {
        self.turns.last_mut().into_iter().for_each(|turn| turn.users.push(id.clone()));
        self.user = Some(id);
    }

    pub(super) fn user_completed(&mut self, message: &Message) {
        // The prompt of a subagent is the input of its call.
        if message.within.is_some() {
            return;
        }
        let Some(turn) = &self.turn else { return };
        let known = turn.user_items.iter().find(|(item, _)| *item == message.item.item_id);
        let Some((_, id)) = known.cloned() else { return };
        let client_ids = turn.client_ids.clone();
        self.say_parts(&id, message.item.content.iter().filter_map(said).collect(), &client_ids);
        self.assistant();
    }

    /// The client's own name for its message, unless it is taken.
    fn name_message(&mut self, client_ids: &[String]) -> Id {
        let requested = client_ids.first().filter(|requested| self.messages.message(requested).is_none());
        let adopted = requested.and_then(|requested| self.ids.adopt("msg", requested, self.now));
        adopted.unwrap_or_else(|| self.ids.message(self.now))
    }

    /// Tells a message of the user, unless that is known.
    pub(super) fn say_user(&mut self, id: Id) {
        let known = self.messages.info(&id).cloned();
        let created = match &known {
            Some(MessageInfo::User(user)) => user.time.created,
            _ => self.now,
        };
        let info = MessageInfo::User(UserMessage {
            id,
            session_id: self.id.clone(),
            time: UserTime { created },
            summary: None,
            agent: self.mode(),
            model: self.model(),
        });
        if known.as_ref() != Some(&info) {
            self.say_message(info);
        }
    }

    /// Tells the parts of a user's message, those that are new or different.
    fn say_parts(&mut self, message: &Id, bodies: Vec<PartBody>, client_ids: &[String]) {
        for (place, body) in bodies.into_iter().enumerate() {
            let known = self.messages.message(message.as_str()).and_then(|message| message.parts.get(place));
            let (known, body) = match known {
                Some(known) => (Some(known.id.clone()), news(&known.body, body)),
                None => (None, Some(body)),
            };
            let Some(body) = body else { continue };
            let requested = client_ids.get(place + 1);
            let id = known.or_else(|| self.ids.adopt("prt", requested?, self.now));
            let id = id.unwrap_or_else(|| self.ids.part(self.now));
            self.say_part(id, message.clone(), body);
        }
    }
}

/// Returns the changed body of a part; `None` when clients know it already.
///
/// A file keeps its name and the address by which its client knows it, although the agent may have been given
/// a copy; a picture is told once more, since only now it is there to be looked at.
fn news(known: &PartBody, body: PartBody) -> Option<PartBody> {
    match (known, body) {
        (PartBody::File(known), PartBody::File(now)) => {
            let shown = now.url.starts_with(INLINE) && known.url != now.url;
            shown.then(|| PartBody::File(Attachment { url: now.url, ..known.clone() }))
        }
        (known, body) => (*known != body).then_some(body),
    }
}

fn said(part: &ContentPart) -> Option<PartBody> {
    match part {
        ContentPart::Text { text } => Some(text_part(text.clone())),
        ContentPart::FileRef { path, .. } => Some(PartBody::File(file(path, "text/plain"))),
        ContentPart::Image { path, mime } => Some(PartBody::File(image(path, mime.as_deref()))),
        ContentPart::Json { json } => Some(text_part(json.to_string())),
        ContentPart::ToolCall { .. }
        | ContentPart::ToolResult { .. }
        | ContentPart::Reasoning { .. }
        | ContentPart::Status { .. } => None,
    }
}

pub(super) fn text_part(text: String) -> PartBody {
    PartBody::Text { text, synthetic: None, time: None }
}

fn attached(attachment: &MessageAttachment) -> Attachment {
    let known = file(&attachment.path, attachment.mime.as_deref().unwrap_or("text/plain"));
    Attachment { filename: attachment.filename.clone().or(known.filename), ..known }
}

pub(super) fn image(path: &str, mime: Option<&str>) -> Attachment {
    file(path, mime.unwrap_or("image/png"))
}

/// A file on this machine, or a blob of the session, which has an address of ours.
fn file(path: &str, mime: &str) -> Attachment {
    let is_inline = path.starts_with(INLINE);
    let is_address = path.starts_with("/v1/") || path.contains("://") || is_inline;
    let name = if is_inline {
        mime.replace('/', ".")
    } else {
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    Attachment {
        mime: mime.to_owned(),
        filename: Some(name).filter(|name| !name.is_empty()),
        url: if is_address { path.to_owned() } else { uri::of_path(path) },
    }
}
