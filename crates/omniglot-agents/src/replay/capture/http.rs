//! The rows of an HTTP server's recording, in the messages of [`crate::http`].

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::Step;
use crate::http::{Answer, Event, FromServer, Method, Request, Stream, StreamState, ToServer};

/// Requests without an answer so far, in their order: an answer names only the path.
#[derive(Default)]
pub(super) struct Pending {
    asked: Vec<(Method, String, String)>,
}

#[derive(Deserialize)]
pub(super) struct HttpRow<'a> {
    method: Method,
    path: String,
    status: Option<u16>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct EventRow<'a> {
    stream: Option<String>,
    #[serde(borrow)]
    data: &'a RawValue,
}

impl Pending {
    pub(super) fn request(&mut self, row: HttpRow<'_>, line: usize) -> Step {
        let HttpRow { method, path, data, .. } = row;
        let id = format!("r{line}");
        self.asked.push((method, path.clone(), id.clone()));
        let body = (!is_empty(data)).then(|| data.to_owned());
        match (ToServer::Request(Request { id, method, path, body })).to_frame() {
            Some(frame) => Step::Sent(frame),
            None => Step::Remark,
        }
    }

    pub(super) fn answer(&mut self, row: HttpRow<'_>) -> Step {
        let HttpRow { method, path, status, data } = row;
        let place = self.asked.iter().position(|(asked, of, _)| *asked == method && *of == path);
        let Some(place) = place else { return Step::Remark };
        let (_, _, id) = self.asked.remove(place);
        let body = if is_empty(data) { RawValue::NULL } else { data }.to_owned();
        frame(&FromServer::Answer(Answer { id, status, body }))
    }
}

/// The stream of all directories repeats that of each one.
pub(super) fn event(row: EventRow<'_>) -> Step {
    if row.stream.as_deref() == Some("global") {
        return Step::Remark;
    }
    let directory = String::new();
    if row.data.get().starts_with(r#"{"connection""#) {
        return frame(&FromServer::Stream(Stream { directory, state: StreamState::Lost }));
    }
    frame(&FromServer::Event(Event { directory, data: row.data.to_owned() }))
}

fn frame(message: &FromServer) -> Step {
    to_raw_value(message).map_or(Step::Remark, Step::Frame)
}

fn is_empty(data: &RawValue) -> bool {
    data.get() == r#""""#
}
