//! The usage and cost of a turn, its own and those of its subagents (T15).

use indexmap::IndexMap;
use omniglot_schema::Usage;

use super::wire::{Assistant, Tokens};
use crate::conversation::cost::rounded;

/// The usage of each message of a turn; a message repeats its sum.
#[derive(Debug, Default)]
pub(crate) struct Accounts(IndexMap<String, Account>);

#[derive(Debug)]
struct Account {
    tokens: Option<Tokens>,
    cost: Option<f64>,
    model: Option<String>,
    spender: Spender,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spender {
    Itself,
    Subagents,
}

impl Accounts {
    pub(crate) fn note(&mut self, message: &str, told: &Assistant, spender: Spender) {
        let model = told.provider.as_ref().zip(told.model.as_ref());
        let model = model.map(|(provider, model)| format!("{provider}/{model}"));
        let account = Account { tokens: told.tokens, cost: told.cost, model, spender };
        self.0.insert(message.to_owned(), account);
    }

    /// Whether no message was heard of.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The model that answered last.
    pub(crate) fn model(&self) -> Option<String> {
        let own = self.0.values().rev().find(|account| account.spender == Spender::Itself);
        own.and_then(|account| account.model.clone())
    }

    pub(crate) fn cost(&self) -> Option<f64> {
        price(self.0.values().filter_map(|account| account.cost).sum())
    }

    pub(crate) fn usage(&self, of: Spender) -> Option<Usage> {
        let told = self.0.values().filter(|account| account.spender == of);
        let mut sum = Tokens::default();
        for tokens in told.filter_map(|account| account.tokens) {
            sum.input = sum.input.saturating_add(tokens.input);
            sum.output = sum.output.saturating_add(tokens.output);
            sum.reasoning = sum.reasoning.saturating_add(tokens.reasoning);
            sum.cache.read = sum.cache.read.saturating_add(tokens.cache.read);
            sum.cache.write = sum.cache.write.saturating_add(tokens.cache.write);
        }
        usage_of(sum)
    }
}

/// Returns these tokens as usage, unless there are none.
pub(crate) fn usage_of(tokens: Tokens) -> Option<Usage> {
    let usage = Usage {
        input_tokens: Some(tokens.input),
        output_tokens: Some(tokens.output.saturating_add(tokens.reasoning)),
        reasoning_tokens: Some(tokens.reasoning),
        cache_read_tokens: Some(tokens.cache.read),
        cache_write_tokens: Some(tokens.cache.write),
        total_tokens: None,
    }
    .with_total();
    usage.total_tokens.is_some_and(|total| total > 0).then_some(usage)
}

pub(crate) fn price(cost: f64) -> Option<f64> {
    (cost > 0.0).then(|| rounded(cost))
}
