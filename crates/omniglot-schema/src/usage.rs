//! The reason why a turn stopped, and its usage (T15). A number that the agent does not report is absent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The reason why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurns,
    MaxBudget,
    Refusal,
    Cancelled,
    Error,
}

/// Tokens of one turn, of one call of the model, or of a session. `input_tokens` excludes the cache, `output_tokens` includes reasoning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// The tokens of the input that were not in the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// All tokens that the model wrote, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The tokens of reasoning, a part of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The tokens of the input that were read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// The tokens of the input that were written to the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The sum of input, output and cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
}

impl Usage {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the sum of two usages; one that is not told adds nothing.
    pub fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return one.or(other),
        };
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        let usage = Self {
            input_tokens: sum(one.input_tokens, other.input_tokens),
            output_tokens: sum(one.output_tokens, other.output_tokens),
            reasoning_tokens: sum(one.reasoning_tokens, other.reasoning_tokens),
            cache_read_tokens: sum(one.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: sum(one.cache_write_tokens, other.cache_write_tokens),
            total_tokens: None,
        };
        Some(usage.with_total())
    }

    /// Leaves out reasoning that is more than the whole output, and corrects a total that is not the sum of its parts.
    #[must_use]
    pub fn without_contradictions(mut self) -> Self {
        if self.output_tokens.is_some_and(|output| self.reasoning_tokens.is_some_and(|part| part > output)) {
            self.reasoning_tokens = None;
        }
        if self.total_tokens.is_some() { self.with_total() } else { self }
    }

    /// Fills `total_tokens` from its parts, so that it can never contradict them.
    pub fn with_total(mut self) -> Self {
        if let (Some(input), Some(output)) = (self.input_tokens, self.output_tokens) {
            let cache =
                self.cache_read_tokens.unwrap_or(0).saturating_add(self.cache_write_tokens.unwrap_or(0));
            self.total_tokens = Some(input.saturating_add(output).saturating_add(cache));
        }
        self
    }
}
