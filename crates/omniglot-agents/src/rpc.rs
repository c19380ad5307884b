//! JSON-RPC over stdio as agents use it: one object per line, tag read first, body later.
//!
//! Adds no meaning: the adapter interprets methods and answers.

use std::borrow::Cow;
use std::fmt;

use omniglot_schema::json_rpc::{Envelope, Outgoing};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::contract::{Output, Unparsed, decode};
use crate::conversation::requests::{OutboundRequests, RequestId};
use crate::fault::unparsed;

/// One message of either side.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: RpcId, method: Cow<'a, str>, params: &'a RawValue },
    Notification { method: Cow<'a, str>, params: &'a RawValue },
    Answer { id: RpcId, result: Result<&'a RawValue, RpcError> },
}

/// A request id; each side chooses its own kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum RpcId {
    Number(serde_json::Number),
    Text(String),
    Null,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<serde_json::Value>,
}

impl RpcError {
    pub(crate) const AUTH_REQUIRED: i64 = -32000;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INTERNAL: i64 = -32603;
    pub(crate) const NOT_FOUND: i64 = -32002;
    pub(crate) const CANCELLED: i64 = -32800;

    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns the answer to a request that is not served (T18).
    pub(crate) fn not_served(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("method not found: {method}"))
    }

    pub(crate) fn shown(&self) -> &str {
        if self.message.is_empty() { "it gave no reason" } else { &self.message }
    }
}

impl<'a> Message<'a> {
    pub(crate) fn parse(frame: &'a RawValue) -> Result<Self, Unparsed> {
        // A derived struct would read an array by position; no agent sends batches.
        if !frame.get().starts_with('{') {
            return Err(unparsed("json-rpc", "not an object"));
        }
        let envelope: Envelope<'a> = decode("json-rpc", frame)?;
        let id = envelope.id.map(|id| decode("json-rpc id", id)).transpose()?;
        let params = envelope.params.unwrap_or(RawValue::NULL);
        match (envelope.method, id) {
            (Some(method), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(method), None) => Ok(Self::Notification { method, params }),
            (None, Some(id)) => {
                let result = match (envelope.error, envelope.result) {
                    (Some(error), _) => Err(decode("json-rpc error", error)?),
                    (None, Some(result)) => Ok(result),
                    (None, None) => return Err(unparsed("json-rpc", "neither method, result nor error")),
                };
                Ok(Self::Answer { id, result })
            }
            (None, None) => Err(unparsed("json-rpc", "neither method nor id")),
        }
    }
}

impl fmt::Display for RpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Null => f.write_str("null"),
        }
    }
}

impl RequestId for RpcId {
    fn numbered(prefix: Option<&str>, number: u64) -> Self {
        match prefix {
            Some(_) => Self::Text(String::numbered(prefix, number)),
            None => Self::Number(number.into()),
        }
    }
}

impl<T> OutboundRequests<RpcId, T> {
    pub(crate) fn request<P: Serialize>(&mut self, method: &str, params: &P) -> (RpcId, Output) {
        let id = self.next_id();
        let output = send(request(&id, method, params));
        (id, output)
    }
}

/// Returns a request of ours.
pub(crate) fn request<T: Serialize>(id: &RpcId, method: &str, params: &T) -> Option<Box<RawValue>> {
    to_raw(&Outgoing::request(id, method, params))
}

pub(crate) fn notification<T: Serialize>(method: &str, params: Option<&T>) -> Option<Box<RawValue>> {
    to_raw(&Outgoing::notification(method, params))
}

pub(crate) fn answer<T: Serialize>(id: &RpcId, result: &T) -> Option<Box<RawValue>> {
    to_raw(&Outgoing::<_, _, RpcError>::answer(id, Ok(result)))
}

pub(crate) fn refusal(id: &RpcId, error: &RpcError) -> Option<Box<RawValue>> {
    to_raw(&Outgoing::<_, (), _>::answer(id, Err(error)))
}

/// All our messages are plain data; only a path that is not UTF-8 cannot become JSON.
pub(crate) fn send(message: Option<Box<RawValue>>) -> Output {
    match message {
        Some(message) => Output::send(message),
        None => Output::unparsed(unparsed("stdin", "a message to the agent cannot be written as JSON")),
    }
}

fn to_raw<T: Serialize>(value: &T) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(value).ok()
}
