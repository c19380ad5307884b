//! The interface of a provider: reads its requests and writes answers in its wire format.

use bytes::Bytes;
use serde_json::Value;

use super::gate::Gate;
use super::reply::{Answer, Failure, Reply};
use super::request::Request;

/// One provider's wire. Pure: the server does the IO.
pub(crate) trait Provider: Send + Sync {
    /// Classifies the path of a request; `None` is for paths that the provider does not have.
    fn route(&self, method: &str, path: &str) -> Option<Route>;

    /// Fills in the members from the body: model, system, messages, tools, streaming.
    fn read(&self, request: &mut Request) -> Result<(), serde_json::Error>;

    /// Whether a request to generate belongs to the conversation.
    fn is_conversation(&self, request: &Request) -> bool {
        !request.tools.is_empty()
    }

    /// Returns the harmless answer to a side request.
    fn side_request(&self, _request: &Request) -> Reply {
        Reply::text("ok")
    }

    fn stream(&self, answer: &Answer, number: usize, request: &Request) -> Vec<Frame>;

    /// Returns the answer to a request that did not ask for a stream.
    fn whole(&self, answer: &Answer, number: usize, request: &Request) -> Value;

    fn failure(&self, failure: Failure) -> (u16, Value);
}

/// The purpose of a path.
pub(crate) enum Route {
    Generate,
    /// A path with a constant answer, such as a list of models.
    Fixed(Value),
}

/// One step of an open stream.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Send(Bytes),
    Hold(Gate),
    Cut,
}

impl Frame {
    /// Returns an event without a name.
    pub(crate) fn data(data: &Value) -> Self {
        Self::Send(format!("data: {data}\n\n").into())
    }

    pub(crate) fn event(name: &str, data: &Value) -> Self {
        Self::Send(format!("event: {name}\ndata: {data}\n\n").into())
    }
}
