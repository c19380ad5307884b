//! The part of a JSON-RPC message that a relay must read.

use std::fmt;

use omniglot_schema::json_rpc::{self, Outgoing};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A request's id, as its sender wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct RpcId(Value);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Envelope {
    Request {
        id: RpcId,
        method: String,
    },
    Answer {
        id: RpcId,
    },
    /// A notification, or a message that the daemon has to interpret.
    Other,
}

/// The reason why a line is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    NotJson,
    NotAnObject,
    TooLong,
}

impl Envelope {
    pub(super) fn parse(line: &[u8]) -> Result<Self, Fault> {
        let raw: &RawValue = serde_json::from_slice(line).map_err(|_| Fault::NotJson)?;
        if !raw.get().starts_with('{') {
            return Err(Fault::NotAnObject);
        }
        // The daemon refuses a method that is no text.
        let Ok(parts) = serde_json::from_str::<json_rpc::Envelope<'_>>(raw.get()) else {
            return Ok(Self::Other);
        };
        let id = parts.id.and_then(|id| serde_json::from_str(id.get()).ok());
        Ok(match (id, parts.method) {
            (Some(id), Some(method)) => Self::Request { id, method: method.into() },
            (Some(id), None) => Self::Answer { id },
            (None, _) => Self::Other,
        })
    }
}

impl Fault {
    /// Returns the answer to a line without a readable id.
    pub(super) fn answer(self) -> String {
        let (code, message) = match self {
            Self::NotJson => (-32700, "the line is not JSON; send one JSON-RPC message per line"),
            Self::NotAnObject => (-32600, "the line is not a JSON-RPC object; batches are not part of ACP"),
            Self::TooLong => (-32600, "the line is too long; name large files instead of sending them"),
        };
        error_answer(&RpcId(Value::Null), code, message, None)
    }
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

pub(super) fn error_answer(id: &RpcId, code: i64, message: &str, data: Option<Value>) -> String {
    let error = ErrorBody { code, message, data };
    // Strings and values always serialise.
    serde_json::to_string(&Outgoing::<_, (), _>::answer(id, Err(&error))).unwrap_or_default()
}

impl fmt::Display for RpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(value: impl Into<Value>) -> RpcId {
        RpcId(value.into())
    }

    #[test]
    fn requests_answers_and_the_rest_are_told_apart() {
        let parse = |line: &str| Envelope::parse(line.as_bytes()).unwrap();
        let request = parse(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
        assert_eq!(request, Envelope::Request { id: id(0), method: "initialize".into() });
        let answer = parse(r#"{"jsonrpc":"2.0","id":"perm_1","result":{}}"#);
        assert_eq!(answer, Envelope::Answer { id: id("perm_1") });
        assert_eq!(parse(r#"{"id":null,"error":{}}"#), Envelope::Answer { id: id(Value::Null) });
        assert_eq!(parse(r#"{"method":"session/cancel"}"#), Envelope::Other);
        assert_eq!(parse(r#"{"id":1,"method":2}"#), Envelope::Other);
    }

    #[test]
    fn what_is_no_message_is_answered_with_what_is_wrong() {
        assert_eq!(Envelope::parse(b"hello"), Err(Fault::NotJson));
        assert_eq!(Envelope::parse(b"\xff{}"), Err(Fault::NotJson));
        assert_eq!(Envelope::parse(b"[{}]"), Err(Fault::NotAnObject));
        let answer: Value = serde_json::from_str(&Fault::NotJson.answer()).unwrap();
        assert_eq!(answer.pointer("/error/code"), Some(&Value::from(-32700)));
        assert_eq!(answer.get("id"), Some(&Value::Null));
    }
}
