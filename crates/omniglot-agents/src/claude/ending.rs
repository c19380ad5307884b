//! The end of a turn: what its results say, and when it is told.
//!
//! A subagent in the background may need a turn that the CLI has finished: a person is being asked on its behalf,
//! or what was approved still runs, and both belong to the turn in which they were told (T5, T10). Such a turn
//! ends with the last of them; what the CLI begins meanwhile is a part of it.

use omniglot_schema::{ContentPart, ContextFill, ItemRole, StatePatch, StatusLabel, StopReason, Usage};
use omniglot_timeline::{Body, TurnEnd};

use super::failure::failure;
use super::turn::Running;
use super::usage::Share;
use super::wire::{Tokens, TurnResult};
use super::{Claude, dropped};
use crate::contract::{Draft, DropReason, Output};
use crate::conversation::cost::rounded;

impl Claude {
    pub(crate) fn result(&mut self, result: TurnResult, out: &mut Vec<Output>) {
        if let Some(refusal) = self.refused_by_result(&result) {
            return out.push(Output::refused(refusal));
        }
        self.busy_with(None, out);
        let another = self.turns.is_of_another(&result);
        let share = self.turns.account.settle(&result);
        let cancelled = self.turns.is_cancelled();
        let Some(mut turn) = self.turns.running.take() else {
            return dropped(DropReason::Internal, out);
        };
        if let Some(json) = result.structured_output.clone() {
            let body = Body::Message { role: ItemRole::Assistant, parts: vec![ContentPart::Json { json }] };
            self.note(body, None, out);
        }
        self.show_account(&result, &turn, out);
        let end = self.end_of(&result, &mut turn, share, out);
        if another {
            return self.result_of_another(turn, end, out);
        }
        let end = together(turn.before.take(), end);
        // The answer to an interrupt may have come before.
        let stopped = cancelled || end.stop == StopReason::Cancelled;
        let may_wait = !stopped && self.background.has_subagents();
        if may_wait && self.is_waited_for() {
            self.blocks.main_thread_ended(out);
            turn.kept = Some(end);
            self.turns.running = Some(turn);
        } else {
            self.turn_over(end, out);
        }
    }

    /// The prompt's own result says how the turn ended; what this one used counts all the same.
    fn result_of_another(&mut self, mut turn: Running, end: TurnEnd, out: &mut Vec<Output>) {
        if let Some(error) = end.error {
            self.status(StatusLabel::Warning, error.message, out);
        }
        let end = TurnEnd { stop: StopReason::EndTurn, error: None, ..end };
        turn.before = Some(together(turn.before, end));
        self.turns.running = Some(turn);
        dropped(DropReason::Internal, out);
    }

    /// Whether something of a subagent in the background must not be cut off by the end of the turn.
    fn is_waited_for(&self) -> bool {
        !self.requests.open.is_empty() || (self.backlog.has_released() && self.background.has_subagents())
    }

    /// Ends a turn that waited for a subagent in the background, if that was the last that it waited for.
    pub(crate) fn end_if_done(&mut self, out: &mut Vec<Output>) {
        if !self.is_waited_for() {
            self.end_kept(out);
        }
    }

    /// The answer to an interrupt. A turn in which the CLI does nothing gets no result for it.
    pub(crate) fn interrupted(&mut self, out: &mut Vec<Output>) {
        self.end_kept(out);
    }

    fn end_kept(&mut self, out: &mut Vec<Output>) {
        let cancelled = self.turns.is_cancelled();
        if let Some(end) = self.turns.take_kept() {
            let stop = if cancelled { StopReason::Cancelled } else { end.stop };
            self.turn_over(TurnEnd { stop, ..end }, out);
        }
    }

    fn turn_over(&mut self, end: TurnEnd, out: &mut Vec<Output>) {
        self.turns.running = None;
        self.blocks.turn_ended();
        self.backlog.turn_ended();
        self.files.turn_ended();
        self.tasks_cut(out);
        out.push(Draft::TurnEnded(end).into());
    }

    fn end_of(
        &mut self,
        result: &TurnResult,
        turn: &mut Running,
        share: Share,
        out: &mut Vec<Output>,
    ) -> TurnEnd {
        let failed = turn.failed.take();
        let mut end = match stop_reason(result) {
            Some(stop) => {
                if let Some(told) = failed {
                    self.status(StatusLabel::Warning, told.words, out);
                }
                TurnEnd::new(stop)
            }
            None => TurnEnd::failed(failure(result, failed.as_ref(), self.turns.limit_resets_at.take())),
        };
        let subagents = std::mem::take(&mut self.turns.subagents);
        end.model = turn.model.clone().or_else(|| self.session.model_in_use.clone());
        let of_main_thread = result.usage.and_then(Tokens::to_usage);
        end.usage_subagents = share.beside(result.usage).filter(|_| subagents && of_main_thread.is_some());
        // Where subagents have worked, nobody can tell their part from the main thread's.
        end.usage = of_main_thread.or_else(|| share.whole().filter(|_| !subagents));
        // What a call had cost until it was cut is not counted: nothing is not the same as unknown.
        end.cost_usd = share.cost.filter(|cost| *cost > 0.0 || end.stop != StopReason::Cancelled);
        end
    }

    fn show_account(&self, result: &TurnResult, turn: &Running, out: &mut Vec<Output>) {
        let window = self.session.model_in_use.as_ref().and_then(|model| result.model_usage.get(model));
        let window = window.and_then(|model| model.context_window);
        let used = turn.last_call.map(Tokens::filled);
        let context = used.zip(window).map(|(used, window)| Some(ContextFill { used, window }));
        let cost_usd = result.total_cost_usd.map(|_| Some(self.turns.account.spent()));
        if context.is_some() || cost_usd.is_some() {
            self.state(StatePatch { context, cost_usd, ..StatePatch::default() }, out);
        }
    }
}

/// The end of a turn that had several results. What was unusual about an earlier one stays, unless the whole was
/// cancelled.
fn together(before: Option<TurnEnd>, last: TurnEnd) -> TurnEnd {
    let Some(before) = before else { return last };
    let cost_usd = match (before.cost_usd, last.cost_usd) {
        (Some(before), Some(last)) => Some(rounded(before + last)),
        (before, last) => before.or(last),
    };
    let usual = before.stop == StopReason::EndTurn || last.stop == StopReason::Cancelled;
    TurnEnd {
        stop: if usual { last.stop } else { before.stop },
        error: before.error.or(last.error),
        model: last.model.or(before.model),
        usage: Usage::sum(before.usage, last.usage),
        usage_subagents: Usage::sum(before.usage_subagents, last.usage_subagents),
        cost_usd,
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
