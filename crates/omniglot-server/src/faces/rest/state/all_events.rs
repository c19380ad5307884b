//! The stream over all sessions as `text/event-stream`, built only as fast as the client reads.

use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use omniglot_runtime::{AllEvents, AllEventsPiece, CommitPosition, RuntimeError};
use omniglot_schema::SessionId;
use omniglot_store::{CommitHead, StoreError};
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::faces::rest::state::sse::chunk::{CHUNK, Chunks};
use crate::http::event_stream::{self, ChunkSource};

/// One client's stream.
pub(crate) struct AllEventsStream {
    feed: AllEvents,
    epoch: String,
    /// `caught_up` is sent after this commit; `None` once it was.
    replay_until: Option<u64>,
    position: CommitPosition,
    /// The position that the client was last told.
    told: Option<CommitPosition>,
    chunks: Chunks,
    heartbeat: Duration,
    beat_at: Instant,
    stop: CancellationToken,
    over: bool,
}

impl AllEventsStream {
    pub(crate) fn new(
        feed: AllEvents,
        head: CommitHead,
        after: CommitPosition,
        heartbeat: Duration,
        stop: CancellationToken,
    ) -> Self {
        Self {
            feed,
            epoch: head.epoch,
            replay_until: Some(head.last),
            position: after,
            told: None,
            chunks: Chunks::default(),
            heartbeat,
            beat_at: Instant::now() + heartbeat,
            stop,
            over: false,
        }
    }

    pub(crate) fn into_response(self) -> Response {
        event_stream::response(event_stream::chunks(self))
    }
}

impl ChunkSource for AllEventsStream {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, RuntimeError> {
        self.say_caught_up();
        loop {
            if let Some(chunk) = self.chunks.pop() {
                self.beat_at = Instant::now() + self.heartbeat;
                return Ok(Some(chunk));
            }
            if self.over {
                return Ok(None);
            }
            if self.beat_at <= Instant::now() {
                self.beat();
                continue;
            }
            self.fill().await?;
        }
    }
}

impl AllEventsStream {
    async fn fill(&mut self) -> Result<(), RuntimeError> {
        let next = tokio::select! {
            next = timeout_at(self.beat_at, self.feed.next(CHUNK)) => next,
            () = self.stop.cancelled() => {
                self.over = true;
                return Ok(());
            }
        };
        match next {
            Ok(Ok(piece)) => self.piece(piece),
            Ok(Err(RuntimeError::Store(StoreError::Closed) | RuntimeError::Stopping)) => self.over = true,
            // The client is far behind: its next try is told so.
            Ok(Err(RuntimeError::Store(StoreError::Pruned { .. }))) => self.over = true,
            Ok(Err(error)) => return Err(error),
            Err(_) => self.beat(),
        }
        Ok(())
    }

    fn piece(&mut self, piece: AllEventsPiece) {
        match piece {
            AllEventsPiece::Events { no, last, events } => {
                for event in events {
                    self.position = CommitPosition { no, partly: Some(event.seq).filter(|seq| *seq < last) };
                    self.with_id(|chunks, id| chunks.event(id, &event.json));
                }
            }
            AllEventsPiece::Deleted { no, session_id } => {
                self.position = CommitPosition { no, partly: None };
                self.named("deleted", json!({"session_id": session_id}));
            }
            AllEventsPiece::Damaged { no, session_id, sequence } => self.damaged(no, &session_id, sequence),
            AllEventsPiece::Lost { no } => {
                self.position = CommitPosition { no, partly: None };
                self.named("damaged", json!({"number": no}));
            }
            AllEventsPiece::Nothing { no } => self.position = CommitPosition { no, partly: None },
        }
        self.say_caught_up();
    }

    fn damaged(&mut self, no: u64, session_id: &SessionId, sequence: u64) {
        self.position = CommitPosition { no, partly: Some(sequence) };
        self.named("damaged", json!({"session_id": session_id, "sequence": sequence}));
    }

    fn named(&mut self, name: &str, data: serde_json::Value) {
        let data = data.to_string();
        self.with_id(|chunks, id| chunks.named_at(id, name, &data));
    }

    /// Writes a frame with the id of the position, which the client has then been told.
    fn with_id(&mut self, write: impl FnOnce(&mut Chunks, &[&str])) {
        let CommitPosition { no, partly } = self.position;
        let (mut number, mut sequence) = (itoa::Buffer::new(), itoa::Buffer::new());
        let number = number.format(no);
        match partly {
            Some(partly) => {
                write(&mut self.chunks, &[&self.epoch, ".", number, ".", sequence.format(partly)]);
            }
            None => write(&mut self.chunks, &[&self.epoch, ".", number]),
        }
        self.told = Some(self.position);
    }

    /// Tells a client that wants little how far it is, so that it need not read it all again.
    fn beat(&mut self) {
        if self.told == Some(self.position) {
            self.chunks.heartbeat();
        } else {
            self.with_id(Chunks::cursor);
        }
    }

    fn say_caught_up(&mut self) {
        let CommitPosition { no, partly } = self.position;
        let reached = |until: &mut u64| *until < no || (*until == no && partly.is_none());
        if self.replay_until.take_if(reached).is_some() {
            self.named("caught_up", json!({"number": no}));
        }
    }
}
