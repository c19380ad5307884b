//! The usage and cost of a turn, as differences where the CLI keeps running totals (T15).

use omniglot_schema::Usage;

use super::wire::{ModelUsage, Tokens, TurnResult};
use crate::conversation::cost::rounded;

/// The sums so far.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// As the CLI told them last.
    cost: f64,
    tokens: ModelUsage,
    /// The cost of the session, over all its processes.
    spent: f64,
}

/// The usage and cost of one result, subagents and compaction included.
#[derive(Debug, Default)]
pub(crate) struct Share {
    pub(crate) cost: Option<f64>,
    tokens: ModelUsage,
}

impl Account {
    /// The account of a session that has cost something already.
    pub(crate) fn having_spent(spent: f64) -> Self {
        Self { spent, ..Self::default() }
    }

    pub(crate) fn spent(&self) -> f64 {
        self.spent
    }

    /// 2.1.325 tells the share itself. The sums of older versions begin anew in a resumed process.
    pub(crate) fn settle(&mut self, result: &TurnResult) -> Share {
        let (sum, cost) = (total(result.model_usage.values()), result.total_cost_usd.unwrap_or(self.cost));
        let before = std::mem::replace(self, Self { cost, tokens: sum, spent: self.spent });
        let (tokens, cost) = match &result.model_usage_since_last_result {
            Some(since) => (total(since.values()), total(since.values()).cost_usd),
            None if cost < before.cost => (sum, cost),
            None => (minus(sum, before.tokens), cost - before.cost),
        };
        let cost = result.total_cost_usd.map(|_| rounded(cost.max(0.0)));
        self.spent = rounded(self.spent + cost.unwrap_or(0.0));
        Share { cost, tokens }
    }
}

impl Share {
    /// All of it, for a result that says nothing of its own: after a failure or an interrupt, and for a compaction.
    pub(crate) fn whole(&self) -> Option<Usage> {
        let ModelUsage {
            input_tokens,
            output_tokens,
            cache_read_input_tokens,
            cache_creation_input_tokens,
            ..
        } = self.tokens;
        let tokens = Tokens {
            input_tokens: Some(input_tokens),
            output_tokens: Some(output_tokens),
            cache_read_input_tokens: Some(cache_read_input_tokens),
            cache_creation_input_tokens: Some(cache_creation_input_tokens),
            output_tokens_details: None,
        };
        tokens.to_usage()
    }

    /// Returns the usage beside that of the main thread.
    pub(crate) fn beside(&self, main: Option<Tokens>) -> Option<Usage> {
        let main = main?;
        let rest = |all: u64, main: Option<u64>| Some(all.saturating_sub(main.unwrap_or(0)));
        let usage = Usage {
            input_tokens: rest(self.tokens.input_tokens, main.input_tokens),
            output_tokens: rest(self.tokens.output_tokens, main.output_tokens),
            reasoning_tokens: None,
            cache_read_tokens: rest(self.tokens.cache_read_input_tokens, main.cache_read_input_tokens),
            cache_write_tokens: rest(
                self.tokens.cache_creation_input_tokens,
                main.cache_creation_input_tokens,
            ),
            total_tokens: None,
        }
        .with_total();
        (usage.total_tokens.unwrap_or(0) > 0).then_some(usage)
    }
}

impl Tokens {
    /// These numbers, and where one is not told, the other's.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.or(other.input_tokens),
            output_tokens: self.output_tokens.or(other.output_tokens),
            cache_read_input_tokens: self.cache_read_input_tokens.or(other.cache_read_input_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .or(other.cache_creation_input_tokens),
            output_tokens_details: self.output_tokens_details.or(other.output_tokens_details),
        }
    }

    /// After an interrupt, a failure or a local command all numbers are zero, which says nothing.
    pub(crate) fn to_usage(self) -> Option<Usage> {
        let usage = Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            reasoning_tokens: self.output_tokens_details.and_then(|details| details.thinking_tokens),
            cache_read_tokens: self.cache_read_input_tokens,
            cache_write_tokens: self.cache_creation_input_tokens,
            total_tokens: None,
        }
        .with_total();
        (usage.total_tokens.unwrap_or(0) > 0).then_some(usage)
    }

    /// The context that a call of the model has filled.
    pub(crate) fn filled(self) -> u64 {
        let parts = [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
        ];
        parts.into_iter().flatten().fold(0, u64::saturating_add)
    }
}

fn total<'a>(models: impl Iterator<Item = &'a ModelUsage>) -> ModelUsage {
    models.fold(ModelUsage::default(), |sum, model| ModelUsage {
        input_tokens: sum.input_tokens.saturating_add(model.input_tokens),
        output_tokens: sum.output_tokens.saturating_add(model.output_tokens),
        cache_read_input_tokens: sum.cache_read_input_tokens.saturating_add(model.cache_read_input_tokens),
        cache_creation_input_tokens: sum
            .cache_creation_input_tokens
            .saturating_add(model.cache_creation_input_tokens),
        cost_usd: sum.cost_usd + model.cost_usd,
        context_window: None,
    })
}

fn minus(sum: ModelUsage, before: ModelUsage) -> ModelUsage {
    ModelUsage {
        input_tokens: sum.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: sum.output_tokens.saturating_sub(before.output_tokens),
        cache_read_input_tokens: sum.cache_read_input_tokens.saturating_sub(before.cache_read_input_tokens),
        cache_creation_input_tokens: sum
            .cache_creation_input_tokens
            .saturating_sub(before.cache_creation_input_tokens),
        cost_usd: sum.cost_usd - before.cost_usd,
        context_window: None,
    }
}
