//! The sessions of subagents: what a subagent does belongs to a session of its own below the one that started it, as
//! in OpenCode. It begins with the first thing that the subagent says or does, and takes no messages.

use omniglot_schema::CallId;
use serde_json::Value;

use super::Projector;
use super::messages::Messages;
use super::user::text_part;
use crate::faces::opencode::wire::ids::{self, Id};
use crate::faces::opencode::wire::{
    AssistantMessage, MessageInfo, MessageWithParts, PartBody, Payload, Session, SessionTime, Tokens,
    UserMessage, UserTime,
};

/// One subagent.
#[derive(Debug, Clone)]
pub(super) struct Subagent {
    /// The call that started it.
    call: CallId,
    pub(super) id: Id,
    parent: Id,
    title: String,
    created: i64,
    user: Id,
    assistant: Id,
    is_done: bool,
    pub(super) messages: Messages,
}

impl Projector {
    /// Returns the messages of a subagent's session.
    pub fn messages_of(&self, subagent: &str) -> Option<&[MessageWithParts]> {
        Some(self.subagent(subagent)?.messages.messages())
    }

    /// Returns the record of a subagent's session.
    pub fn session_of(&self, subagent: &str) -> Option<Session> {
        self.subagent(subagent).map(|subagent| self.record(subagent))
    }

    /// Returns the records of the sessions directly below one.
    pub fn below(&self, session: &str) -> Vec<Session> {
        let below = self.subagents.iter().filter(|subagent| subagent.parent.as_str() == session);
        below.map(|subagent| self.record(subagent)).collect()
    }

    /// Returns the records of the sessions of all subagents.
    pub fn subagent_sessions(&self) -> Vec<Session> {
        self.subagents.iter().map(|subagent| self.record(subagent)).collect()
    }

    /// Returns the messages of the subagents that work.
    pub fn working_subagents(&self) -> impl Iterator<Item = &MessageWithParts> {
        let working = self.subagents.iter().filter(|subagent| !subagent.is_done);
        working.flat_map(|subagent| subagent.messages.messages())
    }

    fn subagent(&self, id: &str) -> Option<&Subagent> {
        self.subagents.iter().find(|subagent| subagent.id.as_str() == id)
    }

    fn record(&self, subagent: &Subagent) -> Session {
        Session {
            id: subagent.id.clone(),
            slug: subagent.id.to_string(),
            parent_id: Some(subagent.parent.clone()),
            summary: None,
            revert: None,
            cost: 0.0,
            tokens: Tokens::default(),
            title: subagent.title.clone(),
            time: SessionTime { created: subagent.created, updated: self.now, compacting: None },
            ..self.session()
        }
    }

    /// Returns the session that a message belongs to.
    pub(super) fn session_with(&self, message: &Id) -> Id {
        let has = |subagent: &&Subagent| subagent.user == *message || subagent.assistant == *message;
        self.subagents.iter().find(has).map_or(&self.id, |subagent| &subagent.id).clone()
    }

    /// Returns the message of the main agent, or of the subagent that the call started.
    pub(super) fn message_within(&mut self, within: Option<&CallId>) -> Option<Id> {
        let Some(call) = within else { return self.assistant() };
        if let Some(known) = self.subagents.iter().find(|subagent| subagent.call == *call) {
            return Some(known.assistant.clone());
        }
        self.assistant()?;
        Some(self.begin_subagent(call.clone()))
    }

    fn begin_subagent(&mut self, call: CallId) -> Id {
        let (user, assistant) = (self.ids.message(self.now), self.ids.message(self.now));
        let started = self.calls.values().find(|part| part.call_id == call);
        let word = |word: &str| started.and_then(|part| part.input.get(word)).and_then(Value::as_str);
        let title = word("description").unwrap_or("Subagent").to_owned();
        let prompt = word("prompt").unwrap_or(&title).to_owned();
        let parent = started.map_or_else(|| self.id.clone(), |part| self.session_with(&part.message));
        let id = ids::subagent(&self.id, self.subagents.len() + 1);
        let subagent = Subagent {
            call: call.clone(),
            id: id.clone(),
            parent,
            title,
            created: self.now,
            user: user.clone(),
            assistant: assistant.clone(),
            is_done: false,
            messages: Messages::default(),
        };
        let info = Box::new(self.record(&subagent));
        self.subagents.push(subagent);
        // The terminal interface learns of sessions by the second of these alone.
        self.say(Payload::SessionCreated { session_id: id.clone(), info: info.clone() });
        self.say(Payload::SessionUpdated { session_id: id.clone(), info });
        self.say_message(MessageInfo::User(UserMessage {
            id: user.clone(),
            session_id: id.clone(),
            time: UserTime { created: self.now },
            summary: None,
            agent: self.mode(),
            model: self.model(),
        }));
        self.add_part(user.clone(), text_part(prompt));
        let begun = self.begun(assistant.clone(), user);
        self.say_message(MessageInfo::Assistant(Box::new(AssistantMessage {
            session_id: id.clone(),
            ..begun
        })));
        self.add_part(assistant.clone(), PartBody::StepStart {});
        self.show_subagent(&call, id);
        assistant
    }

    /// Closes the message of the subagent that the call started.
    pub(super) fn end_subagent(&mut self, call: &CallId) {
        let open = self.subagents.iter_mut().find(|subagent| subagent.call == *call && !subagent.is_done);
        let Some(subagent) = open else { return };
        subagent.is_done = true;
        let Some(MessageInfo::Assistant(known)) = subagent.messages.info(&subagent.assistant).cloned() else {
            return;
        };
        let mut message = known;
        message.time.completed = Some(self.now);
        message.finish = Some("stop");
        self.say_message(MessageInfo::Assistant(message));
    }

    /// Closes the messages of all subagents: their turn is over.
    pub(super) fn end_subagents(&mut self) {
        let open = self.subagents.iter().filter(|subagent| !subagent.is_done);
        let calls: Vec<_> = open.map(|subagent| subagent.call.clone()).collect();
        calls.iter().for_each(|call| self.end_subagent(call));
    }
}
