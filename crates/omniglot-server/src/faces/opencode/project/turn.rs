//! Turns: busy once, one assistant message, idle once, however the turn ends.

use omniglot_schema::{
    ErrorData, ItemId, MessageId, SessionStartedData, StopReason, TurnEndedMetadata, Usage,
};
use omniglot_timeline::view;

use super::diffs::Diffs;
use super::rewound::BegunTurn;
use super::{DEFAULT_MODEL, Projector, failure};
use crate::faces::opencode::wire::ids::{Id, fingerprint};
use crate::faces::opencode::wire::{
    AssistantMessage, AssistantTime, CacheTokens, MessageInfo, MessagePath, OcError, PartBody, Payload,
    Status, Tokens, UserSummary,
};

/// The turn that runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    /// The posted message that it answers.
    pub(super) posted: Option<MessageId>,
    /// The client's own ids of that message and its parts.
    pub(super) client_ids: Vec<String>,
    pub(super) user: Option<Id>,
    /// The items of the user's messages: one that steers may be completed after the next has begun.
    pub(super) user_items: Vec<(ItemId, Id)>,
    pub(super) assistant: Option<Id>,
    pub(super) diffs: Diffs,
    pub(super) retries: u64,
    /// The tokens of the last call of the model, where the agent tells its calls.
    pub(super) last_step: Option<Tokens>,
    error: Option<OcError>,
}

impl Projector {
    pub(super) fn session_started(&mut self, data: &SessionStartedData) {
        let resumed = data.metadata.as_ref().and_then(|metadata| metadata.resumed).unwrap_or(false);
        if !resumed {
            let info = Box::new(self.session());
            self.say(Payload::SessionCreated { session_id: self.id.clone(), info });
        }
    }

    pub(super) fn turn_started(&mut self, turn: &view::Turn) {
        self.forget_hidden();
        self.turns.push(BegunTurn { id: turn.id.clone(), users: vec![] });
        self.say_status(Status::Busy);
        let (posted, client_ids) = (turn.message.clone(), turn.client_ids.clone());
        self.turn = Some(Turn { posted, client_ids, ..Turn::default() });
    }

    pub(super) fn failed(&mut self, data: &ErrorData) {
        let error = failure::error(&self.summary.agent, data);
        self.say(Payload::SessionError { session_id: self.id.clone(), error: error.clone() });
        if let Some(turn) = &mut self.turn {
            turn.error = Some(error);
        }
    }

    pub(super) fn turn_ended(&mut self, end: &TurnEndedMetadata) {
        if end.stop_reason == StopReason::Cancelled {
            let error = failure::aborted();
            self.say(Payload::SessionError { session_id: self.id.clone(), error: error.clone() });
            if let Some(turn) = &mut self.turn {
                turn.error = Some(error);
            }
        }
        // A turn that failed before it said anything still has a message that says so.
        self.assistant();
        self.end_subagents();
        self.calls.clear();
        self.texts.clear();
        let Some(turn) = self.turn.take() else { return };
        let tokens = end.usage.as_ref().map(tokens).unwrap_or_default();
        self.close_assistant(&turn, &tokens, end);
        if !self.is_copy {
            add(&mut self.tokens, &tokens);
        }
        self.say_status(Status::Idle);
        self.say(Payload::SessionIdle { session_id: self.id.clone() });
        self.tell_changes(turn);
        self.say_session();
    }

    /// The assistant's message of this turn, which is made when it is first needed; none outside of turns.
    pub(super) fn assistant(&mut self) -> Option<Id> {
        if let Some(known) = self.turn.as_ref()?.assistant.clone() {
            return Some(known);
        }
        let parent = self.user_of_turn();
        let id = self.ids.message(self.now);
        self.say_message(MessageInfo::Assistant(Box::new(self.begun(id.clone(), parent))));
        self.add_part(id.clone(), PartBody::StepStart {});
        self.turn.as_mut()?.assistant = Some(id.clone());
        Some(id)
    }

    /// A turn that the agent began by itself belongs to what the user said last.
    fn user_of_turn(&mut self) -> Id {
        let of_turn = self.turn.as_ref().and_then(|turn| turn.user.clone());
        match of_turn.or_else(|| self.user.clone()) {
            Some(user) => user,
            None => {
                let id = self.ids.message(self.now);
                self.say_user(id.clone());
                self.user_is(id.clone());
                id
            }
        }
    }

    pub(super) fn begun(&self, id: Id, parent: Id) -> AssistantMessage {
        let model = self.model();
        AssistantMessage {
            id,
            session_id: self.id.clone(),
            time: AssistantTime { created: self.now, completed: None },
            error: None,
            parent_id: parent,
            model_id: model.model_id,
            provider_id: model.provider_id,
            mode: self.mode(),
            agent: self.mode(),
            path: MessagePath { cwd: self.summary.directory.clone(), root: self.summary.directory.clone() },
            summary: None,
            cost: 0.0,
            tokens: Tokens::default(),
            structured: None,
            variant: model.variant,
            finish: None,
        }
    }

    fn close_assistant(&mut self, turn: &Turn, tokens: &Tokens, end: &TurnEndedMetadata) {
        let Some(id) = turn.assistant.clone() else { return };
        let cost = end.cost_usd.unwrap_or(0.0);
        if let Some((hash, files)) = turn.diffs.patch() {
            self.add_part(
                id.clone(),
                PartBody::Patch { hash: format!("{:016x}", fingerprint(&hash)), files },
            );
        }
        let reason = finish(end.stop_reason);
        let model = self.model().model_id;
        if let Some(reason) = reason {
            self.add_part(id.clone(), PartBody::StepFinish { reason, cost, tokens: tokens.clone() });
        }
        self.change_assistant(&id, |message, now| {
            message.time.completed = Some(now);
            message.error.clone_from(&turn.error);
            message.cost = cost;
            message.tokens = turn.last_step.clone().unwrap_or_else(|| tokens.clone());
            message.finish = reason;
            learn(&mut message.model_id, model);
        });
    }

    /// A new message of the user within the turn: what follows answers that one.
    pub(super) fn leave_assistant(&mut self) {
        let Some(id) = self.turn.as_mut().and_then(|turn| turn.assistant.take()) else { return };
        let (reason, cost, tokens) = ("stop", 0.0, Tokens::default());
        self.add_part(id.clone(), PartBody::StepFinish { reason, cost, tokens });
        self.change_assistant(&id, |message, now| {
            message.time.completed = Some(now);
            message.finish = Some(reason);
        });
    }

    pub(super) fn change_assistant(&mut self, id: &Id, change: impl FnOnce(&mut AssistantMessage, i64)) {
        let Some(MessageInfo::Assistant(known)) = self.messages.info(id) else { return };
        let mut message = known.clone();
        change(&mut message, self.now);
        self.say_message(MessageInfo::Assistant(message));
    }

    /// As OpenCode does, after the turn: what it changed, by the message that it answered.
    fn tell_changes(&mut self, turn: Turn) {
        let diffs = turn.diffs.all();
        if !diffs.is_empty() {
            self.say(Payload::SessionDiff { session_id: self.id.clone(), diff: self.diffs.all() });
        }
        let known = turn.user.and_then(|id| self.messages.info(&id).cloned());
        let Some(MessageInfo::User(known)) = known else { return };
        let mut user = known.clone();
        user.summary = (!diffs.is_empty()).then_some(UserSummary { diffs });
        learn(&mut user.model.model_id, self.model().model_id);
        if user != known {
            self.say_message(MessageInfo::User(user));
        }
    }
}

/// Some agents name their model only when they begin to work.
fn learn(known: &mut String, model: String) {
    if known == DEFAULT_MODEL {
        *known = model;
    }
}

/// Why the model stopped, in OpenCode's words; nothing where an error tells it.
fn finish(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::EndTurn => Some("stop"),
        StopReason::MaxTokens => Some("length"),
        StopReason::Refusal => Some("content-filter"),
        StopReason::MaxTurns | StopReason::MaxBudget => Some("other"),
        StopReason::Cancelled | StopReason::Error => None,
    }
}

/// Our output includes reasoning, and OpenCode's does not. It has no word for a number that is not known.
pub(super) fn tokens(usage: &Usage) -> Tokens {
    let reasoning = usage.reasoning_tokens.unwrap_or(0);
    Tokens {
        total: usage.total_tokens,
        input: usage.input_tokens.unwrap_or(0),
        output: usage.output_tokens.unwrap_or(0).saturating_sub(reasoning),
        reasoning,
        cache: CacheTokens {
            read: usage.cache_read_tokens.unwrap_or(0),
            write: usage.cache_write_tokens.unwrap_or(0),
        },
    }
}

fn add(sum: &mut Tokens, tokens: &Tokens) {
    sum.input = sum.input.saturating_add(tokens.input);
    sum.output = sum.output.saturating_add(tokens.output);
    sum.reasoning = sum.reasoning.saturating_add(tokens.reasoning);
    sum.cache.read = sum.cache.read.saturating_add(tokens.cache.read);
    sum.cache.write = sum.cache.write.saturating_add(tokens.cache.write);
}
