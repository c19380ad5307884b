//! Event streams: the log of a session as `text/event-stream`, built only as fast as the client reads.
//!
//! Each poll makes chunks of many events by copying stored bytes. The connection cuts a client that stopped
//! reading (`stall`).

pub(crate) mod chunk;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use omniglot_runtime::{Followed, RuntimeError, TurnOutcome};
use omniglot_schema::UniversalEventType;
use omniglot_store::{StoreError, StoredEvent, StoredFrame};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::faces::rest::state::feed::Feed;
use crate::http::event_stream::{self, ChunkSource};
use crate::http::raw;
use chunk::{CHUNK, Chunks};

/// Frames can be far larger than the events made from them, so few are fetched at a time.
const RAW_BATCH: usize = 4 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Raw {
    Include,
    Omit,
}

impl From<bool> for Raw {
    fn from(include: bool) -> Self {
        if include { Self::Include } else { Self::Omit }
    }
}

/// The stream that one client requested.
pub(crate) struct Wanted {
    pub(crate) epoch: String,
    /// The last sequence that the client has received.
    pub(crate) after: u64,
    /// `caught_up` is sent after this sequence; `None` never sends it.
    pub(crate) replay_until: Option<u64>,
    /// All types when empty.
    pub(crate) types: Vec<UniversalEventType>,
    pub(crate) raw: Raw,
    pub(crate) heartbeat: Duration,
}

/// One client's stream.
pub(crate) struct EventStream<F> {
    feed: F,
    wanted: Wanted,
    /// The last sequence that was read.
    position: u64,
    chunks: Chunks,
    /// The time of the next heartbeat.
    beat_at: Instant,
    /// Ends the stream after the committed events when the server stops.
    stop: CancellationToken,
    over: bool,
}

impl<F: Feed> EventStream<F> {
    pub(crate) fn new(feed: F, wanted: Wanted, stop: CancellationToken) -> Self {
        let beat_at = Instant::now() + wanted.heartbeat;
        let position = wanted.after;
        Self { feed, wanted, position, chunks: Chunks::default(), beat_at, stop, over: false }
    }

    pub(crate) fn into_response(self) -> Response {
        event_stream::response(event_stream::chunks(self))
    }
}

impl<F: Feed> ChunkSource for EventStream<F> {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, RuntimeError> {
        self.say_caught_up();
        loop {
            if let Some(chunk) = self.chunks.pop() {
                self.beat_at = Instant::now() + self.wanted.heartbeat;
                return Ok(Some(chunk));
            }
            if self.over {
                return Ok(None);
            }
            // Events that this client does not want may arrive without a pause.
            if self.beat_at <= Instant::now() {
                self.chunks.heartbeat();
                continue;
            }
            self.fill().await?;
        }
    }
}

impl<F: Feed> EventStream<F> {
    async fn fill(&mut self) -> Result<(), RuntimeError> {
        let batch = match self.wanted.raw {
            Raw::Include => RAW_BATCH,
            Raw::Omit => CHUNK,
        };
        let stopping = self.stop.is_cancelled();
        if stopping && self.feed.caught_up() {
            self.over = true;
            return Ok(());
        }
        let next = tokio::select! {
            next = timeout_at(self.beat_at, self.feed.next(batch)) => next,
            () = self.stop.cancelled(), if !stopping => return Ok(()),
        };
        match next {
            Ok(Ok(Followed::Events(events))) => return self.events(&events).await,
            Ok(Ok(Followed::Over(outcome))) => {
                if outcome == TurnOutcome::Deleted {
                    self.chunks.named("deleted", self.position);
                }
                self.over = true;
            }
            Ok(Err(RuntimeError::Store(StoreError::Closed) | RuntimeError::Stopping)) => self.over = true,
            Ok(Err(error)) => return Err(error),
            Err(_) => self.chunks.heartbeat(),
        }
        Ok(())
    }

    async fn events(&mut self, events: &[Arc<StoredEvent>]) -> Result<(), RuntimeError> {
        let frames = self.frames(events).await?;
        self.chunks.expect(events.iter().map(|event| event.json.len() + chunk::HEAD).sum());
        for event in events {
            self.position = event.seq;
            if self.wants(event) {
                self.event(event, &frames);
            }
            self.say_caught_up();
        }
        Ok(())
    }

    fn wants(&self, event: &StoredEvent) -> bool {
        self.wanted.types.is_empty() || self.wanted.types.contains(&event.kind)
    }

    fn event(&mut self, event: &StoredEvent, frames: &HashMap<u64, StoredFrame>) {
        let mut digits = itoa::Buffer::new();
        let id = [&self.wanted.epoch, ".", digits.format(event.seq)];
        match self.wanted.raw {
            Raw::Omit => self.chunks.event(&id, &event.json),
            Raw::Include => self.chunks.event(&id, &raw::with_raw(event, frames)),
        }
    }

    async fn frames(&self, events: &[Arc<StoredEvent>]) -> Result<HashMap<u64, StoredFrame>, RuntimeError> {
        match self.wanted.raw {
            Raw::Omit => Ok(HashMap::new()),
            Raw::Include => {
                let numbers =
                    raw::frame_numbers(events.iter().map(|event| &**event).filter(|event| self.wants(event)));
                if numbers.is_empty() { Ok(HashMap::new()) } else { self.feed.frames(numbers).await }
            }
        }
    }

    fn say_caught_up(&mut self) {
        if self.wanted.replay_until.take_if(|until| *until <= self.position).is_some() {
            self.chunks.named("caught_up", self.position);
        }
    }
}
