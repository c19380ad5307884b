//! The two event streams: `/event` of one directory, `/global/event` of all of them with each event's
//! directory beside it.
//!
//! A stream is built as fast as its client reads; the connection cuts a client that stopped reading
//! (`stall`), and a stream that reads too slowly ends when it has lost its position.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, stream};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::faces::opencode::state::reader::Reader;
use crate::faces::opencode::state::ring::{Frame, Lost};
use crate::faces::opencode::state::seen_sessions::SeenSessions;
use crate::faces::opencode::state::session_view::encode;
use crate::faces::opencode::wire::{OcEvent, Payload};
use crate::http::event_stream;

/// The longest chunk, unless a single event is longer.
const CHUNK: usize = 32 << 10;

/// The kind of stream.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// The stream of one directory, by its path with links resolved.
    One(String),
    Global,
}

impl Form {
    pub(super) fn shows(&self, directory: &str) -> bool {
        match self {
            Self::One(wanted) => wanted == directory,
            Self::Global => true,
        }
    }
}

pub(crate) struct EventStream {
    reader: Reader,
    form: Form,
    heartbeat: Duration,
    /// The time of the next heartbeat.
    beat_at: Instant,
    /// Ends the stream after the committed events when the server stops.
    stop: CancellationToken,
    chunk: BytesMut,
    /// The connection was given a chunk and has not been let write since.
    unwritten: bool,
    over: bool,
    /// Every session is shown without it.
    seen: Option<SeenSessions>,
}

impl EventStream {
    pub(crate) fn new(reader: Reader, form: Form, heartbeat: Duration, stop: CancellationToken) -> Self {
        let beat_at = Instant::now() + heartbeat;
        let chunk = BytesMut::new();
        let (unwritten, over, seen) = (false, false, None);
        let mut new = Self { reader, form, heartbeat, beat_at, stop, chunk, unwritten, over, seen };
        new.say(Payload::ServerConnected {});
        new
    }

    /// Shows only frames of these sessions.
    pub(crate) fn seen_by(self, seen: SeenSessions) -> Self {
        Self { seen: Some(seen), ..self }
    }

    pub(crate) fn into_response(self) -> Response {
        event_stream::response(self.into_chunks())
    }

    fn into_chunks(self) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        stream::unfold(self, |mut stream| async move { Some((Ok(stream.next().await?), stream)) })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.unwritten) {
            // hyper asks for more before it writes, and writes when there is nothing more for now. Asking the
            // reader says that the last frames were taken, and an answer that waits for it must not overtake
            // them on another connection.
            tokio::task::yield_now().await;
        }
        loop {
            if !self.chunk.is_empty() {
                self.beat_at = Instant::now() + self.heartbeat;
                self.unwritten = true;
                return Some(self.chunk.split().freeze());
            }
            if self.over {
                return None;
            }
            if self.fill().await.is_err() {
                tracing::info!("a stream of OpenCode's was too slow and ends");
                return None;
            }
        }
    }

    async fn fill(&mut self) -> Result<(), Lost> {
        if self.stop.is_cancelled() {
            self.reader.settle().await;
            return self.rest().await;
        }
        let next = tokio::select! {
            next = timeout_at(self.beat_at, self.reader.next(CHUNK)) => next,
            () = self.stop.cancelled() => return Ok(()),
        };
        match next {
            Ok(frames) => self.put_seen(frames?).await,
            Err(_) => self.say(Payload::ServerHeartbeat {}),
        }
        Ok(())
    }

    /// Sends the available frames, and no more.
    async fn rest(&mut self) -> Result<(), Lost> {
        let frames = self.reader.ready(CHUNK)?;
        self.over = frames.is_empty();
        self.put_seen(frames).await;
        Ok(())
    }

    async fn put_seen(&mut self, frames: Vec<Arc<Frame>>) {
        for frame in frames {
            let shown = match &mut self.seen {
                Some(seen) => seen.shows(&frame).await,
                None => true,
            };
            if shown {
                self.put(&frame);
            }
        }
    }

    /// Sends an event of the stream itself; it belongs to no directory.
    fn say(&mut self, payload: Payload) {
        let json = encode(&OcEvent::loose(jiff::Timestamp::now().as_millisecond(), payload));
        match self.form {
            Form::One(_) => self.data(&[&json]),
            Form::Global => self.data(&[b"{\"payload\":", &json, b"}"]),
        }
    }

    fn put(&mut self, frame: &Frame) {
        if !self.form.shows(&frame.directory) {
            return;
        }
        match &self.form {
            Form::One(_) => self.data(&[&frame.json]),
            Form::Global => {
                let directory = serde_json::Value::from(&*frame.directory).to_string();
                self.data(&[b"{\"directory\":", directory.as_bytes(), b",\"payload\":", &frame.json, b"}"]);
            }
        }
    }

    fn data(&mut self, pieces: &[&[u8]]) {
        self.chunk.put_slice(b"data: ");
        pieces.iter().for_each(|piece| self.chunk.put_slice(piece));
        self.chunk.put_slice(b"\n\n");
    }
}

#[cfg(test)]
mod tests;
