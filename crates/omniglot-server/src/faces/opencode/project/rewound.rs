//! The part of the conversation that was taken back. Clients hide it from a message on, and forget it when another
//! turn begins, as OpenCode's own server does; the log keeps it.

use omniglot_schema::TurnId;

use super::Projector;
use super::diffs::Diffs;
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{MessageInfo, MessageWithParts, Payload, SessionRevert};

/// A turn, and the messages of the user in it; none in a turn that the agent began by itself.
#[derive(Debug, Clone)]
pub(super) struct BegunTurn {
    pub(super) id: TurnId,
    pub(super) users: Vec<Id>,
}

impl Projector {
    /// Returns the turns from that of the message on, oldest first. An answer stands for the message that it answers.
    pub fn turns_from(&self, message: &str) -> Option<Vec<TurnId>> {
        let user = match &self.message(message)?.info {
            MessageInfo::User(user) => &user.id,
            MessageInfo::Assistant(assistant) => &assistant.parent_id,
        };
        let place = self.turns.iter().position(|turn| turn.users.contains(user))?;
        Some(self.turns.iter().skip(place).map(|turn| turn.id.clone()).collect())
    }

    /// Returns the turn whose first message of the user this is.
    pub fn turn_begun_by(&self, message: &str) -> Option<TurnId> {
        let begins = |turn: &&BegunTurn| turn.users.first().is_some_and(|user| user.as_str() == message);
        self.turns.iter().find(begins).map(|turn| turn.id.clone())
    }

    /// Returns the turns that are taken back, oldest first.
    pub fn taken_back(&self) -> Vec<TurnId> {
        let from = self.hidden_from.as_ref().and_then(|message| self.turns_from(message.as_str()));
        from.unwrap_or_default()
    }

    pub(super) fn revert(&self) -> Option<SessionRevert> {
        let message_id = self.hidden_from.clone()?;
        let hidden = self.messages().iter().skip_while(|message| *message.info.id() != message_id);
        let diff: String = diffs_of(hidden).all().into_iter().map(|diff| diff.patch).collect();
        Some(SessionRevert { message_id, diff: (!diff.is_empty()).then_some(diff) })
    }

    pub(super) fn reverted_from_is(&mut self, turn: Option<&TurnId>) {
        let found = turn.and_then(|turn| self.turns.iter().find(|begun| begun.id == *turn));
        self.hidden_from = found.and_then(|begun| begun.users.first().cloned());
    }

    /// The conversation goes on from where it was taken back to.
    pub(super) fn forget_hidden(&mut self) {
        let Some(from) = self.hidden_from.take() else { return };
        let messages = self.messages().iter().map(|message| message.info.id().clone());
        let hidden: Vec<Id> = messages.skip_while(|id| *id != from).collect();
        for message_id in hidden {
            self.say(Payload::MessageRemoved { session_id: self.id.clone(), message_id });
        }
        let is_of_others = |turn: &BegunTurn| !turn.users.contains(&from);
        let left = self.turns.iter().take_while(|turn| is_of_others(turn)).count();
        self.turns.truncate(left);
        self.user = self.turns.iter().rev().find_map(|turn| turn.users.last().cloned());
        self.diffs = diffs_of(self.messages().iter());
        self.say_session();
    }
}

fn diffs_of<'a>(messages: impl Iterator<Item = &'a MessageWithParts>) -> Diffs {
    let mut diffs = Diffs::default();
    for message in messages {
        if let MessageInfo::User(user) = &message.info {
            user.summary.iter().flat_map(|summary| summary.diffs.clone()).for_each(|diff| diffs.add(diff));
        }
    }
    diffs
}
