//! The JSON-RPC envelope: one message of a client, and our messages as bytes.
//!
//! Knows no method; parameters and results are typed where a method is served.

use agent_client_protocol_schema::v1::{Error, RequestId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::failure;

/// One message of a client.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Params,
    },
    Notification {
        method: String,
        params: Params,
    },
    /// The answer to a request of ours.
    Answer {
        id: RequestId,
        result: Result<Value, Error>,
    },
}

/// The unparsed parameters of a method.
#[derive(Debug, Default)]
pub(crate) struct Params(Option<Box<RawValue>>);

impl Params {
    /// Reads the parameters; absent ones are read as an empty object.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Error> {
        let json = self.0.as_deref().map_or("{}", RawValue::get);
        serde_json::from_str(json).map_err(failure::unfit)
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<Error>,
}

/// Distinguishes a present `null` from an absent member.
fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

impl Incoming {
    /// `Err` for input that is no message at all, with the id to answer if it has one.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, Unread> {
        let envelope: Envelope = serde_json::from_slice(json).map_err(|error| Unread::new(json, &error))?;
        match envelope {
            Envelope { id: Some(id), method: Some(method), params, .. } => {
                Ok(Self::Request { id, method, params: Params(params) })
            }
            Envelope { id: None, method: Some(method), params, .. } => {
                Ok(Self::Notification { method, params: Params(params) })
            }
            Envelope { id: Some(id), error: Some(error), .. } => Ok(Self::Answer { id, result: Err(error) }),
            Envelope { id: Some(id), result: Some(result), .. } => {
                Ok(Self::Answer { id, result: Ok(result) })
            }
            Envelope { id, .. } => Err(Unread { id, error: Error::invalid_request().into() }),
        }
    }
}

/// The reason why a message could not be read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: Box<Error>,
}

impl Unread {
    fn new(json: &[u8], error: &serde_json::Error) -> Self {
        #[derive(Deserialize)]
        struct OnlyId {
            id: RequestId,
        }
        let id = serde_json::from_slice(json).ok().map(|OnlyId { id }| id);
        let kind = if error.is_data() { Error::invalid_request() } else { Error::parse_error() };
        Self { id, error: kind.data(Value::from(error.to_string())).into() }
    }
}

#[derive(Serialize)]
struct Answer<'a, T> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Error>,
}

#[derive(Serialize)]
struct Call<'a, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    method: &'a str,
    params: &'a T,
}

pub(crate) fn answer<T: Serialize>(id: &RequestId, result: &Result<T, Error>) -> Bytes {
    let (result, error) = match result {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    render(&Answer { jsonrpc: "2.0", id, result, error })
}

pub(crate) fn request<T: Serialize>(id: &RequestId, method: &str, params: &T) -> Bytes {
    render(&Call { jsonrpc: "2.0", id: Some(id), method, params })
}

pub(crate) fn notification<T: Serialize>(method: &str, params: &T) -> Bytes {
    render(&Call { jsonrpc: "2.0", id: None, method, params })
}

/// Our types have string keys and no custom serializer that fails, so serialization always succeeds.
fn render<T: Serialize>(message: &T) -> Bytes {
    serde_json::to_vec(message).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn kind(json: &str) -> String {
        match Incoming::parse(json.as_bytes()) {
            Ok(Incoming::Request { id, method, .. }) => format!("request {id} {method}"),
            Ok(Incoming::Notification { method, .. }) => format!("notification {method}"),
            Ok(Incoming::Answer { id, result }) => format!("answer {id} {}", result.is_ok()),
            Err(unread) => {
                format!("unread {:?} {}", unread.id.map(|id| id.to_string()), i32::from(unread.error.code))
            }
        }
    }

    #[test]
    fn a_message_is_a_request_a_notification_or_an_answer() {
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":0,"method":"m"}"#), "request 0 m");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{}}"#), "request a m");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"m"}"#), "notification m");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), "answer 1 true");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#), "answer 1 false");
    }

    #[test]
    fn what_is_no_message_names_its_id_where_it_has_one() {
        assert_eq!(kind(r#"{"id":7,"method":5}"#), r#"unread Some("7") -32600"#);
        assert_eq!(kind(r#"{"foo":1}"#), "unread None -32600");
        assert_eq!(kind("[]"), "unread None -32600");
        assert_eq!(kind("{"), "unread None -32700");
    }

    #[test]
    fn an_answer_has_a_result_or_an_error() {
        let id = RequestId::Number(3);
        let good = answer::<Value>(&id, &Ok(Value::Null));
        assert_eq!(good, r#"{"jsonrpc":"2.0","id":3,"result":null}"#.as_bytes());
        let bad = answer::<Value>(&id, &Err(Error::new(-1, "no")));
        assert_eq!(bad, r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#.as_bytes());
    }
}
