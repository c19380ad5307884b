//! An SSE reader that costs little, so that the measurement shows the server.
//!
//! Uses HTTP/1.0, which has no chunks to decode, and reads only the ids: `N` or `EPOCH.N`.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// A subscriber that receives nothing for this long after the end gives up.
const QUIET_TIMEOUT: Duration = Duration::from_secs(2);

/// The events that one subscriber has received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) events: u64,
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    /// The arrival of the last event.
    pub(crate) at: Instant,
}

pub(crate) struct Subscriber {
    socket: TcpStream,
    buffer: Vec<u8>,
    last: u64,
    seen: Seen,
}

impl Subscriber {
    /// Requests a stream whose events follow `after`.
    pub(crate) async fn connect(
        address: &str,
        path: &str,
        headers: &str,
        after: u64,
    ) -> anyhow::Result<Self> {
        let mut socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: text/event-stream\r\n{headers}\r\n");
        socket.write_all(request.as_bytes()).await?;
        let seen = Seen { events: 0, lost: 0, doubled: 0, at: Instant::now() };
        Ok(Self { socket, buffer: Vec::with_capacity(1 << 16), last: after, seen })
    }

    /// Reads more; false at the end of the stream.
    pub(crate) async fn read(&mut self) -> anyhow::Result<bool> {
        Ok(self.socket.read_buf(&mut self.buffer).await? > 0)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Reads up to `mark`, and discards everything up to its end.
    pub(crate) async fn until(&mut self, mark: &[u8]) -> anyhow::Result<()> {
        loop {
            if let Some(at) = memchr::memmem::find(&self.buffer, mark) {
                self.buffer.drain(..at + mark.len());
                return Ok(());
            }
            let head = String::from_utf8_lossy(&self.buffer).into_owned();
            anyhow::ensure!(self.read().await?, "the stream ended: {head}");
        }
    }

    /// Reads until the event with the number from `end` has arrived, or until nothing arrives any more.
    pub(crate) async fn run(mut self, mut end: watch::Receiver<Option<u64>>) -> anyhow::Result<Seen> {
        loop {
            let known = *end.borrow_and_update();
            if known.is_some_and(|end| self.last >= end) {
                return Ok(self.seen);
            }
            tokio::select! {
                more = self.socket.read_buf(&mut self.buffer) => anyhow::ensure!(more? > 0, "the stream ended"),
                changed = end.changed() => changed?,
                () = tokio::time::sleep(QUIET_TIMEOUT), if known.is_some() => {
                    self.seen.lost += known.unwrap_or_default().saturating_sub(self.last);
                    return Ok(self.seen);
                }
            }
            self.count()?;
        }
    }

    /// Returns the number of the last event once nothing has arrived for a moment.
    pub(crate) async fn last_of_all(mut self) -> anyhow::Result<u64> {
        while let Ok(more) = tokio::time::timeout(Duration::from_millis(500), self.read()).await {
            anyhow::ensure!(more?, "the stream ended");
            self.count()?;
        }
        Ok(self.last)
    }

    /// Counts the complete ids, and keeps the remaining bytes.
    fn count(&mut self) -> anyhow::Result<()> {
        let mut done = 0;
        while let Some(at) = self.buffer.get(done..).and_then(|rest| memchr::memmem::find(rest, b"\nid: ")) {
            let start = done + at + 5;
            let rest = self.buffer.get(start..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', rest) else { break };
            let id = std::str::from_utf8(rest.get(..length).unwrap_or_default())?;
            let number: u64 = id.rsplit('.').next().context("an id")?.trim().parse()?;
            self.take(number);
            done = start + length;
        }
        if done > 0 {
            self.seen.at = Instant::now();
            self.buffer.drain(..done);
        }
        Ok(())
    }

    fn take(&mut self, number: u64) {
        match number.cmp(&(self.last + 1)) {
            std::cmp::Ordering::Less => self.seen.doubled += 1,
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => self.seen.lost += number - self.last - 1,
        }
        self.seen.events += 1;
        self.last = self.last.max(number);
    }
}
