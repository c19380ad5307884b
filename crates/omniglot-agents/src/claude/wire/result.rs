//! The line that ends a turn, and the numbers in it.

use indexmap::IndexMap;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct TurnResult {
    pub(crate) subtype: String,
    /// The only sign of failure to trust: API errors come with the subtype `success`.
    #[serde(default)]
    pub(crate) is_error: bool,
    #[serde(default)]
    pub(crate) api_error_status: Option<u16>,
    #[serde(default)]
    pub(crate) result: Option<String>,
    #[serde(default)]
    pub(crate) errors: Vec<String>,
    #[serde(default)]
    pub(crate) stop_reason: Option<String>,
    #[serde(default)]
    pub(crate) terminal_reason: Option<String>,
    /// The main thread's calls of this turn.
    #[serde(default)]
    pub(crate) usage: Option<Tokens>,
    /// Cumulative, as is `model_usage`; subagents included.
    #[serde(default)]
    pub(crate) total_cost_usd: Option<f64>,
    #[serde(default, rename = "modelUsage")]
    pub(crate) model_usage: IndexMap<String, ModelUsage>,
    /// The share of this result (2.1.325).
    #[serde(default)]
    pub(crate) model_usage_since_last_result: Option<IndexMap<String, ModelUsage>>,
    #[serde(default)]
    pub(crate) structured_output: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) origin: Option<Origin>,
}

/// The cause of a turn that no prompt began.
#[derive(Debug, Deserialize)]
pub(crate) struct Origin {
    #[serde(default)]
    pub(crate) kind: Option<String>,
}

/// Tokens in the spelling of the model's API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Tokens {
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) cache_read_input_tokens: Option<u64>,
    pub(crate) cache_creation_input_tokens: Option<u64>,
    pub(crate) output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct OutputDetails {
    pub(crate) thinking_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ModelUsage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_input_tokens: u64,
    pub(crate) cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD")]
    pub(crate) cost_usd: f64,
    pub(crate) context_window: Option<u64>,
}
