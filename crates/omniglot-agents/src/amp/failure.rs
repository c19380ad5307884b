//! Failures of a turn, sorted into our error codes (T16). Amp tells them in words for people.

use omniglot_schema::ErrorCode;
use omniglot_timeline::Failure;
use serde_json::json;

use super::launch::START;

/// Why a turn failed, in the words of its `result`.
pub(crate) fn of_turn(words: &str) -> Failure {
    let lower = words.to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    let (code, kind) = if has(&["context limit", "context window", "prompt is too long"]) {
        (ErrorCode::ContextOverflow, None)
    } else if has(&["unauthorized", "api key", "not signed in"]) {
        (ErrorCode::ProviderAuth, None)
    } else if has(&["out of credits", "insufficient credit", "quota"]) {
        (ErrorCode::RateLimit, Some("quota"))
    } else if has(&["rate limit", "too many requests"]) {
        (ErrorCode::RateLimit, Some("rate"))
    } else if is_cancel(words) {
        (ErrorCode::Aborted, None)
    } else if has(&["on stdin line"]) {
        (ErrorCode::ExecutionError, None)
    } else {
        (ErrorCode::ApiError, None)
    };
    Failure { code, message: words.to_owned(), details: kind.map(|kind| json!({ "kind": kind })) }
}

/// Why a process ended before it had a turn, in the words of its stderr.
pub(crate) fn of_exit(words: &str) -> Failure {
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let told = lines.join(" ");
    let message = told.strip_prefix("Error: ").unwrap_or(&told);
    let lower = words.to_lowercase();
    if is_unknown_thread(words) {
        let message = format!("{message} The next message begins a new thread");
        return Failure::new(ErrorCode::ExecutionError, message);
    }
    if lower.contains("api key") || lower.contains("amp login") {
        return Failure::new(ErrorCode::ProviderAuth, format!("{message} ({})", START.login));
    }
    if lower.contains("connect to the amp server") {
        return Failure::new(ErrorCode::ApiError, message);
    }
    if lower.contains("credit") || lower.contains("402") {
        let details = Some(json!({ "kind": "quota" }));
        return Failure { code: ErrorCode::RateLimit, message: message.to_owned(), details };
    }
    Failure::new(ErrorCode::ExecutionError, message)
}

/// Amp's server does not have the thread any more, or does not continue it.
pub(crate) fn is_unknown_thread(words: &str) -> bool {
    let lower = words.to_lowercase();
    let signs = ["does not exist", "is archived", "thread not found"];
    lower.contains("thread") && signs.iter().any(|sign| lower.contains(sign))
}

pub(crate) fn is_cancel(words: &str) -> bool {
    words.starts_with("User cancelled")
}

pub(crate) fn is_no_prompt(words: &str) -> bool {
    words.starts_with("No valid messages")
}
