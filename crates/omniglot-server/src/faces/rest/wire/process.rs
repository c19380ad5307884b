//! The wire of processes: queries, input in its encodings, entries of the log, and the frames of a terminal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use omniglot_runtime::process::user::log::{Entry, Wanted};
use omniglot_schema::{ProcessLogEntry, ProcessLogsStream, ProcessOwner, ProcessTerminalSize};
use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::IntoParams;

use super::query::{must_be, sequence, switch};
use crate::http::extract::text;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ProcessListQuery {
    /// Only processes of this owner; all are of `user`
    #[serde(default, deserialize_with = "owner")]
    pub(crate) owner: Option<ProcessOwner>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignalQuery {
    /// How long to wait for the end of the process, in milliseconds; at most 300,000, and not at all without it
    #[serde(default, alias = "wait_ms", deserialize_with = "sequence")]
    pub(crate) wait_ms: Option<u64>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogsQuery {
    /// Only entries of this stream; `combined`, which is the default, is all of them
    #[serde(default, deserialize_with = "log_stream")]
    stream: Option<ProcessLogsStream>,
    /// Of the entries that are there, only so many of the last
    #[serde(default, deserialize_with = "sequence")]
    tail: Option<u64>,
    /// Answer with a stream of server-sent events that goes on until the process is deleted
    #[serde(default, deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    pub(crate) follow: bool,
    /// Only entries after the one with this sequence; `Last-Event-ID` of a stream takes precedence
    #[serde(default, deserialize_with = "sequence")]
    since: Option<u64>,
}

impl LogsQuery {
    pub(crate) fn wanted(&self, last_seen: Option<u64>) -> Wanted {
        Wanted {
            stream: self.stream.unwrap_or(ProcessLogsStream::Combined),
            since: last_seen.or(self.since).unwrap_or(0),
            tail: self.tail.map(|tail| usize::try_from(tail).unwrap_or(usize::MAX)),
        }
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TerminalQuery {
    /// The token, for browsers, which cannot set headers here
    #[serde(default, deserialize_with = "text")]
    pub(crate) access_token: Option<String>,
}

fn owner<'de, D: Deserializer<'de>>(d: D) -> Result<Option<ProcessOwner>, D::Error> {
    word(d, "user, desktop or system")
}

fn log_stream<'de, D: Deserializer<'de>>(d: D) -> Result<Option<ProcessLogsStream>, D::Error> {
    word(d, "stdout, stderr, combined or pty")
}

fn word<'de, D: Deserializer<'de>, T: DeserializeOwned>(d: D, known: &str) -> Result<Option<T>, D::Error> {
    let word = String::deserialize(d)?;
    T::deserialize(StrDeserializer::<Error>::new(&word)).map(Some).map_err(|_| must_be(known))
}

pub(crate) fn entry(entry: &Entry) -> ProcessLogEntry {
    ProcessLogEntry {
        sequence: entry.sequence,
        stream: entry.stream,
        timestamp_ms: entry.timestamp_ms,
        data: STANDARD.encode(&entry.data),
        encoding: "base64".to_owned(),
    }
}

/// Decodes input; the error continues the word `encoding` or `data`.
pub(crate) fn decode(data: String, encoding: &str) -> Result<Bytes, String> {
    match encoding {
        "utf8" | "text" => Ok(data.into()),
        "base64" => match STANDARD.decode(&data) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(format!("`data` is no base64: {error}; send `encoding: \"utf8\"` for text")),
        },
        _ => Err("`encoding` must be base64, utf8 or text".to_owned()),
    }
}

/// A frame of a terminal's client.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum ClientFrame {
    Input {
        data: String,
        /// Text, unless it says otherwise.
        #[serde(default)]
        encoding: Option<String>,
    },
    Resize(ProcessTerminalSize),
    Close,
}

/// A frame for a terminal's client; output goes in binary ones.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(crate) enum ServerFrame<'a> {
    Ready { process_id: &'a str },
    Exit { exit_code: Option<i32> },
    Error { message: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_base64_or_text_and_nothing_else() {
        assert_eq!(decode("aGk=".into(), "base64"), Ok(Bytes::from("hi")));
        assert_eq!(decode("aGk=".into(), "utf8"), Ok(Bytes::from("aGk=")));
        assert_eq!(decode("ä".into(), "text"), Ok(Bytes::from("ä")));
        assert!(decode("hello\n".into(), "base64").unwrap_err().starts_with("`data` is no base64"));
        assert!(decode("x".into(), "utf-8").is_err());
    }

    #[test]
    fn frames_have_the_names_that_clients_know() {
        let shown = |frame: ServerFrame<'_>| serde_json::to_string(&frame).unwrap();
        assert_eq!(
            shown(ServerFrame::Ready { process_id: "proc_1" }),
            r#"{"type":"ready","processId":"proc_1"}"#
        );
        assert_eq!(shown(ServerFrame::Exit { exit_code: None }), r#"{"type":"exit","exitCode":null}"#);
        let read = |text: &str| serde_json::from_str::<ClientFrame>(text);
        assert!(matches!(
            read(r#"{"type":"input","data":"a"}"#),
            Ok(ClientFrame::Input { encoding: None, .. })
        ));
        assert!(matches!(read(r#"{"type":"resize","cols":1,"rows":2}"#), Ok(ClientFrame::Resize(_))));
        assert!(matches!(read(r#"{"type":"close"}"#), Ok(ClientFrame::Close)));
        assert!(read(r#"{"type":"resize","cols":-1,"rows":2}"#).is_err());
    }
}
