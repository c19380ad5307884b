//! An HTTP server with event streams as messages: the frames that a translator of such an agent exchanges.
//!
//! A request, its answer and a server-sent event are each one JSON object with one key, so that they are
//! stored, routed and replayed like the lines of any other agent. The runtime carries them out.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::contract::Unparsed;

/// The start parameters of such a server, as data, beside its command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serving {
    /// The argument before the port that we choose.
    pub port_argument: &'static str,
    /// The variable for the password that we choose, and the user that it belongs to.
    pub password_variable: &'static str,
    pub user: &'static str,
    /// The text in the line of stdout that reports that the server listens.
    pub ready: &'static str,
    /// The path of a directory's event stream, before the directory.
    pub events_path: &'static str,
}

/// A message to the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToServer {
    Request(Request),
    /// Follow the events of this directory from now on. A second request has no effect.
    Listen {
        directory: String,
    },
    /// Stop following the directory.
    Leave {
        directory: String,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Unique on the connection; the answer has the same id.
    pub id: String,
    pub method: Method,
    /// The path with its query, without the server's address.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// A message from the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromServer {
    Answer(Answer),
    Event(Event),
    Stream(Stream),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    pub id: String,
    /// `None` when there was no answer at all; `body` then has the reason.
    pub status: Option<u16>,
    /// The unchanged body; a JSON string where it is no JSON.
    pub body: Box<RawValue>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    pub directory: String,
    pub data: Box<RawValue>,
}

/// The state of a directory's event stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    pub directory: String,
    pub state: StreamState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamState {
    /// Open for the first time: nothing was missed.
    Open,
    /// Open after a loss: events of the meantime have to be read.
    Reopened,
    /// Nothing was received for longer than the server's heartbeat interval.
    Stale,
    /// Data was received after all.
    Alive,
    Lost,
}

/// A line of an event stream. An event of these servers is one `data:` line.
#[derive(Debug, Clone, Copy)]
pub enum StreamLine<'a> {
    Data(&'a RawValue),
    /// It frames events and says nothing by itself.
    Framing,
    /// It is neither; the translator reports it.
    Garbage,
}

impl<'a> StreamLine<'a> {
    pub fn read(line: &'a [u8]) -> Self {
        let Ok(text) = std::str::from_utf8(line) else { return Self::Garbage };
        let Some(data) = text.strip_prefix("data:") else { return Self::Framing };
        serde_json::from_str(data.trim()).map_or(Self::Garbage, Self::Data)
    }
}

impl FromServer {
    pub fn parse(frame: &RawValue) -> Result<Self, Unparsed> {
        crate::contract::decode("http", frame)
    }
}

impl ToServer {
    pub fn parse(frame: &RawValue) -> Result<Self, Unparsed> {
        crate::contract::decode("http", frame)
    }

    /// Returns the message as a frame; `None` for data that cannot be JSON, such as a path that is not UTF-8.
    pub fn to_frame(&self) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(self).ok()
    }
}

impl Answer {
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_object_with_one_key_and_keeps_its_body_verbatim() {
        let text = r#"{"answer":{"id":"a.1","status":200,"body":{"z": 1,"a":[2.50]}}}"#;
        let frame: &RawValue = serde_json::from_str(text).unwrap();
        let FromServer::Answer(answer) = FromServer::parse(frame).unwrap() else { panic!("an answer") };
        assert!(answer.is_success());
        assert_eq!(answer.body.get(), r#"{"z": 1,"a":[2.50]}"#);
    }

    #[test]
    fn what_is_sent_reads_back() {
        let body = RawValue::from_string(r#"{"parts":[]}"#.into()).unwrap();
        let request =
            Request { id: "a.2".into(), method: Method::Post, path: "/x?y=1".into(), body: Some(body) };
        let frame = ToServer::Request(request).to_frame().unwrap();
        assert_eq!(
            frame.get(),
            r#"{"request":{"id":"a.2","method":"POST","path":"/x?y=1","body":{"parts":[]}}}"#
        );
        assert!(matches!(ToServer::parse(&frame).unwrap(), ToServer::Request(_)));
        let listen = RawValue::from_string(r#"{"listen":{"directory":"/w"}}"#.into()).unwrap();
        assert!(matches!(ToServer::parse(&listen).unwrap(), ToServer::Listen { .. }));
    }
}
