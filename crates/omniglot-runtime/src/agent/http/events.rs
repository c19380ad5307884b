//! One event stream of an HTTP agent: followed for as long as the server lives, opened again when it breaks.
//!
//! Tells when something may have been missed; reading it is the translator's business.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use omniglot_agents::http::{Event, FromServer, StreamLine, StreamState};
use tokio::time::{sleep, timeout};
use tokio_util::io::StreamReader;

use super::{Address, Out, state};
use crate::process::lines::{Line, LineReader};

/// Two and a half heartbeats.
const STALE: Duration = Duration::from_secs(25);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn follow(address: Address, directory: String, out: Out, open: Arc<AtomicBool>) {
    let mut follower = Follower { address, directory, out, open, seen: false };
    let mut pause = FIRST_PAUSE;
    loop {
        if follower.read().await {
            pause = FIRST_PAUSE;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

struct Follower {
    address: Address,
    directory: String,
    out: Out,
    open: Arc<AtomicBool>,
    /// Whether the stream was ever open.
    seen: bool,
}

impl Follower {
    /// Reads one connection to its end; whether there was one.
    async fn read(&mut self) -> bool {
        let Some(answer) = self.connect().await else { return false };
        // First, so that who comes between the two lines hears it twice rather than never.
        self.open.store(true, Ordering::SeqCst);
        self.tell(if self.seen { StreamState::Reopened } else { StreamState::Open }).await;
        self.seen = true;
        let bytes = answer.bytes_stream().map_err(io::Error::other);
        let mut lines = LineReader::new(StreamReader::new(bytes), self.address.line_cap);
        let mut stale = false;
        loop {
            match timeout(STALE, lines.next_batch()).await {
                Ok(Ok(Some(batch))) => {
                    if std::mem::take(&mut stale) {
                        self.tell(StreamState::Alive).await;
                    }
                    for line in batch {
                        self.line(line).await;
                    }
                }
                // A stream that stays silent for two terms is as good as cut.
                Err(_) if !stale => {
                    stale = true;
                    self.tell(StreamState::Stale).await;
                }
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        self.open.store(false, Ordering::SeqCst);
        self.tell(StreamState::Lost).await;
        true
    }

    async fn connect(&self) -> Option<reqwest::Response> {
        let Address { client, base, user, password, events_path, .. } = &self.address;
        let mut url = reqwest::Url::parse(&format!("{base}{events_path}")).ok()?;
        url.query_pairs_mut().append_pair("directory", &self.directory);
        let answer = client.get(url).basic_auth(user, Some(password)).send().await;
        match answer.and_then(reqwest::Response::error_for_status) {
            Ok(answer) => Some(answer),
            Err(error) => {
                tracing::debug!(%error, directory = self.directory, "an event stream did not open");
                None
            }
        }
    }

    async fn tell(&self, what: StreamState) {
        self.out.say(state(&self.directory, what)).await;
    }

    async fn line(&self, line: Line) {
        let read = match &line {
            Line::Whole(bytes) | Line::Partial(bytes) => StreamLine::read(bytes),
            Line::TooLong { .. } => StreamLine::Garbage,
        };
        match read {
            StreamLine::Data(data) => {
                let directory = self.directory.clone();
                self.out.say(FromServer::Event(Event { directory, data: data.to_owned() })).await;
            }
            StreamLine::Framing => {}
            StreamLine::Garbage => self.out.lines(vec![line]).await,
        }
    }
}
