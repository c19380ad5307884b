//! JSON-RPC as `codex app-server` speaks it: one object per line, without a `jsonrpc` member.
//!
//! Adds no meaning. What is said in it is in the modules below: notifications, items, requests of the server
//! and the answers to ours. Every type is read tag first, body later, and ignores fields that it does not need.

mod answer;
mod ask;
mod item;
mod notice;
mod send;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

pub(crate) use answer::*;
pub(crate) use ask::*;
pub(crate) use item::*;
pub(crate) use notice::*;
pub(crate) use send::*;

use crate::contract::{Unparsed, decode};

/// One message of either side.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: RpcId, method: Cow<'a, str>, params: &'a RawValue },
    Notification { method: Cow<'a, str>, params: &'a RawValue },
    Answer { id: RpcId, result: Result<&'a RawValue, RpcError> },
}

/// A request id; the two sides count apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum RpcId {
    Number(serde_json::Number),
    Text(String),
    Null,
}

/// Codex answers everything that it refuses with the same code; only the message tells them apart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

impl RpcError {
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

    pub(crate) fn not_served(method: &str) -> Self {
        Self { code: Self::METHOD_NOT_FOUND, message: format!("not served: {method}") }
    }

    pub(crate) fn shown(&self) -> &str {
        if self.message.is_empty() { "it gave no reason" } else { &self.message }
    }
}

impl<'a> Message<'a> {
    pub(crate) fn parse(frame: &'a RawValue) -> Result<Self, Unparsed> {
        // A derived struct would read an array by position; Codex has no batches.
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

/// A null is a real value but for `error`, which some writers always add.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
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

/// A request of ours; `None` only for a value that JSON cannot hold.
pub(crate) fn request<T: Serialize>(id: &RpcId, method: &str, params: &T) -> Option<Box<RawValue>> {
    to_raw(&Outgoing { id: Some(id), method: Some(method), params: Some(params), ..Outgoing::EMPTY })
}

pub(crate) fn notification(method: &str) -> Option<Box<RawValue>> {
    to_raw(&Outgoing::<()> { method: Some(method), ..Outgoing::EMPTY })
}

pub(crate) fn answer<T: Serialize>(id: &RpcId, result: &T) -> Option<Box<RawValue>> {
    to_raw(&Outgoing { id: Some(id), result: Some(result), ..Outgoing::EMPTY })
}

pub(crate) fn refusal(id: &RpcId, error: &RpcError) -> Option<Box<RawValue>> {
    to_raw(&Outgoing::<()> { id: Some(id), error: Some(error), ..Outgoing::EMPTY })
}

#[derive(Serialize)]
struct Outgoing<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RpcId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

impl<T> Outgoing<'_, T> {
    const EMPTY: Self = Self { id: None, method: None, params: None, result: None, error: None };
}

fn to_raw<T: Serialize>(value: &T) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(value).ok()
}

pub(crate) fn unparsed(location: &str, error: impl Into<String>) -> Unparsed {
    Unparsed { error: error.into(), location: location.to_owned(), raw_hash: None }
}
