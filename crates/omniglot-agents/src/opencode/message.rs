//! Messages as whole records: who wrote them, what they used, how they ended.

use omniglot_schema::{ContentPart, ContextFill, ItemRole, StatePatch};
use omniglot_timeline::{Body, ItemKey};

use super::failure::failure;
use super::translate::{Whose, state, whole_item};
use super::turn::{Account, Turn};
use super::wire::{Assistant, By, Message};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output};
use omniglot_timeline::Origin;

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    User,
    Assistant,
    /// The assistant on behalf of a compaction: text for the model.
    Summary,
}

impl OpenCode {
    pub(crate) fn message(&mut self, message: Message, out: &mut Vec<Output>) {
        let Message { id, session, by } = message;
        let whose = self.whose(&session);
        if whose == Whose::Other {
            return;
        }
        match by {
            By::User => {
                self.authors.insert(id, Author::User);
                out.push(dropped(DropReason::Echo));
            }
            By::Assistant(assistant) => {
                let author = if assistant.summary { Author::Summary } else { Author::Assistant };
                let is_new = self.authors.insert(id.clone(), author).is_none();
                // What is complete when it is first seen is a copy of what was said before the fork.
                if is_new && assistant.time.completed.is_some() && !self.rereads {
                    self.copied.insert(id);
                    return out.push(dropped(DropReason::Replay));
                }
                if self.copied.contains(&id) {
                    return out.push(dropped(DropReason::Replay));
                }
                self.assistant(&id, is_new, &whose, &assistant, out);
            }
        }
    }

    fn assistant(
        &mut self,
        id: &str,
        is_new: bool,
        whose: &Whose,
        message: &Assistant,
        out: &mut Vec<Output>,
    ) {
        if is_new && *whose == Whose::Mine {
            self.ensure_turn(out);
        }
        let Some(turn) = &mut self.turn else { return };
        if is_new && *whose == Whose::Mine {
            // Another attempt: whatever failed before was not the end.
            turn.failure = None;
            // It works, even if the word for it was missed.
            turn.busy = true;
        }
        turn.account(id, Account::of(message, *whose != Whose::Mine));
        if *whose == Whose::Mine {
            turn.finish.clone_from(&message.finish);
            if let Some(error) = &message.error
                && turn.failure.is_none()
            {
                turn.failure = Some(failure(error));
            }
            if !message.summary {
                self.tell_settings(message, out);
            }
            self.structured(id, message, out);
        }
    }

    fn tell_settings(&mut self, message: &Assistant, out: &mut Vec<Output>) {
        let (Some(provider), Some(model)) = (&message.provider, &message.model) else { return };
        let model = format!("{provider}/{model}");
        let context = message.time.completed.and(message.tokens).and_then(|tokens| {
            let window = *self.settings.windows.get(&model)?;
            let used =
                tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write;
            (used > 0 && window > 0).then_some(ContextFill { used, window })
        });
        // Compaction and titles have agents of their own, which are no modes of the session.
        let mode = message.agent.clone().filter(|agent| self.settings.has_mode(agent));
        let patch = StatePatch {
            model: Some(Some(model)),
            variant: message.variant.clone().map(Some),
            agent_mode: mode.map(Some),
            context: context.map(Some),
            ..StatePatch::default()
        };
        state(patch, out);
    }

    fn structured(&mut self, id: &str, message: &Assistant, out: &mut Vec<Output>) {
        let key = format!("structured:{id}");
        let Some(json) = message.structured.clone().filter(|_| self.once.insert(key.clone())) else {
            return;
        };
        let body = Body::Message { role: ItemRole::Assistant, parts: vec![ContentPart::Json { json }] };
        whole_item(ItemKey(key), None, body, out);
    }

    /// Somebody else has prompted, or OpenCode itself: whatever it says belongs to a turn.
    pub(crate) fn ensure_turn(&mut self, out: &mut Vec<Output>) {
        if self.turn.is_none() && self.session.is_some() {
            self.turn = Some(Turn::unasked());
            out.push(Draft::TurnStarted(Origin::Agent).into());
        }
    }
}
