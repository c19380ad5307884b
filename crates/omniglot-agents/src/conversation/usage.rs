//! Sums of usage.

use omniglot_schema::Usage;

/// Returns the sum of two usages.
pub(crate) fn plus(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return one.or(other),
    };
    let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    let usage = Usage {
        input_tokens: sum(one.input_tokens, other.input_tokens),
        output_tokens: sum(one.output_tokens, other.output_tokens),
        reasoning_tokens: sum(one.reasoning_tokens, other.reasoning_tokens),
        cache_read_tokens: sum(one.cache_read_tokens, other.cache_read_tokens),
        cache_write_tokens: sum(one.cache_write_tokens, other.cache_write_tokens),
        total_tokens: None,
    };
    Some(usage.with_total())
}
