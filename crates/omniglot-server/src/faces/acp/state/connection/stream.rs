//! One event stream of a client: the logs of its sessions as messages, and the messages beside them, in one
//! order. Built only as fast as the client reads; it holds positions in logs and no queue.
//!
//! The projection turns events into messages; the outbox's readers let others wait until the client has
//! received a message.

mod followed;

use std::collections::BTreeMap;
use std::time::Duration;

use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::future::select_all;
use futures_util::{FutureExt as _, Stream, stream};
use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::SessionId;
use omniglot_store::{Next, SessionNo, StoreError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::cursor::{Cursor, Epoch, LogPosition, Spot};
use super::outbox::{After, Entry, Follow, Outbound, What};
use super::readers::Reading;
use crate::app::{App, Limits};
use crate::http::event_stream;
use followed::{Followed, Told};

/// The most bytes of events that are read at once, and about the bytes that are sent at once.
const BATCH: usize = 32 << 10;

/// The messages of a client that one of its streams carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carries {
    Everything,
    /// Messages that are about no session.
    Connection,
    /// Messages about this session.
    Session(SessionId),
}

impl Carries {
    fn includes(&self, about: Option<&SessionId>) -> bool {
        match self {
            Self::Everything => true,
            Self::Connection => about.is_none(),
            Self::Session(session) => about == Some(session),
        }
    }
}

pub(crate) struct Outflow {
    hub: Hub,
    carries: Carries,
    connection: Shared,
    news: watch::Receiver<u64>,
    /// The position of the client.
    cursor: Cursor,
    /// Copies up to this number are for streams that were open before.
    opened: u64,
    /// The client's positions in sessions that it followed before.
    resume: BTreeMap<SessionNo, LogPosition>,
    /// Whether the cursor is of this connection before the daemon removed it.
    earlier_life: bool,
    followed: Vec<Followed>,
    reading: Reading,
    ready: BytesMut,
    /// The longest time without a message.
    heartbeat: Duration,
    beat_at: Instant,
    /// Ends the stream after the committed events when the server stops.
    stop: CancellationToken,
    over: bool,
}

impl Outflow {
    /// Makes a stream for a client with this cursor, or with none.
    pub(crate) fn new(app: App, connection: Shared, cursor: Option<Cursor>, carries: Carries) -> Self {
        let App { hub, limits: Limits { heartbeat, .. }, stop, .. } = app;
        let outbox = &connection.outbox;
        let Cursor { beside, sessions } = cursor.unwrap_or_default();
        let earlier_life = !outbox.knows(beside);
        let beside = if earlier_life { outbox.first() } else { beside };
        outbox.received(beside);
        let (reading, opened) = outbox.enter(beside);
        Self {
            earlier_life,
            news: outbox.watch(),
            opened,
            cursor: Cursor { beside, sessions: BTreeMap::new() },
            resume: sessions.into_iter().map(|(no, spot)| (no, spot.place)).collect(),
            followed: vec![],
            reading,
            ready: BytesMut::new(),
            heartbeat,
            beat_at: Instant::now() + heartbeat,
            stop,
            over: false,
            hub,
            carries,
            connection,
        }
    }

    pub(crate) fn into_response(self) -> Response {
        event_stream::response(self.into_chunks())
    }

    fn into_chunks(self) -> impl Stream<Item = Result<Bytes, RuntimeError>> {
        stream::try_unfold((self, false), |(mut outflow, begun)| async move {
            let next = match begun {
                true => outflow.next().await,
                false => outflow.begin().await,
            };
            match next {
                Ok(chunk) => Ok(chunk.map(|chunk| (chunk, (outflow, true)))),
                Err(error) => {
                    // The response has begun: breaking it off makes the client reconnect with its cursor.
                    tracing::error!(error = &error as &dyn std::error::Error, "an ACP stream breaks off");
                    Err(error)
                }
            }
        })
    }

    /// Follows the sessions that the client knows already. The first bytes send the response's headers.
    async fn begin(&mut self) -> Result<Option<Bytes>, RuntimeError> {
        for follow in self.connection.outbox.followed(self.cursor.beside) {
            let place = self.resume.remove(&follow.no).unwrap_or(follow.from);
            self.follow(&follow, place).await?;
        }
        if !self.earlier_life {
            // Sessions that are followed from now on begin at their own position.
            self.resume.clear();
        }
        for request in self.connection.asked_before(self.opened) {
            self.send(&request);
        }
        Ok(Some(Bytes::from_static(b": connected\n\n")))
    }

    async fn next(&mut self) -> Result<Option<Bytes>, RuntimeError> {
        loop {
            if !self.ready.is_empty() {
                self.beat_at = Instant::now() + self.heartbeat;
                return Ok(Some(self.ready.split().freeze()));
            }
            // A poll for more means that the earlier bytes were taken.
            self.reading.told(self.cursor.beside);
            if self.over {
                return Ok(None);
            }
            match self.connection.outbox.next(self.cursor.beside) {
                After::Entry(entry) => match self.short_of(&entry) {
                    Some(index) => self.read(index).await?,
                    None => self.entry(&entry).await?,
                },
                After::Nothing(until) if until > self.cursor.beside => self.cursor.beside = until,
                After::Nothing(_) => self.wait().await?,
            }
        }
    }

    /// Returns the session that has to be streamed further before this entry.
    fn short_of(&self, entry: &Entry) -> Option<usize> {
        let (no, until) = entry.after?;
        self.followed.iter().position(|one| one.no() == no && one.read() < until)
    }

    /// Streams the next committed part of a session.
    async fn read(&mut self, index: usize) -> Result<(), RuntimeError> {
        let Some(followed) = self.followed.get_mut(index) else { return Ok(()) };
        let next = followed.next(BATCH).await;
        self.heard(index, next).await
    }

    async fn entry(&mut self, entry: &Entry) -> Result<(), RuntimeError> {
        self.cursor.beside = entry.number;
        match &entry.what {
            What::Message(message) => self.send(message),
            What::Copy(message) if entry.number > self.opened => self.send(message),
            What::Copy(_) | What::Mark => {}
            What::Follow(follow) => {
                let place = self.resume.remove(&follow.no).unwrap_or(follow.from);
                self.follow(follow, place).await?;
            }
            What::Leave(no) => self.leave(*no),
        }
        Ok(())
    }

    async fn follow(&mut self, follow: &Follow, place: LogPosition) -> Result<(), RuntimeError> {
        if !self.carries.includes(Some(&follow.session)) {
            return Ok(());
        }
        self.leave(follow.no);
        let Some(record) = self.hub.record_numbered(follow.no).await? else { return Ok(()) };
        let epoch = Epoch::of(&record);
        let mut followed = Followed::new(&self.hub, &self.connection, record, follow, place);
        followed.catch_up_silently().await?;
        self.cursor.sessions.insert(follow.no, Spot { epoch, place });
        let told = followed.open_requests();
        self.followed.push(followed);
        self.tell(follow.no, told);
        Ok(())
    }

    fn leave(&mut self, no: SessionNo) {
        self.followed.retain(|followed| followed.no() != no);
        self.cursor.sessions.remove(&no);
    }

    /// Waits for the next event, message, heartbeat or stop.
    async fn wait(&mut self) -> Result<(), RuntimeError> {
        let stopping = self.stop.is_cancelled();
        if stopping && self.followed.iter().all(Followed::caught_up) {
            self.over = true;
            return Ok(());
        }
        let heard = tokio::select! {
            heard = first_of(&mut self.followed) => Some(heard),
            // The sender exists as long as the connection, which this stream holds.
            _ = self.news.changed() => None,
            () = sleep_until(self.beat_at) => {
                self.ready.extend_from_slice(b": heartbeat\n\n");
                None
            }
            () = self.connection.gone.cancelled() => {
                self.over = true;
                None
            }
            () = self.stop.cancelled(), if !stopping => None,
        };
        match heard {
            Some((index, next)) => self.heard(index, next).await,
            None => Ok(()),
        }
    }

    async fn heard(&mut self, index: usize, next: Result<Next, StoreError>) -> Result<(), RuntimeError> {
        let Some(followed) = self.followed.get_mut(index) else { return Ok(()) };
        let no = followed.no();
        match next {
            Ok(Next::Events(events)) => {
                let told = followed.project(&events).await?;
                self.tell(no, told);
            }
            Ok(Next::Deleted) => self.leave(no),
            Err(StoreError::Closed) => self.over = true,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn tell(&mut self, no: SessionNo, told: Vec<Told>) {
        for Told { message, place } in told {
            if let Some(spot) = self.cursor.sessions.get_mut(&no) {
                spot.place = place;
            }
            if let Some(message) = message {
                self.frame(&message);
            }
        }
    }

    fn send(&mut self, message: &Outbound) {
        if self.carries.includes(message.session.as_ref()) {
            self.frame(&message.json);
        }
    }

    fn frame(&mut self, message: &[u8]) {
        let head = format!("event: message\nid: {}\ndata: ", self.cursor);
        for part in [head.as_bytes(), message, b"\n\n"] {
            self.ready.extend_from_slice(part);
        }
    }
}

/// Returns the first session that has events; never resolves without sessions. Cancel-safe.
async fn first_of(followed: &mut [Followed]) -> (usize, Result<Next, StoreError>) {
    if followed.is_empty() {
        return std::future::pending().await;
    }
    let (next, index, _) = select_all(followed.iter_mut().map(|one| one.next(BATCH).boxed())).await;
    (index, next)
}
