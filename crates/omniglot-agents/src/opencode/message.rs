//! Messages as whole records: who wrote them, what they used, how they ended.

use omniglot_schema::{ContentPart, ContextFill, ItemRole, StatePatch, StatusLabel};
use omniglot_timeline::{Body, ItemKey};

use super::settings::completed;
use super::translate::{Whose, state, whole_item};
use super::turn::Turn;
use super::usage::{Spender, usage_of};
use super::wire::{Assistant, By, Message, Times, User};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output, SettingsRequest};
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
            By::User(user) => self.user(id, &whose, user, out),
            By::Assistant(assistant) => {
                let author = if assistant.summary { Author::Summary } else { Author::Assistant };
                let is_new = self.authors.insert(id.clone(), author).is_none();
                if self.is_copy(&whose, &assistant.time) {
                    self.copied.insert(id);
                    return out.push(dropped(DropReason::Replay));
                }
                self.assistant(&id, is_new, &whose, &assistant, out);
            }
        }
    }

    fn user(&mut self, id: String, whose: &Whose, user: User, out: &mut Vec<Output>) {
        let is_new = self.authors.insert(id.clone(), Author::User).is_none();
        if self.is_copy(whose, &user.time) {
            self.copied.insert(id);
            return out.push(dropped(DropReason::Replay));
        }
        if *whose == Whose::Mine && id > self.floor {
            let is_prompt = self.turn.as_mut().is_some_and(|turn| turn.was_prompted_by(&id));
            self.addressed.extend(user.agent.map(|agent| (id.clone(), agent)));
            let steered = self.turn.as_mut().filter(|_| is_new && !is_prompt).and_then(Turn::next_steered);
            if is_prompt || steered.is_some() {
                return out.push(Draft::UserEcho { item: steered, native_id: id }.into());
            }
        }
        out.push(dropped(DropReason::Echo));
    }

    /// Returns whether a message is older than its session: a fork copied it. (Whether it was complete when it was
    /// first seen tells nothing: a busy server tells events late, as their records are by then.)
    fn is_copy(&self, whose: &Whose, time: &Times) -> bool {
        let older = self.born.zip(time.created).is_some_and(|(born, created)| created < born);
        *whose == Whose::Mine && older
    }

    fn assistant(
        &mut self,
        id: &str,
        is_new: bool,
        whose: &Whose,
        message: &Assistant,
        out: &mut Vec<Output>,
    ) {
        // A turn that failed ends before its last message is told for the last time: that is no news of the next.
        if *whose == Whose::Mine && id <= self.floor.as_str() {
            return;
        }
        if is_new && *whose == Whose::Mine {
            self.ensure_turn(out);
        }
        let Some(turn) = &mut self.turn else { return };
        if is_new && *whose == Whose::Mine {
            turn.begins_again();
            // It works, even if the word for it was missed.
            turn.busy = true;
        }
        let spender = if *whose == Whose::Mine { Spender::Itself } else { Spender::Subagents };
        turn.account(id, message, spender);
        if *whose == Whose::Mine && turn.is_newest(id) {
            turn.finish.clone_from(&message.finish);
            turn.complete = message.time.completed.is_some();
            if let Some(error) = &message.error
                && turn.failure.is_none()
            {
                turn.fails(error);
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
            let used = usage_of(tokens)?.total_tokens?;
            (window > 0).then_some(ContextFill { used, window })
        });
        let patch = StatePatch { context: context.map(Some), ..self.settings_of(message, model) };
        let mode = patch.agent_mode.clone().flatten();
        state(patch, out);
        let turn = self.turn.as_mut();
        if let Some(mode) = mode.filter(|mode| turn.is_some_and(|turn| turn.leaves_its_mode(mode))) {
            self.told(StatusLabel::ModeChanged, mode, None, out);
        }
    }

    fn settings_of(&mut self, message: &Assistant, model: String) -> StatePatch {
        // A command may have a model and an agent of its own, for as long as it runs, and so has a subtask.
        let of_command = self.turn.as_ref().is_some_and(Turn::is_of_command) && self.settings.known;
        if of_command || self.is_of_another(message) {
            return StatePatch::default();
        }
        self.settings.known = true;
        // Compaction and titles have agents of their own, which are no modes of the session.
        let mode = message.agent.clone().filter(|agent| self.settings.has_mode(agent));
        StatePatch {
            model: Some(Some(model)),
            variant: Some(message.variant.clone()),
            permission_mode: mode.as_deref().and_then(|mode| self.follow(mode)).map(Some),
            agent_mode: mode.map(Some),
            ..StatePatch::default()
        }
    }

    /// Whether another agent has written it than the one that was addressed.
    fn is_of_another(&self, message: &Assistant) -> bool {
        let addressed = message.answers.as_ref().and_then(|user| self.addressed.get(user));
        addressed.zip(message.agent.as_ref()).is_some_and(|(addressed, agent)| addressed != agent)
    }

    /// An approved plan hands over to the agent that builds: the next prompt goes to it, too. Returns the
    /// permission mode, if that changes with the agent.
    fn follow(&mut self, mode: &str) -> Option<String> {
        self.requested.agent_mode.as_mut().filter(|requested| *requested != mode)?;
        let now = (None, self.requested.permission_mode.as_deref());
        let followed = completed(
            SettingsRequest { agent_mode: Some(mode.to_owned()), ..SettingsRequest::default() },
            now,
        );
        let permission_mode = followed.permission_mode.clone();
        self.requested = followed.or(std::mem::take(&mut self.requested));
        permission_mode
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
            self.tell_background(out);
        }
    }
}
