//! What a turn used and cost, as differences where the CLI counts on and on (T15).

use omniglot_schema::Usage;

use super::wire::{ModelUsage, Tokens, TurnResult};

/// The sums so far, as the CLI told them last.
#[derive(Debug, Default)]
pub(crate) struct Account {
    cost: f64,
    tokens: ModelUsage,
}

/// What fell to one result: subagents and compaction included.
#[derive(Debug, Default)]
pub(crate) struct Share {
    pub(crate) cost: Option<f64>,
    tokens: ModelUsage,
}

impl Account {
    /// 2.1.325 tells the share itself. The sums of older versions begin anew in a resumed process.
    pub(crate) fn settle(&mut self, result: &TurnResult) -> Share {
        let (sum, cost) = (total(result.model_usage.values()), result.total_cost_usd.unwrap_or(self.cost));
        let before = std::mem::replace(self, Self { cost, tokens: sum });
        let (tokens, cost) = match &result.model_usage_since_last_result {
            Some(since) => (total(since.values()), total(since.values()).cost_usd),
            None if cost < before.cost => (sum, cost),
            None => (minus(sum, before.tokens), cost - before.cost),
        };
        let cost = result.total_cost_usd.map(|_| rounded(cost.max(0.0)));
        Share { cost, tokens }
    }
}

impl Share {
    /// What is not the main thread's.
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

/// Sums of small numbers carry noise far below a cent.
pub(crate) fn rounded(cost: f64) -> f64 {
    (cost * 1e9).round() / 1e9
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
