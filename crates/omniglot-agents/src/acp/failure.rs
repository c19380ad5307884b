//! JSON-RPC errors as agents really write them, sorted into our error codes (T16).
//!
//! Standard codes say little: gemini puts the HTTP status into the code, claude-agent-acp a kind into
//! `data.errorKind`, codex-acp one into `data.codex_error_info`; some only say it in words.

use crate::rpc::RpcError;
use omniglot_schema::ErrorCode;
use omniglot_timeline::Failure;
use serde_json::Value;

/// Returns the failure of a prompt.
pub(crate) fn failure(error: &RpcError) -> Failure {
    let message = message(error);
    let code = code(error, &message);
    let mut failure = Failure::new(code, message);
    failure.details = Some(details(error, code, &failure.message));
    failure
}

/// Returns the failure that a message in words describes.
pub(crate) fn failure_in_words(message: &str) -> Failure {
    let code = in_words(message).or_else(|| http_status_in(message).map(http)).unwrap_or(ErrorCode::ApiError);
    let kind = limit_kind(code, message).map(|kind| serde_json::json!({ "kind": kind }));
    Failure { details: kind, ..Failure::new(code, message) }
}

/// The words for a person: the innermost message there is.
pub(crate) fn message(error: &RpcError) -> String {
    let data = error.data.as_ref();
    let inner = data.and_then(|data| text(data, "/message").or_else(|| text(data, "/details")));
    let message = match (inner, data.and_then(Value::as_str)) {
        (Some(inner), _) if is_generic(&error.message) => inner.to_owned(),
        (None, Some(data)) if is_generic(&error.message) => format!("{}: {data}", error.message),
        _ => unwrap_json(&error.message),
    };
    match message.strip_prefix("Internal error: ") {
        Some(rest) => rest.to_owned(),
        None if message.is_empty() => format!("error {}", error.code),
        None => message,
    }
}

/// Whether the message is only the standard name of its code, so that `data` says more.
fn is_generic(message: &str) -> bool {
    matches!(message, "" | "Internal error" | "Invalid params" | "Method not found" | "Resource not found")
}

/// gemini wraps the model server's error into the message as JSON text.
fn unwrap_json(message: &str) -> String {
    let inner = serde_json::from_str::<Value>(message).ok();
    let words = inner.as_ref().and_then(|value| text(value, "/error/message"));
    words.unwrap_or(message).to_owned()
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn code(error: &RpcError, message: &str) -> ErrorCode {
    if is_overflow(message) {
        return ErrorCode::ContextOverflow;
    }
    if error.code == RpcError::AUTH_REQUIRED {
        return ErrorCode::ProviderAuth;
    }
    if error.code == RpcError::CANCELLED {
        return ErrorCode::Aborted;
    }
    let by_kind = kind(error).and_then(by_kind);
    let by_status = || http_status(error).or_else(|| http_status_in(message)).map(http);
    // A status of the server's own fault may hide a limit, which the words tell.
    let is_vague = |code: &ErrorCode| *code == ErrorCode::ApiError && is_limit(message);
    let told = by_kind.or_else(by_status).filter(|code| !is_vague(code));
    told.or_else(|| in_words(message)).unwrap_or(match error.code {
        -32700..=-32600 | 1001 => ErrorCode::ExecutionError,
        _ => ErrorCode::Unknown,
    })
}

/// The agent's own word for what happened.
fn kind(error: &RpcError) -> Option<&str> {
    let data = error.data.as_ref()?;
    text(data, "/errorKind").or_else(|| codex_kind(data)).or_else(|| text(data, "/name"))
}

/// codex writes a bare name, or an object whose only key is the name.
fn codex_kind(data: &Value) -> Option<&str> {
    match data.get("codex_error_info")? {
        Value::String(name) => Some(name),
        Value::Object(map) => map.keys().next().map(String::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn by_kind(kind: &str) -> Option<ErrorCode> {
    Some(match kind {
        "rate_limit" | "billing_error" | "usage_limit_exceeded" => ErrorCode::RateLimit,
        "ProviderAuthError" => ErrorCode::ProviderAuth,
        "ContextOverflowError" => ErrorCode::ContextOverflow,
        "MessageOutputLengthError" => ErrorCode::OutputLength,
        "authentication_failed" | "oauth_org_not_allowed" | "unauthorized" => ErrorCode::ProviderAuth,
        "max_output_tokens" => ErrorCode::OutputLength,
        "context_window_exceeded" => ErrorCode::ContextOverflow,
        "server_error"
        | "overloaded"
        | "invalid_request"
        | "model_not_found"
        | "internal_server_error"
        | "server_overloaded"
        | "bad_request" => ErrorCode::ApiError,
        _ => return None,
    })
}

fn http_status(error: &RpcError) -> Option<u16> {
    let data = error.data.as_ref();
    let codex = data.and_then(|data| data.get("codex_error_info")?.as_object()?.values().next());
    let named = || data.and_then(|data| data.get("statusCode").or_else(|| data.pointer("/data/statusCode")));
    let status = codex.and_then(|info| info.get("http_status_code")).or_else(named).and_then(Value::as_u64);
    status
        .and_then(|n| u16::try_from(n).ok())
        .or_else(|| u16::try_from(error.code).ok())
        .filter(is_http_error)
}

/// The status in "last status: 429 Too Many Requests", "unexpected status 401 Unauthorized",
/// "API Error: 400 …" and "500 An internal error …".
fn http_status_in(message: &str) -> Option<u16> {
    let after = |word: &str| message.split_once(word).map(|(_, rest)| rest);
    let rest = after("status").or_else(|| after("API Error")).unwrap_or(message);
    let digits: String =
        rest.trim_start_matches([':', ' ']).chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(is_http_error)
}

fn is_http_error(status: &u16) -> bool {
    (400..600).contains(status)
}

fn http(status: u16) -> ErrorCode {
    match status {
        401 | 403 => ErrorCode::ProviderAuth,
        429 => ErrorCode::RateLimit,
        _ => ErrorCode::ApiError,
    }
}

fn is_overflow(message: &str) -> bool {
    const SIGNS: [&str; 6] = [
        "prompt is too long",
        "token count exceeds",
        "exceeds the maximum number of tokens",
        "context window",
        "context length",
        "maximum context",
    ];
    let lower = message.to_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign))
}

fn in_words(message: &str) -> Option<ErrorCode> {
    let lower = message.to_lowercase();
    let any = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    if is_overflow(message) {
        Some(ErrorCode::ContextOverflow)
    } else if any(&["api key", "api_key", "authentication", "unauthorized", "not logged in", "log in"]) {
        Some(ErrorCode::ProviderAuth)
    } else if is_limit(message) {
        Some(ErrorCode::RateLimit)
    } else if any(&["apierror", "api error"]) {
        Some(ErrorCode::ApiError)
    } else {
        None
    }
}

fn is_limit(message: &str) -> bool {
    const SIGNS: [&str; 6] =
        ["rate limit", "quota", "billing", "too many requests", "usage limit", "resource_exhausted"];
    let lower = message.to_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign))
}

fn details(error: &RpcError, code: ErrorCode, message: &str) -> Value {
    let mut details = serde_json::Map::new();
    if let Some(kind) = limit_kind(code, message) {
        details.insert("kind".into(), kind.into());
    }
    details.insert("native_code".into(), error.code.into());
    if let Some(data) = &error.data {
        details.insert("data".into(), data.clone());
    }
    Value::Object(details)
}

/// Which limit was reached.
fn limit_kind(code: ErrorCode, message: &str) -> Option<&'static str> {
    let lower = message.to_lowercase();
    let quota = ["quota", "billing", "credit", "usage limit"].iter().any(|sign| lower.contains(sign));
    (code == ErrorCode::RateLimit).then_some(if quota { "quota" } else { "rate" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn sorted(error: &str) -> String {
        let failure = failure(&serde_json::from_str(error).unwrap());
        format!("{:?}: {}", failure.code, failure.message)
    }

    #[test]
    fn gemini_puts_the_http_status_into_the_code() {
        let error = r#"{"code":401,"message":"{\"error\":{\"code\":401,\"message\":\"API key not valid.\",\"status\":\"UNAUTHENTICATED\"}}"}"#;
        insta::assert_snapshot!(sorted(error), @"ProviderAuth: API key not valid.");
        insta::assert_snapshot!(sorted(r#"{"code":429,"message":"You exceeded your current quota."}"#), @"RateLimit: You exceeded your current quota.");
        insta::assert_snapshot!(sorted(r#"{"code":500,"message":"boom"}"#), @"ApiError: boom");
        let error = r#"{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576."}"#;
        insta::assert_snapshot!(sorted(error), @"ContextOverflow: The input token count exceeds the maximum number of tokens allowed 1048576.");
    }

    #[test]
    fn claude_names_the_kind_in_its_data() {
        let error = |kind: &str, text: &str| {
            sorted(&format!(
                r#"{{"code":-32603,"message":"Internal error: {text}","data":{{"errorKind":"{kind}"}}}}"#
            ))
        };
        insta::assert_snapshot!(error("rate_limit", "Request rejected (429)"), @"RateLimit: Request rejected (429)");
        insta::assert_snapshot!(error("authentication_failed", "Invalid API key"), @"ProviderAuth: Invalid API key");
        insta::assert_snapshot!(error("server_error", "529 Overloaded."), @"ApiError: 529 Overloaded.");
        insta::assert_snapshot!(error("invalid_request", "Prompt is too long"), @"ContextOverflow: Prompt is too long");
        insta::assert_snapshot!(error("max_output_tokens", "exceeded the 64000 output token maximum"), @"OutputLength: exceeded the 64000 output token maximum");
    }

    #[test]
    fn codex_names_it_in_error_info_or_only_in_words() {
        let error = |message: &str, info: &str| {
            let data = format!(r#"{{"message":"{message}","codex_error_info":{info}}}"#);
            sorted(&format!(r#"{{"code":-32603,"message":"Internal error","data":{data}}}"#))
        };
        let info = r#"{"response_too_many_failed_attempts":{"http_status_code":429}}"#;
        insta::assert_snapshot!(error("exceeded retry limit", info), @"RateLimit: exceeded retry limit");
        insta::assert_snapshot!(error("Quota exceeded.", r#""usage_limit_exceeded""#), @"RateLimit: Quota exceeded.");
        insta::assert_snapshot!(error("unexpected status 401 Unauthorized", r#""other""#), @"ProviderAuth: unexpected status 401 Unauthorized");
        insta::assert_snapshot!(error("Missing environment variable: OPENAI_API_KEY", r#""other""#), @"ProviderAuth: Missing environment variable: OPENAI_API_KEY");
        insta::assert_snapshot!(error("Codex ran out of room", r#""context_window_exceeded""#), @"ContextOverflow: Codex ran out of room");
    }

    /// A17: older versions of gemini, and OpenCode behind ACP.
    #[test]
    fn a_limit_and_an_error_of_the_api_are_known_by_their_names() {
        let quota = "You have exhausted your daily quota on this model.";
        assert_eq!(sorted(&format!(r#"{{"code":500,"message":"{quota}"}}"#)), format!("RateLimit: {quota}"));
        let error = |data: &str| {
            sorted(&format!(
                r#"{{"code":-32603,"message":"Internal error","data":{{"name":"APIError",{data}}}}}"#
            ))
        };
        assert_eq!(error(r#""message":"no","statusCode":401"#), "ProviderAuth: no");
        assert_eq!(error(r#""message":"boom","data":{"statusCode":502}"#), "ApiError: boom");
        assert_eq!(sorted(r#"{"code":-32603,"message":"APIError: gone"}"#), "ApiError: APIError: gone");
    }

    #[test]
    fn what_nobody_explains_is_an_internal_failure_or_unknown() {
        insta::assert_snapshot!(sorted(r#"{"code":-32603,"message":"Internal error","data":{"details":"zod"}}"#), @"ExecutionError: zod");
        insta::assert_snapshot!(sorted(r#"{"code":-32000,"message":"Authentication required"}"#), @"ProviderAuth: Authentication required");
        insta::assert_snapshot!(sorted(r#"{"code":7,"message":""}"#), @"Unknown: error 7");
    }
}
