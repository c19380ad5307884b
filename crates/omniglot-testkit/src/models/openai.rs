//! The common forms of both APIs of OpenAI: errors and images.

use serde_json::{Value, json};

use super::reply::Failure;

pub(super) fn failure(failure: Failure) -> (u16, Value) {
    let (status, kind, code) = match failure {
        Failure::BadRequest => (400, "invalid_request_error", Value::Null),
        Failure::Overflow => (400, "invalid_request_error", "context_length_exceeded".into()),
        Failure::Unauthorized => (401, "invalid_request_error", "invalid_api_key".into()),
        Failure::Forbidden => (403, "invalid_request_error", "unsupported_country_region_territory".into()),
        Failure::UnknownModel => (404, "invalid_request_error", "model_not_found".into()),
        Failure::RateLimit => (429, "requests", "rate_limit_exceeded".into()),
        Failure::Server => (500, "server_error", Value::Null),
        Failure::Overloaded => (503, "server_error", "server_is_overloaded".into()),
    };
    let message = failure.message();
    (status, json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

/// Returns `image/png` of `data:image/png;base64,…`.
pub(super) fn mime_of_data_url(url: &str) -> String {
    let rest = url.strip_prefix("data:").unwrap_or_default();
    rest.split(';').next().unwrap_or_default().to_owned()
}
