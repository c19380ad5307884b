//! Failures of a turn, sorted into our error codes (T16). Pi tells them in words that begin with the HTTP status.

use omniglot_schema::ErrorCode;
use omniglot_timeline::Failure;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The body of a provider's error: by itself, or below `error`.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    error: Option<Inner>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Inner {
    #[serde(default)]
    message: Option<String>,
}

/// Why a call of the model failed.
pub(crate) fn of_model(words: &str) -> Failure {
    let (status, rest) = split(words);
    let body = rest.find('{').and_then(|at| rest.get(at..));
    let body = body.and_then(|body| serde_json::from_str::<Body>(body).ok());
    let told = body.and_then(|body| body.message.or_else(|| body.error?.message));
    let message = told.unwrap_or_else(|| rest.to_owned());
    let code = code(status, &words.to_lowercase());
    let kind = (code == ErrorCode::RateLimit)
        .then(|| if is_quota(&words.to_lowercase()) { "quota" } else { "rate" });
    let status = status.map(|status| ("status".to_owned(), Value::from(status)));
    let kind = kind.map(|kind| ("kind".to_owned(), Value::from(kind)));
    let details: Map<_, _> = status.into_iter().chain(kind).collect();
    let details = (!details.is_empty()).then_some(Value::Object(details));
    Failure { code, message, details }
}

/// Why Pi did not take a prompt. Its words name files of its installation, which say nothing to a person.
pub(crate) fn of_refusal(words: &str) -> Failure {
    let lower = words.to_lowercase();
    if lower.contains("no api key") || lower.contains("no model") {
        let first = words.lines().next().unwrap_or(words);
        let message = format!("{first} (run `pi` and `/login` in a terminal, or set the key of a provider)");
        return Failure::new(ErrorCode::ProviderAuth, message);
    }
    Failure::new(ErrorCode::ExecutionError, words)
}

/// Returns the status that stands before the words, and the words.
fn split(words: &str) -> (Option<u16>, &str) {
    let digits = words.bytes().take_while(u8::is_ascii_digit).count();
    let status = words
        .get(..digits)
        .and_then(|digits| digits.parse().ok())
        .filter(|status| (400..600).contains(status));
    match (status, words.get(digits..)) {
        (Some(status), Some(rest)) => (Some(status), rest.trim_start_matches(':').trim_start()),
        _ => (None, words),
    }
}

fn code(status: Option<u16>, lower: &str) -> ErrorCode {
    match status {
        _ if is_overflow(lower) => ErrorCode::ContextOverflow,
        Some(401 | 403) => ErrorCode::ProviderAuth,
        Some(402 | 429) => ErrorCode::RateLimit,
        _ if is_quota(lower) => ErrorCode::RateLimit,
        _ if lower.contains("no api key") => ErrorCode::ProviderAuth,
        _ => ErrorCode::ApiError,
    }
}

fn is_overflow(lower: &str) -> bool {
    let signs =
        ["prompt is too long", "context length", "context window", "maximum context", "too many tokens"];
    signs.iter().any(|sign| lower.contains(sign))
}

fn is_quota(lower: &str) -> bool {
    ["quota", "billing", "credit balance", "usage limit"].iter().any(|sign| lower.contains(sign))
}
