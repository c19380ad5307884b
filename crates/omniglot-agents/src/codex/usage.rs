//! The usage of a turn, from counts that Codex keeps for a whole thread (T15), and the size of the context.

use omniglot_schema::{ContextFill, StatePatch, Usage};

use super::wire::{TokenUsage, Tokens};
use super::{Codex, dropped};
use crate::contract::Output;

/// One thread's count, and what of it belongs to the running turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    /// The last total; unknown for a thread that was resumed, until it is told.
    total: Option<Tokens>,
    turn: Option<Tokens>,
}

impl Meter {
    /// A thread that is new has used nothing.
    pub(crate) fn of_new_thread() -> Self {
        Self { total: Some(Tokens::default()), turn: None }
    }

    pub(crate) fn begin(&mut self) {
        self.turn = None;
    }

    /// Takes in a count, and returns the tokens of the call of the model that it tells. The same count may be told
    /// again, and what comes between two turns is of no turn.
    pub(crate) fn count(&mut self, usage: &TokenUsage, in_turn: bool) -> Option<Tokens> {
        let used = match self.total {
            Some(before) => usage.total.minus(before).unwrap_or(usage.last),
            None => usage.last,
        };
        self.total = Some(usage.total);
        // Codex tells that the window is full as a total that no call has used.
        let is_a_call = used.input_tokens > 0 || used.output_tokens > 0;
        let call = Some(used).filter(|_| in_turn && is_a_call)?;
        self.turn = Some(self.turn.unwrap_or_default().plus(call));
        Some(call)
    }

    pub(crate) fn of_turn(&mut self) -> Option<Tokens> {
        self.turn.take()
    }
}

impl Tokens {
    fn each(self, other: Self, op: impl Fn(u64, u64) -> Option<u64>) -> Option<Self> {
        Some(Self {
            total_tokens: op(self.total_tokens, other.total_tokens)?,
            input_tokens: op(self.input_tokens, other.input_tokens)?,
            cached_input_tokens: op(self.cached_input_tokens, other.cached_input_tokens)?,
            cache_write_input_tokens: op(self.cache_write_input_tokens, other.cache_write_input_tokens)?,
            output_tokens: op(self.output_tokens, other.output_tokens)?,
            reasoning_output_tokens: op(self.reasoning_output_tokens, other.reasoning_output_tokens)?,
        })
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        self.each(other, |a, b| Some(a.saturating_add(b))).unwrap_or(self)
    }

    /// Nothing for a count that fell: it began anew.
    fn minus(self, other: Self) -> Option<Self> {
        self.each(other, u64::checked_sub)
    }

    /// The same numbers in our sense: input without cache.
    pub(crate) fn to_usage(self) -> Usage {
        let cache = self.cached_input_tokens.saturating_add(self.cache_write_input_tokens);
        Usage {
            input_tokens: Some(self.input_tokens.saturating_sub(cache)),
            output_tokens: Some(self.output_tokens),
            reasoning_tokens: Some(self.reasoning_output_tokens),
            cache_read_tokens: Some(self.cached_input_tokens),
            cache_write_tokens: Some(self.cache_write_input_tokens),
            total_tokens: None,
        }
        .with_total()
    }
}

impl Codex {
    pub(crate) fn token_usage(&mut self, usage: &TokenUsage, out: &mut Vec<Output>) {
        // A thread that came back tells what it had used before, perhaps when the next turn was asked for already.
        let call = self.turns.count(usage);
        self.step(call, None, out);
        let fill = |window| ContextFill { used: usage.last.total_tokens, window };
        match usage.model_context_window {
            Some(window) => {
                self.state(StatePatch { context: Some(Some(fill(window))), ..StatePatch::default() }, out)
            }
            None => out.push(dropped()),
        }
    }
}
