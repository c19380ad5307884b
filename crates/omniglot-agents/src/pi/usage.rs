//! The usage and cost of a turn: the sum of its calls of the model (T15), and how full the context is.

use omniglot_schema::{ContextFill, StatePatch, Usage};

use super::Pi;
use super::wire::Tokens;
use crate::contract::Output;
use crate::conversation::cost::rounded;

/// Returns the usage of one call; a call that failed tells zeros.
pub(crate) fn of_tokens(tokens: Tokens) -> Option<Usage> {
    let usage = Usage {
        input_tokens: Some(tokens.input),
        output_tokens: Some(tokens.output),
        reasoning_tokens: tokens.reasoning,
        cache_read_tokens: Some(tokens.cache_read),
        cache_write_tokens: Some(tokens.cache_write),
        total_tokens: None,
    };
    (tokens.total_tokens > 0).then(|| usage.with_total())
}

impl Pi {
    /// Adds a call of the model to its turn and its session.
    pub(crate) fn used(&mut self, tokens: Option<Tokens>, out: &mut Vec<Output>) {
        let Some(tokens) = told(tokens) else { return };
        let context = self.filled(tokens.total_tokens).map(Some);
        let spent = self.add(tokens);
        self.state(StatePatch { context, ..spent }, out);
    }

    /// Adds the call that made a summary. The context is new, and older versions do not say how full.
    pub(crate) fn compacted(&mut self, tokens: Option<Tokens>, after: Option<u64>, out: &mut Vec<Output>) {
        let context = Some(after.and_then(|after| self.filled(after)));
        let spent = told(tokens).map(|tokens| self.add(tokens)).unwrap_or_default();
        self.state(StatePatch { context, ..spent }, out);
    }

    fn filled(&self, used: u64) -> Option<ContextFill> {
        self.settings.window.map(|window| ContextFill { used, window })
    }

    fn add(&mut self, tokens: Tokens) -> StatePatch {
        if let (Some(turn), Some(usage)) = (self.turns.running_mut(), of_tokens(tokens)) {
            turn.usage = Usage::sum(turn.usage.take(), Some(usage));
            turn.cost = Some(turn.cost.unwrap_or(0.0) + tokens.cost.total);
        }
        self.spent += tokens.cost.total;
        StatePatch { cost_usd: Some(Some(rounded(self.spent))), ..StatePatch::default() }
    }
}

fn told(tokens: Option<Tokens>) -> Option<Tokens> {
    tokens.filter(|tokens| tokens.total_tokens > 0)
}
