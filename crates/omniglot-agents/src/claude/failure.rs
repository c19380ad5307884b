//! Failures of a turn, sorted into our error codes (T16).
//!
//! The CLI names the kind of an API error beside its words, in a line of its own before the `result`.

use omniglot_schema::ErrorCode;
use omniglot_timeline::Failure;
use serde_json::{Map, Value};

use super::wire::TurnResult;

/// An API error as it was told.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) kind: String,
    pub(crate) words: String,
}

/// Where credentials are looked for; named, never read.
pub(crate) const CREDENTIALS: &str =
    "ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN, and the login of `claude /login`";

/// Why a turn failed whose result says so.
pub(crate) fn failure(result: &TurnResult, told: Option<&Told>, resets_at: Option<f64>) -> Failure {
    let words = words(result, told);
    let code = code(result, told, &words);
    let mut details = Map::new();
    if let Some(told) = told {
        details.insert("native_kind".into(), told.kind.clone().into());
    }
    if let Some(status) = result.api_error_status {
        details.insert("status".into(), status.into());
    }
    let mut message = words;
    if code == ErrorCode::RateLimit {
        let quota = told.is_some_and(|told| told.kind == "billing_error") || is_quota(&message);
        details.insert("kind".into(), if quota { "quota" } else { "rate" }.into());
        details.extend(resets_at.map(|at| ("resets_at".to_owned(), Value::from(at))));
    }
    if code == ErrorCode::ProviderAuth && result.api_error_status.is_none() {
        details.insert("hint".into(), "log in with `claude /login`, or set ANTHROPIC_API_KEY".into());
        message = format!("{message} (looked for {CREDENTIALS})");
    }
    let details = (!details.is_empty()).then_some(Value::Object(details));
    Failure { code, message, details }
}

fn words(result: &TurnResult, told: Option<&Told>) -> String {
    let said = told.map(|told| told.words.clone()).or_else(|| result.result.clone());
    match said.filter(|words| !words.is_empty()) {
        Some(words) => words.strip_prefix("API Error: ").unwrap_or(&words).to_owned(),
        None if result.errors.is_empty() => result.subtype.clone(),
        None => result.errors.join("; "),
    }
}

fn code(result: &TurnResult, told: Option<&Told>, words: &str) -> ErrorCode {
    match result.subtype.as_str() {
        "error_max_turns" => return ErrorCode::MaxTurns,
        "error_max_budget_usd" => return ErrorCode::MaxBudget,
        "success" => {}
        _ => return ErrorCode::ExecutionError,
    }
    if is_overflow(words) {
        return ErrorCode::ContextOverflow;
    }
    match (told.map(|told| told.kind.as_str()), result.api_error_status) {
        (Some("rate_limit" | "billing_error"), _) | (_, Some(429)) => ErrorCode::RateLimit,
        (Some("authentication_failed" | "oauth_org_not_allowed"), _) | (_, Some(401 | 403)) => {
            ErrorCode::ProviderAuth
        }
        (Some("max_output_tokens"), _) => ErrorCode::OutputLength,
        _ if is_quota(words) => ErrorCode::RateLimit,
        _ => ErrorCode::ApiError,
    }
}

fn is_overflow(words: &str) -> bool {
    let lower = words.to_lowercase();
    ["prompt is too long", "context window", "context limit", "maximum context"]
        .iter()
        .any(|sign| lower.contains(sign))
}

fn is_quota(words: &str) -> bool {
    let lower = words.to_lowercase();
    ["usage limit", "limit reached", "credit balance", "quota"].iter().any(|sign| lower.contains(sign))
}
