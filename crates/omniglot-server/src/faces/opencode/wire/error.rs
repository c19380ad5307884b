//! The errors of a turn, by OpenCode's names.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "name", content = "data")]
pub enum OcError {
    ProviderAuthError {
        #[serde(rename = "providerID")]
        provider_id: String,
        message: String,
    },
    UnknownError {
        message: String,
    },
    MessageOutputLengthError {
        message: String,
    },
    MessageAbortedError {
        message: String,
    },
    ContextOverflowError {
        message: String,
    },
    ContentFilterError {
        message: String,
    },
    APIError {
        message: String,
        #[serde(rename = "statusCode", skip_serializing_if = "Option::is_none")]
        status_code: Option<u16>,
        #[serde(rename = "isRetryable")]
        is_retryable: bool,
    },
}
