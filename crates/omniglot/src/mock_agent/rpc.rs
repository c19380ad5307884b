//! Framing: JSON-RPC 2.0, one message per line. A thread reads stdin, [`Wire`] writes stdout.
//!
//! Leaves the meaning of methods to `agent`, and which answer is awaited to `turn`.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::sync::mpsc::{self, Receiver, Sender};

use agent_client_protocol_schema::v1::{Error, RequestId};
use omniglot_schema::json_rpc::Outgoing;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The agent ends with this exit code. A closed stdin or stdout is the ordinary end, code 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exit(pub(super) u8);

impl Exit {
    pub(super) const PEER_GONE: Self = Self(0);
}

/// A message that can arrive on stdin.
#[derive(Debug)]
pub(super) enum Incoming {
    Call(Call),
    Notification {
        method: String,
        params: Params,
    },
    Answer {
        id: RequestId,
        outcome: Result<Params, Error>,
    },
    /// A line that is no JSON-RPC message; the error is to be sent to the peer.
    Malformed {
        id: RequestId,
        error: Error,
    },
    Eof,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) params: Params,
}

/// The undecoded `params` or `result` of a message.
#[derive(Debug)]
pub(super) struct Params(Option<Box<RawValue>>);

impl Params {
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let text = self.0.as_ref().map_or("{}", |raw| raw.get());
        serde_json::from_str(text).map_err(|error| Error::invalid_params().data(error.to_string()))
    }
}

/// Reads messages on a thread of its own, so that a cancel arrives while a script plays.
pub(super) fn read_in_background(input: Box<dyn Read + Send>) -> Receiver<Incoming> {
    let (sender, inbox) = mpsc::channel();
    // Not joined: the thread sits in a blocking read until stdin or the process ends.
    std::thread::spawn(move || read_lines(input, &sender));
    inbox
}

fn read_lines(input: Box<dyn Read + Send>, inbox: &Sender<Incoming>) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let message = match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => Incoming::Eof,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => parse(&line),
        };
        let last = matches!(message, Incoming::Eof);
        if inbox.send(message).is_err() || last {
            return;
        }
    }
}

fn parse(line: &[u8]) -> Incoming {
    match serde_json::from_slice::<Envelope>(line) {
        Ok(envelope) => envelope.classify(),
        Err(error) => {
            let kind = if error.is_data() { Error::invalid_request() } else { Error::parse_error() };
            Incoming::Malformed { id: RequestId::Null, error: kind.data(error.to_string()) }
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    jsonrpc: String,
    /// `None` when absent; a `null` id is an id.
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Error>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
    RequestId::deserialize(deserializer).map(Some)
}

impl Envelope {
    fn classify(self) -> Incoming {
        if self.jsonrpc != "2.0" {
            return Incoming::Malformed {
                id: self.id.unwrap_or(RequestId::Null),
                error: Error::invalid_request().data("jsonrpc must be \"2.0\""),
            };
        }
        match (self.id, self.method) {
            (Some(id), Some(method)) => Incoming::Call(Call { id, method, params: Params(self.params) }),
            (None, Some(method)) => Incoming::Notification { method, params: Params(self.params) },
            (Some(id), None) => {
                let outcome = self.error.map_or(Ok(Params(self.result)), Err);
                Incoming::Answer { id, outcome }
            }
            (None, None) => Incoming::Malformed {
                id: RequestId::Null,
                error: Error::invalid_request().data("neither id nor method"),
            },
        }
    }
}

/// Writes messages to stdout. Every method but [`Wire::push`] flushes at once.
pub(super) struct Wire {
    output: BufWriter<Box<dyn Write + Send>>,
    next_id: i64,
}

impl Wire {
    pub(super) fn new(output: Box<dyn Write + Send>) -> Self {
        Self { output: BufWriter::with_capacity(64 * 1024, output), next_id: 0 }
    }

    pub(super) fn respond<T: Serialize>(
        &mut self,
        id: &RequestId,
        outcome: &Result<T, Error>,
    ) -> Result<(), Exit> {
        self.write(&Outgoing::answer(id, outcome.as_ref()))?;
        self.flush()
    }

    pub(super) fn notify<T: Serialize>(&mut self, method: &str, params: &T) -> Result<(), Exit> {
        self.push(method, params)?;
        self.flush()
    }

    /// Writes a notification that may wait in the buffer for more of them.
    pub(super) fn push<T: Serialize>(&mut self, method: &str, params: &T) -> Result<(), Exit> {
        self.write(&Outgoing::notification(method, Some(params)))
    }

    /// Sends a request; its answer arrives as [`Incoming::Answer`]. Ids count from 0, as with real agents.
    pub(super) fn call<T: Serialize>(&mut self, method: &str, params: &T) -> Result<RequestId, Exit> {
        let id = RequestId::Number(self.next_id);
        self.next_id += 1;
        self.write(&Outgoing::request(&id, method, params))?;
        self.flush()?;
        Ok(id)
    }

    /// Writes bytes that are no message of ours, for the scripts that misbehave.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> Result<(), Exit> {
        self.output.write_all(bytes).map_err(|_| Exit::PEER_GONE)?;
        self.flush()
    }

    pub(super) fn flush(&mut self) -> Result<(), Exit> {
        self.output.flush().map_err(|_| Exit::PEER_GONE)
    }

    fn write<T: Serialize>(&mut self, message: &T) -> Result<(), Exit> {
        // Our own types always serialise, so an error here can only be a closed pipe.
        serde_json::to_writer(&mut self.output, message).map_err(|_| Exit::PEER_GONE)?;
        self.output.write_all(b"\n").map_err(|_| Exit::PEER_GONE)
    }
}
