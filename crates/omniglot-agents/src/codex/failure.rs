//! Maps failures to the codes of our list (T16).

use omniglot_schema::ErrorCode;
use omniglot_timeline::Failure;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::wire::TurnError;

pub(crate) fn failure(error: &TurnError) -> Failure {
    let message = plain_message(&error.message);
    let info = Info::read(error.codex_error_info.as_ref());
    let code = info.code().unwrap_or_else(|| code_in_words(&error.message));
    let mut details = Map::new();
    if code == ErrorCode::RateLimit {
        let quota = info.name == "usageLimitExceeded";
        details.insert("kind".into(), if quota { "quota" } else { "rate" }.into());
    }
    if let Some(native) = &error.codex_error_info {
        details.insert("codex_error_info".into(), native.clone());
    }
    if let Some(more) = &error.additional_details {
        details.insert("additional_details".into(), more.clone().into());
    }
    let details = (!details.is_empty()).then_some(Value::Object(details));
    Failure { code, message, details }
}

/// Returns whether a filter of the provider has withheld the answer, which is a refusal and no failure.
pub(crate) fn is_refusal(error: &TurnError) -> bool {
    error.message.contains("reason: content_filter")
}

/// A word, or an object whose one key is the word.
#[derive(Default)]
struct Info {
    name: String,
    status: Option<u64>,
}

impl Info {
    fn read(info: Option<&Value>) -> Self {
        match info {
            Some(Value::String(name)) => Self { name: name.clone(), status: None },
            Some(Value::Object(map)) => map.iter().next().map_or_else(Self::default, |(name, body)| Self {
                name: name.clone(),
                status: body.get("httpStatusCode").and_then(Value::as_u64),
            }),
            Some(_) | None => Self::default(),
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        Some(match (self.name.as_str(), self.status) {
            (_, Some(401 | 403)) | ("unauthorized", _) => ErrorCode::ProviderAuth,
            (_, Some(429)) | ("usageLimitExceeded" | "rateLimitExceeded", _) => ErrorCode::RateLimit,
            ("contextWindowExceeded", _) => ErrorCode::ContextOverflow,
            ("sessionBudgetExceeded", _) => ErrorCode::MaxBudget,
            ("tooManyDenials" | "threadRollbackFailed" | "sandboxError" | "activeTurnNotSteerable", _) => {
                ErrorCode::ExecutionError
            }
            (
                "httpConnectionFailed"
                | "responseStreamConnectionFailed"
                | "responseStreamDisconnected"
                | "responseTooManyFailedAttempts"
                | "internalServerError"
                | "serverOverloaded"
                | "flexUnavailable"
                | "modelNotFound"
                | "policyCapacityUnavailable"
                | "badRequest"
                | "cyberPolicy"
                | "misalignmentPolicyViolation",
                _,
            ) => ErrorCode::ApiError,
            // `other`, and whatever a newer Codex says: the message has to tell.
            _ => return None,
        })
    }
}

fn code_in_words(message: &str) -> ErrorCode {
    let lower = message.to_lowercase();
    let any = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    if any(&["context_length_exceeded", "context window", "prompt is too long"]) {
        ErrorCode::ContextOverflow
    } else if any(&["max_output_tokens"]) {
        ErrorCode::OutputLength
    } else if any(&["missing environment variable", "api key", "401 unauthorized", "403 forbidden"]) {
        ErrorCode::ProviderAuth
    } else if any(&["insufficient_quota", "rate limit", "too many requests"]) {
        ErrorCode::RateLimit
    } else if lower.starts_with('{') || any(&["stream disconnected", "unexpected status", "connection"]) {
        ErrorCode::ApiError
    } else {
        ErrorCode::Unknown
    }
}

/// Some failures are told as the whole body of the provider's answer.
fn plain_message(message: &str) -> String {
    #[derive(Deserialize)]
    struct Body {
        error: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        message: String,
    }
    serde_json::from_str::<Body>(message).map_or_else(|_| message.to_owned(), |body| body.error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn sorted(message: &str, info: &str) -> String {
        let info = serde_json::from_str(info).unwrap();
        let error = TurnError { message: message.into(), codex_error_info: info, additional_details: None };
        let failure = failure(&error);
        format!("{:?}: {} {}", failure.code, failure.message, failure.details.unwrap_or_default())
    }

    #[test]
    fn the_status_of_the_provider_decides() {
        insta::assert_snapshot!(sorted("unexpected status 401", r#"{"httpConnectionFailed":{"httpStatusCode":401}}"#), @r#"ProviderAuth: unexpected status 401 {"codex_error_info":{"httpConnectionFailed":{"httpStatusCode":401}}}"#);
        insta::assert_snapshot!(sorted("retry limit", r#"{"responseTooManyFailedAttempts":{"httpStatusCode":429}}"#), @r#"RateLimit: retry limit {"kind":"rate","codex_error_info":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}"#);
        insta::assert_snapshot!(sorted("offline", r#"{"httpConnectionFailed":{"httpStatusCode":null}}"#), @r#"ApiError: offline {"codex_error_info":{"httpConnectionFailed":{"httpStatusCode":null}}}"#);
    }

    #[test]
    fn where_codex_says_other_the_words_decide() {
        let body = r#"{"error":{"code":"context_length_exceeded","message":"Too much."}}"#;
        insta::assert_snapshot!(sorted(body, r#""other""#), @r#"ContextOverflow: Too much. {"codex_error_info":"other"}"#);
        insta::assert_snapshot!(sorted("Missing environment variable: `KEY`.", r#""other""#), @r#"ProviderAuth: Missing environment variable: `KEY`. {"codex_error_info":"other"}"#);
        insta::assert_snapshot!(sorted("Incomplete response returned, reason: max_output_tokens", r#""other""#), @r#"OutputLength: Incomplete response returned, reason: max_output_tokens {"codex_error_info":"other"}"#);
        insta::assert_snapshot!(sorted("quota", r#""usageLimitExceeded""#), @r#"RateLimit: quota {"kind":"quota","codex_error_info":"usageLimitExceeded"}"#);
        insta::assert_snapshot!(sorted("who knows", "null"), @"Unknown: who knows null");
    }
}
