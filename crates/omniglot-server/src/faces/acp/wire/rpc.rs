//! The JSON-RPC envelope: one message of a client, and our messages as bytes.
//!
//! Knows no method; parameters and results are typed where a method is served.

use agent_client_protocol_schema::v1::{Error, RequestId};
use bytes::Bytes;
use omniglot_schema::json_rpc::{Envelope, Outgoing};
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

impl Incoming {
    /// `Err` for input that is no message at all, with the id to answer if it has one.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, Unread> {
        let read = || -> serde_json::Result<Option<Self>> {
            let Envelope { id, method, params, result, error } = serde_json::from_slice(json)?;
            let id = id.map(member).transpose()?;
            let params = Params(params.filter(|params| params.get() != "null").map(ToOwned::to_owned));
            Ok(Some(match (id, method, error, result) {
                (Some(id), Some(method), ..) => Self::Request { id, method: method.into(), params },
                (None, Some(method), ..) => Self::Notification { method: method.into(), params },
                (Some(id), None, Some(error), _) => Self::Answer { id, result: Err(member(error)?) },
                (Some(id), None, None, Some(result)) => Self::Answer { id, result: Ok(member(result)?) },
                (_, None, ..) => return Ok(None),
            }))
        };
        match read() {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(Unread { id: id_of(json), error: Error::invalid_request().into() }),
            Err(error) => Err(Unread::new(json, &error)),
        }
    }
}

fn member<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> serde_json::Result<T> {
    serde_json::from_str(raw.get())
}

fn id_of(json: &[u8]) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: RequestId,
    }
    serde_json::from_slice(json).ok().map(|OnlyId { id }| id)
}

/// The reason why a message could not be read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: Box<Error>,
}

impl Unread {
    fn new(json: &[u8], error: &serde_json::Error) -> Self {
        let kind = if error.is_data() { Error::invalid_request() } else { Error::parse_error() };
        Self { id: id_of(json), error: kind.data(Value::from(error.to_string())).into() }
    }
}

pub(crate) fn answer<T: Serialize>(id: &RequestId, result: &Result<T, Error>) -> Bytes {
    render(&Outgoing::answer(id, result.as_ref()))
}

pub(crate) fn request<T: Serialize>(id: &RequestId, method: &str, params: &T) -> Bytes {
    render(&Outgoing::request(id, method, params))
}

pub(crate) fn notification<T: Serialize>(method: &str, params: &T) -> Bytes {
    render(&Outgoing::notification(method, Some(params)))
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
        let null = r#"{"id":1,"method":"m","params":null}"#;
        let Ok(Incoming::Request { params, .. }) = Incoming::parse(null.as_bytes()) else { panic!("{null}") };
        assert!(params.read::<Value>().unwrap().is_object());
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
