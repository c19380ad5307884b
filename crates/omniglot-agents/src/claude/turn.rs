//! Turns: begun by a prompt that was sent or by the CLI itself, ended by a `result` (T4; see `ending`).
//!
//! The daemon sends one prompt at a time. A recording may hold more: the CLI puts a prompt that comes while it
//! works into the running turn after the next tool result, or answers all that wait in one turn.

use std::collections::VecDeque;

use omniglot_schema::{ContentPart, ItemRole, MessageId, StatusLabel, StopReason};
use omniglot_timeline::{Body, Origin, TurnEnd};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::failure::Told;
use super::usage::Account;
use super::wire::{Assistant, Block, CommandLifecycle, Tokens, TurnResult, User, UserPrompt, blocks};
use super::{Claude, dropped, prompt};
use crate::contract::{Draft, DropReason, Output};

#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Messages whose prompts were built but not seen on the wire yet.
    pub(crate) commanded: VecDeque<Option<MessageId>>,
    pub(crate) running: Option<Running>,
    /// How many have begun.
    begun: u64,
    queued: VecDeque<Queued>,
    pub(crate) account: Account,
    /// Whether the CLI says when it takes up a prompt.
    pub(crate) tells_uptake: bool,
    /// Subagents have worked since the last result.
    pub(crate) subagents: bool,
    pub(crate) limit_resets_at: Option<f64>,
}

/// A prompt that came while a turn ran.
#[derive(Debug)]
struct Queued {
    uuid: Option<String>,
    message_id: Option<MessageId>,
    content: Vec<ContentPart>,
}

#[derive(Debug, Default)]
pub(crate) struct Running {
    /// Somebody's prompt began it.
    asked: bool,
    uuid: Option<String>,
    /// The CLI has said that it works on the prompt.
    taken_up: bool,
    cancelled: bool,
    pub(crate) model: Option<String>,
    /// The usage of the last model call.
    pub(crate) last_call: Option<Tokens>,
    pub(crate) failed: Option<Told>,
    /// The sum of the results before the last one.
    pub(crate) before: Option<TurnEnd>,
    /// The end of the turn, while a subagent in the background still needs it. The CLI itself does nothing.
    pub(crate) kept: Option<TurnEnd>,
}

impl Turns {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.running.as_ref().is_some_and(|turn| turn.cancelled)
    }

    pub(crate) fn cancel_sent(&mut self) {
        if let Some(turn) = &mut self.running {
            turn.cancelled = true;
        }
    }

    pub(crate) fn has_subagents(&mut self) {
        self.subagents = true;
    }

    pub(crate) fn model_is(&mut self, of_main_thread: bool, model: Option<&str>) {
        let model = model.filter(|model| *model != "<synthetic>");
        if let (true, Some(model), Some(turn)) = (of_main_thread, model, &mut self.running) {
            turn.model = Some(model.to_owned());
        }
    }

    /// A call of the model goes on, with what it has used so far.
    pub(crate) fn uses(&mut self, of_main_thread: bool, tokens: Option<Tokens>) {
        if let (true, Some(tokens), Some(turn)) = (of_main_thread, tokens, &mut self.running) {
            turn.last_call = Some(tokens);
        }
    }

    /// The number of the turn in which something can be told first: this one, or the next.
    pub(crate) fn telling(&self) -> u64 {
        self.begun + u64::from(!self.is_running())
    }

    pub(crate) fn take_kept(&mut self) -> Option<TurnEnd> {
        self.running.as_mut()?.kept.take()
    }

    /// Whether this result answers something else than the prompt that we wait for: a turn that the CLI had
    /// begun by itself when the prompt was sent.
    pub(crate) fn is_of_another(&self, result: &TurnResult) -> bool {
        let unasked = result.origin.as_ref().and_then(|origin| origin.kind.as_deref()) == Some(TASK_ENDED);
        unasked && self.running.as_ref().is_some_and(|turn| turn.asked && !turn.taken_up)
    }

    fn take_queued(&mut self, uuid: &str) -> Option<Queued> {
        let place = self.queued.iter().position(|queued| queued.uuid.as_deref() == Some(uuid))?;
        self.queued.remove(place)
    }
}

/// The origin of a turn that the end of a background task began.
const TASK_ENDED: &str = "task-notification";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cancelled {
    cancelled: bool,
}

impl Claude {
    /// A prompt went to the CLI: a turn begins, or will when the CLI takes it up.
    pub(crate) fn prompt_sent(&mut self, sent: &UserPrompt<'_>, out: &mut Vec<Output>) {
        let message_id = self.turns.commanded.pop_front().flatten();
        let content = prompt::content(sent.message.content);
        let queued = Queued { uuid: sent.uuid.clone(), message_id, content };
        if self.turns.is_running() {
            self.turns.queued.push_back(queued);
        } else {
            self.begin(queued, out);
        }
    }

    fn begin(&mut self, prompt: Queued, out: &mut Vec<Output>) {
        let Queued { uuid, message_id, content } = prompt;
        self.turns.running = Some(Running { asked: true, uuid, ..Running::default() });
        self.turn_started();
        out.push(Draft::TurnStarted(Origin::User { message_id, content }).into());
    }

    fn turn_started(&mut self) {
        self.turns.begun += 1;
        let background = &self.background;
        self.tools.turn_started(|call| background.is_running(call));
    }

    /// The CLI works: on the prompt that was sent, on those that waited, or on something of its own.
    pub(crate) fn turn_goes_on(&mut self, out: &mut Vec<Output>) {
        if let Some(end) = self.turns.take_kept() {
            self.kept_turn_goes_on(end, out);
        } else if !self.turns.is_running() {
            match self.turns.queued.pop_front() {
                Some(mut first) => {
                    let others = self.turns.queued.drain(..).flat_map(|queued| queued.content);
                    first.content.extend(others);
                    self.begin(first, out);
                }
                None => self.begin_unasked(out),
            }
        }
        out.append(&mut self.backlog.take_later());
    }

    /// The CLI begins something new before the old turn could end: it becomes a part of that.
    fn kept_turn_goes_on(&mut self, end: TurnEnd, out: &mut Vec<Output>) {
        if let Some(turn) = &mut self.turns.running {
            (turn.before, turn.taken_up) = (Some(end), true);
        }
        for queued in std::mem::take(&mut self.turns.queued) {
            self.injected_prompt(queued, out);
        }
    }

    pub(crate) fn begin_unasked(&mut self, out: &mut Vec<Output>) {
        self.turns.running = Some(Running::default());
        self.turn_started();
        out.push(Draft::TurnStarted(Origin::Agent).into());
    }

    /// Sees to it that there is a turn for what is asked. Between two turns it is a subagent in the background
    /// that asks, and the CLI itself does nothing.
    pub(crate) fn turn_for_request(&mut self, out: &mut Vec<Output>) {
        if self.turns.is_running() {
            return;
        }
        self.begin_unasked(out);
        if let Some(turn) = &mut self.turns.running {
            turn.kept = Some(TurnEnd::new(StopReason::EndTurn));
        }
        out.append(&mut self.backlog.take_later());
    }

    /// The CLI has put a prompt into the running turn.
    fn injected_prompt(&mut self, queued: Queued, out: &mut Vec<Output>) {
        self.note(Body::Message { role: ItemRole::User, parts: queued.content }, None, out);
    }

    /// After a tool result the CLI takes up what waits; those that say when are taken at their word.
    pub(crate) fn prompts_injected(&mut self, out: &mut Vec<Output>) {
        if !self.turns.tells_uptake {
            // Also the one that began this turn, if the CLI was in a turn of its own then.
            if let Some(turn) = &mut self.turns.running {
                turn.taken_up = true;
            }
            for queued in std::mem::take(&mut self.turns.queued) {
                self.injected_prompt(queued, out);
            }
        }
    }

    /// An echo of something that was put in.
    pub(crate) fn replayed(&mut self, line: &User<'_>, out: &mut Vec<Output>) {
        let queued = line.uuid.as_deref().and_then(|uuid| self.turns.take_queued(uuid));
        match queued {
            Some(queued) => self.injected_prompt(queued, out),
            None => dropped(DropReason::Echo, out),
        }
    }

    pub(crate) fn command_lifecycle(&mut self, step: &CommandLifecycle, out: &mut Vec<Output>) {
        self.turns.tells_uptake = true;
        let uuid = step.command_uuid.as_str();
        if step.state == "cancelled" && self.taken_back(uuid, out) {
            return;
        }
        if step.state == "started" {
            match self.turns.running.as_mut() {
                Some(turn) if turn.uuid.as_deref() == Some(uuid) => turn.taken_up = true,
                Some(_) => {
                    if let Some(queued) = self.turns.take_queued(uuid) {
                        return self.injected_prompt(queued, out);
                    }
                }
                // Its turn begins with the next `init`.
                None => {}
            }
        }
        dropped(DropReason::Internal, out);
    }

    pub(crate) fn message_cancelled(
        &mut self,
        uuid: &str,
        answer: Result<Option<&RawValue>, String>,
        out: &mut Vec<Output>,
    ) {
        let body = answer.ok().flatten().and_then(|raw| serde_json::from_str::<Cancelled>(raw.get()).ok());
        if !body.unwrap_or_default().cancelled || !self.taken_back(uuid, out) {
            dropped(DropReason::Internal, out);
        }
    }

    fn taken_back(&mut self, uuid: &str, out: &mut Vec<Output>) -> bool {
        let Some(_queued) = self.turns.take_queued(uuid) else { return false };
        self.status(StatusLabel::Removed, "a message that waited was taken back", out);
        true
    }

    /// The words of an API error. They are the turn's error if its result says that it failed.
    pub(crate) fn api_failed(&mut self, kind: &str, line: &Assistant<'_>, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        let mut texts = Vec::new();
        for block in blocks(line.message.content, &mut faults) {
            if let Block::Text(text) = block {
                texts.push(text);
            }
        }
        let told = Told { kind: kind.to_owned(), words: texts.join("\n") };
        match &mut self.turns.running {
            Some(turn) if line.parent_tool_use_id.is_none() => turn.failed = Some(told),
            _ => self.status(StatusLabel::Warning, told.words, out),
        }
        out.extend(faults.into_iter().map(Output::unparsed));
        dropped(DropReason::Superseded, out);
    }
}
