//! The JSON-RPC envelope, for adapters, the ACP face and the ACP relay alike.
//!
//! Knows no method and no type of id or error: those are the reader's. `"jsonrpc"` is written and never
//! required: Codex leaves it out, and accepts it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The members of a message. A member is distinguished from its absence: `"id": null` and `"result": null` are
/// real values.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    pub id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub method: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "present")]
    pub params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// An explicit null means success in agents that always write both.
    #[serde(default, borrow)]
    pub error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

/// A message of ours.
#[derive(Debug, Serialize)]
pub struct Outgoing<'a, I, T, E> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a I>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a E>,
}

impl<'a, I, T> Outgoing<'a, I, T, ()> {
    pub fn request(id: &'a I, method: &'a str, params: &'a T) -> Self {
        Self { id: Some(id), ..Self::call(method, Some(params)) }
    }

    fn call(method: &'a str, params: Option<&'a T>) -> Self {
        Self { jsonrpc: "2.0", id: None, method: Some(method), params, result: None, error: None }
    }
}

impl<'a, T> Outgoing<'a, (), T, ()> {
    pub fn notification(method: &'a str, params: Option<&'a T>) -> Self {
        Self::call(method, params)
    }
}

impl<'a, I, T, E> Outgoing<'a, I, T, E> {
    pub fn answer(id: &'a I, result: Result<&'a T, &'a E>) -> Self {
        let (result, error) = (result.ok(), result.err());
        Self { jsonrpc: "2.0", id: Some(id), method: None, params: None, result, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_a_value_and_a_null_error_is_none() {
        let read = |json| serde_json::from_str::<Envelope<'_>>(json).unwrap();
        let both = read(r#"{"id":null,"result":null,"error":null}"#);
        assert_eq!(
            (both.id.map(RawValue::get), both.result.map(RawValue::get)),
            (Some("null"), Some("null"))
        );
        assert!(both.error.is_none() && both.params.is_none());
        assert!(read("{}").id.is_none());
    }

    #[test]
    fn a_message_has_only_its_own_members() {
        let write = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap();
        let request = write(&|| serde_json::to_string(&Outgoing::request(&1, "m", &[2])));
        assert_eq!(request, r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[2]}"#);
        let notification = write(&|| serde_json::to_string(&Outgoing::<_, (), _>::notification("m", None)));
        assert_eq!(notification, r#"{"jsonrpc":"2.0","method":"m"}"#);
        let answer = write(&|| serde_json::to_string(&Outgoing::<_, _, ()>::answer(&1, Ok(&()))));
        assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        let refusal = write(&|| serde_json::to_string(&Outgoing::<_, (), _>::answer(&"a", Err(&5))));
        assert_eq!(refusal, r#"{"jsonrpc":"2.0","id":"a","error":5}"#);
    }
}
