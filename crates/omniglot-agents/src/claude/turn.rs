//! Turns: begun by a prompt that was sent or by the CLI itself, ended by a `result` and by nothing else (T4).
//!
//! The daemon sends one prompt at a time. A recording may hold more: the CLI puts a prompt that comes while it
//! works into the running turn after the next tool result, or answers all that wait in one turn.

use std::collections::VecDeque;

use omniglot_schema::{ContentPart, ContextFill, ItemRole, MessageId, StatePatch, StatusLabel, StopReason};
use omniglot_timeline::{Body, Origin, TurnEnd};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::failure::{Told, failure};
use super::usage::{Account, Share, rounded};
use super::wire::{Assistant, Block, CommandLifecycle, Tokens, TurnResult, User, UserPrompt, blocks};
use super::{Claude, dropped, prompt};
use crate::contract::{Draft, DropReason, Output};

#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Messages whose prompts were built but not seen on the wire yet.
    pub(crate) commanded: VecDeque<Option<MessageId>>,
    running: Option<Running>,
    queued: VecDeque<Queued>,
    account: Account,
    /// Whether the CLI says when it takes up a prompt.
    pub(crate) tells_uptake: bool,
    /// Subagents have worked since the last result.
    subagents: bool,
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
struct Running {
    /// Somebody's prompt began it.
    asked: bool,
    uuid: Option<String>,
    /// The CLI has said that it works on the prompt.
    taken_up: bool,
    cancelled: bool,
    model: Option<String>,
    /// What the last call of the model used.
    last_call: Option<Tokens>,
    failed: Option<Told>,
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

    pub(crate) fn used(&mut self, of_main_thread: bool, tokens: Option<Tokens>) {
        if let (true, Some(tokens), Some(turn)) = (of_main_thread, tokens, &mut self.running) {
            turn.last_call = Some(tokens);
        }
    }

    /// Whether this result answers something else than the prompt that we wait for: a turn that the CLI had
    /// begun by itself when the prompt was sent.
    fn is_of_another(&self, result: &TurnResult) -> bool {
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
        let background = &self.background;
        self.tools.turn_started(|call| background.is_running(call));
    }

    /// The CLI works: on the prompt that was sent, on those that waited, or on something of its own.
    pub(crate) fn turn_goes_on(&mut self, out: &mut Vec<Output>) {
        if !self.turns.is_running() {
            match self.turns.queued.pop_front() {
                Some(mut first) => {
                    let others = self.turns.queued.drain(..).flat_map(|queued| queued.content);
                    first.content.extend(others);
                    self.begin(first, out);
                }
                None => self.begin_unasked(out),
            }
        }
        out.append(&mut self.background.take_later());
    }

    pub(crate) fn begin_unasked(&mut self, out: &mut Vec<Output>) {
        self.turns.running = Some(Running::default());
        self.turn_started();
        out.push(Draft::TurnStarted(Origin::Agent).into());
    }

    /// The CLI has put a prompt into the running turn.
    fn injected_prompt(&mut self, queued: Queued, out: &mut Vec<Output>) {
        self.note(Body::Message { role: ItemRole::User, parts: queued.content }, None, out);
    }

    /// After a tool result the CLI takes up what waits; those that say when are taken at their word.
    pub(crate) fn prompts_injected(&mut self, out: &mut Vec<Output>) {
        if !self.turns.tells_uptake {
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
        out.extend(faults.into_iter().map(Output::Unparsed));
        dropped(DropReason::Superseded, out);
    }

    pub(crate) fn result(&mut self, result: TurnResult, out: &mut Vec<Output>) {
        if let Some(refusal) = self.refused_by_result(&result) {
            return out.push(Output::Refused(refusal));
        }
        self.busy_with(None, out);
        let another = self.turns.is_of_another(&result);
        let share = self.turns.account.settle(&result);
        let Some(turn) = self.turns.running.take_if(|_| !another) else {
            return dropped(DropReason::Internal, out);
        };
        self.blocks.turn_ended();
        if let Some(json) = result.structured_output.clone() {
            let body = Body::Message { role: ItemRole::Assistant, parts: vec![ContentPart::Json { json }] };
            self.note(body, None, out);
        }
        self.show_account(&result, &turn, out);
        let end = self.end_of(&result, turn, share, out);
        out.push(Draft::TurnEnded(end).into());
    }

    fn end_of(&mut self, result: &TurnResult, turn: Running, share: Share, out: &mut Vec<Output>) -> TurnEnd {
        let failed = turn.failed.as_ref();
        let mut end = match stop_reason(result) {
            Some(stop) => {
                if let Some(told) = failed {
                    self.status(StatusLabel::Warning, told.words.clone(), out);
                }
                TurnEnd::new(stop)
            }
            None => TurnEnd::failed(failure(result, failed, self.turns.limit_resets_at.take())),
        };
        let subagents = std::mem::take(&mut self.turns.subagents);
        end.model = turn.model.or_else(|| self.session.model_in_use.clone());
        end.usage = result.usage.and_then(Tokens::to_usage);
        end.usage_subagents = share.beside(result.usage).filter(|_| subagents && end.usage.is_some());
        // What a call had cost until it was cut is not counted: nothing is not the same as unknown.
        end.cost_usd = share.cost.filter(|cost| *cost > 0.0 || end.stop != StopReason::Cancelled);
        end
    }

    fn show_account(&self, result: &TurnResult, turn: &Running, out: &mut Vec<Output>) {
        let window = self.session.model_in_use.as_ref().and_then(|model| result.model_usage.get(model));
        let window = window.and_then(|model| model.context_window);
        let used = turn.last_call.map(Tokens::filled);
        let context = used.zip(window).map(|(used, window)| Some(ContextFill { used, window }));
        let cost_usd = result.total_cost_usd.map(|cost| Some(rounded(cost)));
        if context.is_some() || cost_usd.is_some() {
            self.state(StatePatch { context, cost_usd, ..StatePatch::default() }, out);
        }
    }
}

/// How a turn ended that did not fail.
fn stop_reason(result: &TurnResult) -> Option<StopReason> {
    let aborted = result.terminal_reason.as_deref().is_some_and(|reason| reason.starts_with("aborted"));
    if aborted {
        return Some(StopReason::Cancelled);
    }
    match result.stop_reason.as_deref() {
        // It comes as an error, but it is the model's answer.
        Some("refusal") => Some(StopReason::Refusal),
        _ if result.is_error => None,
        Some("max_tokens") => Some(StopReason::MaxTokens),
        _ => Some(StopReason::EndTurn),
    }
}
