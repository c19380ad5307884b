//! The usage of a turn, from the three places and spellings in which ACP agents put it (T15).

use agent_client_protocol_schema::v1::StopReason as WireStop;
use omniglot_schema::{StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::field;
use crate::contract::Unparsed;

/// The answer to `session/prompt`.
pub(crate) struct PromptAnswer {
    /// Why the turn ended, or why we cannot tell.
    pub(crate) stop: Result<StopReason, String>,
    pub(crate) tokens: Option<TokenCount>,
    /// The model, when the turn used exactly one.
    pub(crate) model: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawAnswer<'a> {
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnswerMeta {
    quota: Option<Quota>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Quota {
    token_count: Option<TokenCount>,
    model_usage: Vec<ModelUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelUsage {
    model: Option<String>,
}

/// Tokens as the protocol, gemini (`input_tokens`), claude (`cachedInputTokens`) and codex
/// (`cacheWriteInputTokens`) spell them.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TokenCount {
    #[serde(alias = "input_tokens")]
    input_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    output_tokens: Option<u64>,
    #[serde(alias = "reasoningOutputTokens")]
    thought_tokens: Option<u64>,
    #[serde(alias = "cachedInputTokens")]
    cached_read_tokens: Option<u64>,
    #[serde(alias = "cacheWriteInputTokens")]
    cached_write_tokens: Option<u64>,
    #[serde(alias = "total_tokens")]
    total_tokens: Option<u64>,
}

impl PromptAnswer {
    /// Never fails: whatever the answer looks like, it ends the turn.
    pub(crate) fn parse(raw: &RawValue, faults: &mut Vec<Unparsed>) -> Self {
        let answer: RawAnswer<'_> = field("session/prompt result", Some(raw), faults).unwrap_or_default();
        // Extensions are free-form: a quota of another shape says nothing to us.
        let quota = answer
            .meta
            .and_then(|meta| serde_json::from_str::<AnswerMeta>(meta.get()).ok())
            .and_then(|meta| meta.quota)
            .unwrap_or_default();
        let usage = field("session/prompt result.usage", answer.usage, faults);
        Self {
            stop: stop_reason(answer.stop_reason),
            tokens: usage.or(quota.token_count),
            model: match quota.model_usage.as_slice() {
                [only] => only.model.clone(),
                _ => None,
            },
        }
    }
}

fn stop_reason(raw: Option<&RawValue>) -> Result<StopReason, String> {
    let Some(raw) = raw else { return Err("the answer has no stop reason".to_owned()) };
    match serde_json::from_str(raw.get()) {
        Ok(WireStop::EndTurn) => Ok(StopReason::EndTurn),
        Ok(WireStop::MaxTokens) => Ok(StopReason::MaxTokens),
        Ok(WireStop::MaxTurnRequests) => Ok(StopReason::MaxTurns),
        Ok(WireStop::Refusal) => Ok(StopReason::Refusal),
        Ok(WireStop::Cancelled) => Ok(StopReason::Cancelled),
        Ok(_) | Err(_) => Err(format!("unknown stop reason {raw}")),
    }
}

impl TokenCount {
    /// Adds what another model call of the same turn used.
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (one, None) | (None, one) => one,
        };
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            thought_tokens: sum(self.thought_tokens, other.thought_tokens),
            cached_read_tokens: sum(self.cached_read_tokens, other.cached_read_tokens),
            cached_write_tokens: sum(self.cached_write_tokens, other.cached_write_tokens),
            total_tokens: sum(self.total_tokens, other.total_tokens),
        }
    }

    /// The same numbers in our sense: input without cache, output with reasoning.
    ///
    /// The protocol does not say which is meant; the agent's own total does.
    pub(crate) fn to_usage(self) -> Option<Usage> {
        let (input, output) = (self.input_tokens.unwrap_or(0), self.output_tokens.unwrap_or(0));
        let cache =
            self.cached_read_tokens.unwrap_or(0).saturating_add(self.cached_write_tokens.unwrap_or(0));
        let thought = self.thought_tokens.unwrap_or(0);
        let plain = input.saturating_add(output);
        let input_holds_cache = cache > 0 && self.total_tokens == Some(plain);
        let output_lacks_thought =
            thought > 0 && self.total_tokens == Some(plain.saturating_add(cache).saturating_add(thought));
        let usage = Usage {
            input_tokens: self
                .input_tokens
                .map(|n| if input_holds_cache { n.saturating_sub(cache) } else { n }),
            output_tokens: self
                .output_tokens
                .map(|n| if output_lacks_thought { n.saturating_add(thought) } else { n }),
            reasoning_tokens: self.thought_tokens,
            cache_read_tokens: self.cached_read_tokens,
            cache_write_tokens: self.cached_write_tokens,
            total_tokens: None,
        }
        .with_total();
        (!usage.is_empty()).then_some(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(text: &str) -> String {
        let answer = PromptAnswer::parse(serde_json::from_str(text).unwrap(), &mut vec![]);
        serde_json::to_string(&answer.tokens.and_then(TokenCount::to_usage)).unwrap()
    }

    #[test]
    fn the_standard_spelling_wins_over_the_quota() {
        let answer = r#"{"stopReason":"end_turn","usage":{"inputTokens":240,"outputTokens":30,"cachedReadTokens":40,
            "cachedWriteTokens":20,"totalTokens":330},"_meta":{"quota":{"token_count":{"inputTokens":1}}}}"#;
        insta::assert_snapshot!(usage(answer), @r#"{"input_tokens":240,"output_tokens":30,"cache_read_tokens":40,"cache_write_tokens":20,"total_tokens":330}"#);
    }

    #[test]
    fn gemini_says_it_in_the_quota_and_gives_no_cache() {
        let answer = r#"{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":120,"output_tokens":15}}}}"#;
        insta::assert_snapshot!(usage(answer), @r#"{"input_tokens":120,"output_tokens":15,"total_tokens":135}"#);
    }

    #[test]
    fn an_input_that_holds_the_cache_is_told_by_the_total() {
        let answer =
            r#"{"usage":{"inputTokens":120,"outputTokens":15,"cachedReadTokens":20,"totalTokens":135}}"#;
        insta::assert_snapshot!(usage(answer), @r#"{"input_tokens":100,"output_tokens":15,"cache_read_tokens":20,"total_tokens":135}"#);
    }

    #[test]
    fn no_numbers_make_no_usage() {
        let answer = r#"{"usage":null,"_meta":{"quota":{"token_count":null,"model_usage":[]}}}"#;
        insta::assert_snapshot!(usage(answer), @"null");
    }
}
