//! Turns: begun by what was really sent, or by Codex itself; ended by `turn/completed` and nothing else (T4).
//!
//! Only turns of the session's own thread are meant; those of child agents are in `subagents`.

use std::collections::{HashMap, VecDeque};

use omniglot_schema::{Activity, ContentPart, ErrorCode, ItemRole, MessageId, StatusLabel, StopReason};
use omniglot_timeline::{Body, Failure, ItemEnd, ItemKey, ItemStart, Origin, Outcome, TurnEnd};
use serde_json::value::RawValue;

use super::echo::{Echo, Echoes};
use super::failure::{failure, is_refusal};
use super::usage::Meter;
use super::wire::{Steer, TokenUsage, Tokens, Turn, TurnAnswer};
use super::{Codex, OutboundRequest, dropped, input};
use crate::contract::{Draft, DropReason, Output, Prompt};
use crate::fault::unparsed;
use crate::rpc::{RpcError, RpcId};

#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Prompts that were built but not seen on the wire yet.
    pub(crate) commanded: HashMap<RpcId, Prompt>,
    /// Prompts that came too late to steer, until the turn has ended for us as well.
    held: VecDeque<Prompt>,
    running: Option<Running>,
    /// A turn that was cancelled and replaced before it had ended.
    left_behind: Option<String>,
    /// How many turns have begun: what is said of an earlier one is late.
    pub(crate) begun: u64,
    pub(crate) echoes: Echoes,
    meter: Meter,
    steered: u64,
}

#[derive(Debug, Default)]
struct Running {
    /// The request that began it, until it is answered.
    request: Option<RpcId>,
    native: Option<String>,
    announced: bool,
    cancelled: bool,
    interrupted: bool,
    interrupt_due: bool,
    activity: Option<Activity>,
    subagents: Option<Tokens>,
}

impl Turns {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.running.as_ref().is_some_and(|turn| turn.cancelled)
    }

    /// Returns whether an item that begins now belongs to no turn or to a cancelled one.
    pub(crate) fn is_stopping(&self) -> bool {
        self.running.as_ref().is_none_or(|turn| turn.cancelled)
    }

    /// The turn that a prompt would steer. One that is being cancelled is over for whoever speaks now.
    pub(crate) fn steerable(&self) -> Option<&str> {
        self.running.as_ref().filter(|turn| !turn.cancelled)?.native.as_deref()
    }

    pub(crate) fn interruptible(&self) -> Option<String> {
        self.running.as_ref().filter(|turn| turn.announced)?.native.clone()
    }

    pub(crate) fn interrupt_when_announced(&mut self) {
        if let Some(turn) = &mut self.running {
            turn.interrupt_due = true;
        }
    }

    pub(crate) fn cancel_sent(&mut self) {
        if let Some(turn) = &mut self.running {
            turn.cancelled = true;
        }
    }

    pub(crate) fn interrupt_sent(&mut self) {
        self.cancel_sent();
        if let Some(turn) = &mut self.running {
            turn.interrupted = true;
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.running.as_ref().is_some_and(|turn| turn.interrupted)
    }

    pub(crate) fn thread_opened(&mut self, is_new: bool) {
        self.meter = if is_new { Meter::of_new_thread() } else { Meter::default() };
    }

    pub(crate) fn add_subagent_tokens(&mut self, tokens: Tokens) {
        if let Some(turn) = &mut self.running {
            turn.subagents = Some(turn.subagents.unwrap_or_default().plus(tokens));
        }
    }

    pub(crate) fn count(&mut self, usage: &TokenUsage) -> Option<Tokens> {
        let in_turn = self.running.as_ref().is_some_and(|turn| turn.announced);
        self.meter.count(usage, in_turn)
    }

    pub(crate) fn activity(&self) -> Option<Activity> {
        self.running.as_ref()?.activity
    }

    /// Whether that is news.
    pub(crate) fn set_activity(&mut self, activity: Option<Activity>) -> bool {
        let turn = self.running.as_mut().filter(|turn| turn.activity != activity);
        turn.map(|turn| turn.activity = activity).is_some()
    }

    fn begin(&mut self, turn: Running) {
        let before = self.running.replace(turn);
        self.left_behind = before.and_then(|turn| turn.native);
        self.begun += 1;
        self.meter.begin();
    }
}

impl Codex {
    /// `turn/start`, `review/start` or `thread/compact/start` went out.
    pub(crate) fn turn_sent(
        &mut self,
        id: RpcId,
        method: &str,
        params: &RawValue,
        out: &mut Vec<Output>,
    ) -> OutboundRequest {
        let content = input::said(method, params);
        let message_id = self.turns.commanded.remove(&id).and_then(|prompt| prompt.message_id);
        if self.turns.is_running() && !self.turns.is_cancelled() {
            // Codex takes this as a word to the turn that runs.
            self.tell_steering(method, params, content, message_id, out);
            return OutboundRequest::Steer(None);
        }
        self.turns.begin(Running { request: Some(id), ..Running::default() });
        let origin = if self.turns.echoes.sent(Echo::Opening, method, params) {
            Origin::Echoed { message_id, content }
        } else {
            Origin::User { message_id, content }
        };
        out.push(Draft::TurnStarted(origin).into());
        OutboundRequest::Turn
    }

    /// Answers a prompt that Codex cannot take: with a turn that fails, or a warning in the one that runs.
    pub(crate) fn refuse_prompt(&mut self, prompt: &Prompt, reason: &str, out: &mut Vec<Output>) {
        if self.turns.is_running() {
            return self.status(StatusLabel::Warning, Some(reason.to_owned()), out);
        }
        self.turns.begin(Running::default());
        let content = vec![ContentPart::text(prompt.text.clone())];
        out.push(Draft::TurnStarted(Origin::User { message_id: prompt.message_id.clone(), content }).into());
        self.end_turn(TurnEnd::failed(Failure::new(ErrorCode::ExecutionError, reason)), out);
    }

    /// Adds a steering message to the running turn at once, before its sender gets the answer.
    pub(crate) fn steer_sent(
        &mut self,
        id: &RpcId,
        params: &RawValue,
        out: &mut Vec<Output>,
    ) -> OutboundRequest {
        let steer: Steer = serde_json::from_str(params.get()).unwrap_or_default();
        let commanded = self.turns.commanded.remove(id);
        let message_id = commanded.as_ref().and_then(|prompt| prompt.message_id.clone());
        self.tell_steering("turn/steer", params, input::from_wire(steer.input), message_id, out);
        OutboundRequest::Steer(commanded)
    }

    /// Adds what was said to a running turn; its echo completes it, if it has one.
    fn tell_steering(
        &mut self,
        method: &str,
        params: &RawValue,
        parts: Vec<ContentPart>,
        message_id: Option<MessageId>,
        out: &mut Vec<Output>,
    ) {
        self.turns.steered += 1;
        let key = ItemKey(format!("steer:{}", self.turns.steered));
        let comes_back = self.turns.echoes.sent(Echo::Steering(key.clone()), method, params);
        let body = Body::Message { role: ItemRole::User, parts };
        let start = ItemStart { key: key.clone(), native_id: None, parent: None, body };
        out.push(Draft::Steered { message_id, start }.into());
        if !comes_back {
            out.push(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body: None }).into());
        }
    }

    pub(crate) fn turn_answered(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let mine = self.turns.running.as_mut().filter(|turn| turn.request.as_ref() == Some(id));
        match (mine, result) {
            (Some(turn), Ok(raw)) => {
                // The answer to a compaction is empty; its turn is announced later.
                let answer = serde_json::from_str::<TurnAnswer>(raw.get()).ok();
                turn.native = answer.map(|answer| answer.turn.id).or(turn.native.take());
                out.push(dropped());
            }
            (Some(_), Err(error)) => {
                let code = ErrorCode::ExecutionError;
                let reason = format!("Codex refused the prompt: {}", error.shown());
                self.end_turn(TurnEnd::failed(Failure::new(code, reason)), out);
            }
            (None, _) => out.push(Output::dropped(DropReason::Superseded)),
        }
    }

    /// Handles the answer to a steering message: one that came too late begins the next turn.
    pub(crate) fn steer_answered(
        &mut self,
        prompt: Option<Prompt>,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        match prompt.filter(|_| result.is_err()) {
            Some(late) if self.turns.is_running() => {
                self.turns.held.push_back(late);
                out.push(dropped());
            }
            Some(late) => {
                let output = self.prompt(&late);
                out.push(output);
            }
            None => out.push(dropped()),
        }
    }

    pub(crate) fn turn_started(&mut self, turn: Turn, out: &mut Vec<Output>) {
        if self.turns.left_behind.as_ref() == Some(&turn.id) {
            return out.push(Output::dropped(DropReason::Superseded));
        }
        if !self.turns.is_running() {
            // Nobody asked for it: a queue of Codex's own, or a shell command of the user.
            self.turns.begin(Running::default());
            out.push(Draft::TurnStarted(Origin::Agent).into());
        }
        let Some(running) = &mut self.turns.running else { return };
        running.announced = true;
        // A review is interrupted by the id that it ends with, which is the root of the announced one.
        running.native = turn.root_turn_id.or(Some(turn.id));
        let due = std::mem::take(&mut running.interrupt_due);
        if let (true, Some(thread), Some(turn)) = (due, self.thread.id.clone(), self.turns.interruptible()) {
            self.interrupt(&thread, &turn, out);
        }
    }

    pub(crate) fn turn_completed(&mut self, turn: Turn, out: &mut Vec<Output>) {
        if self.turns.left_behind.as_ref() == Some(&turn.id) {
            self.turns.left_behind = None;
            return out.push(Output::dropped(DropReason::Superseded));
        }
        if !self.turns.is_running() {
            return out.push(Output::dropped(DropReason::Superseded));
        }
        let end = match turn.status.as_str() {
            "completed" => {
                self.tools.go_on(self.turns.begun, out);
                TurnEnd::new(StopReason::EndTurn)
            }
            "interrupted" if self.turns.is_cancelled() => TurnEnd::new(StopReason::Cancelled),
            "interrupted" => {
                let reason = "Codex stopped the turn, and not because we asked for it";
                TurnEnd::failed(Failure::new(ErrorCode::Aborted, reason))
            }
            "failed" if turn.error.as_ref().is_some_and(is_refusal) => TurnEnd::new(StopReason::Refusal),
            "failed" => TurnEnd::failed(match &turn.error {
                Some(error) => failure(error),
                None => Failure::new(ErrorCode::Unknown, "Codex did not say what failed"),
            }),
            unknown => {
                let reason = format!("unknown status {unknown}");
                out.push(Output::unparsed(unparsed("turn/completed", reason.clone())));
                TurnEnd::failed(Failure::new(ErrorCode::Unknown, reason))
            }
        };
        self.end_turn(end, out);
    }

    pub(crate) fn end_turn(&mut self, mut end: TurnEnd, out: &mut Vec<Output>) {
        self.activity(None, out);
        let running = self.turns.running.take().unwrap_or_default();
        self.turns.echoes.turn_ended();
        end.model.clone_from(&self.thread.settings.model);
        end.usage = self.turns.meter.of_turn().map(Tokens::to_usage);
        end.usage_subagents = running.subagents.map(Tokens::to_usage);
        out.push(Draft::TurnEnded(end).into());
        if running.cancelled {
            let older = self.tools.older_commands(self.turns.begun);
            out.extend(self.orphans(older, false));
        }
        if let Some(late) = self.turns.held.pop_front() {
            let output = self.prompt(&late);
            out.push(output);
        }
    }
}
