//! The log of a process as `text/event-stream`: entries as they come, until the process is deleted.

use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use omniglot_runtime::process::user::log::{Entry, LogReader};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::faces::rest::wire::process::entry;
use crate::http::event_stream;

/// The bytes of output in one piece of the stream.
const PIECE: usize = 32 << 10;

pub(crate) fn response(log: LogReader, heartbeat: Duration, stop: CancellationToken) -> Response {
    event_stream::response(stream::try_unfold((log, stop), move |(mut log, stop)| async move {
        let next = stop.run_until_cancelled(timeout(heartbeat, log.next(PIECE))).await;
        let entries = match next {
            // What was written before the stop is still told.
            None => Some(log.read(PIECE)).filter(|rest| !rest.is_empty()),
            Some(Err(_)) => return Ok(Some((Bytes::from(": heartbeat\n\n"), (log, stop)))),
            Some(Ok(entries)) => entries,
        };
        let Some(entries) = entries else { return Ok::<_, serde_json::Error>(None) };
        Ok(Some((frames(&entries)?, (log, stop))))
    }))
}

fn frames(entries: &[Entry]) -> Result<Bytes, serde_json::Error> {
    let mut text = String::new();
    for one in entries {
        let data = serde_json::to_string(&entry(one))?;
        text.push_str(&format!("event: log\nid: {}\ndata: {data}\n\n", one.sequence));
    }
    Ok(text.into())
}
