//! A reader of SSE that costs little, so that the daemon is what is measured.
//!
//! Asks with HTTP/1.0, which has no chunks to undo, and reads only the ids.

use anyhow::Context as _;
use omniglot_testkit::daemon::Daemon;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What one subscriber has seen.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) events: u64,
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
}

pub(crate) struct Subscriber {
    socket: TcpStream,
    buffer: Vec<u8>,
    last: u64,
    seen: Seen,
}

impl Subscriber {
    pub(crate) async fn connect(daemon: &Daemon, session: &str, after: u64) -> anyhow::Result<Self> {
        let address = daemon.url.trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let token = &daemon.token;
        let request = format!(
            "GET /v1/sessions/{session}/events/sse?offset={after} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await?;
        let mut subscriber =
            Self { socket, buffer: Vec::with_capacity(1 << 16), last: after, seen: Seen::default() };
        subscriber.until(b"event: caught_up").await?;
        Ok(subscriber)
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

    async fn until(&mut self, mark: &[u8]) -> anyhow::Result<()> {
        loop {
            if let Some(at) = memchr::memmem::find(&self.buffer, mark) {
                self.buffer.drain(..at + mark.len());
                return Ok(());
            }
            anyhow::ensure!(
                self.read().await?,
                "the stream ended: {}",
                String::from_utf8_lossy(&self.buffer)
            );
        }
    }

    /// Reads until the event with the sequence that `end` will tell has come.
    pub(crate) async fn run(
        mut self,
        mut end: tokio::sync::watch::Receiver<Option<u64>>,
    ) -> anyhow::Result<Seen> {
        while end.borrow_and_update().is_none_or(|end| self.last < end) {
            tokio::select! {
                more = self.socket.read_buf(&mut self.buffer) => anyhow::ensure!(more? > 0, "the stream ended"),
                changed = end.changed() => changed?,
            }
            self.count()?;
        }
        Ok(self.seen)
    }

    /// Counts the ids that are whole, and keeps the rest.
    fn count(&mut self) -> anyhow::Result<()> {
        let mut done = 0;
        while let Some(at) = self.buffer.get(done..).and_then(|rest| memchr::memmem::find(rest, b"\nid: ")) {
            let start = done + at + 5;
            let rest = self.buffer.get(start..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', rest) else { break };
            let id = std::str::from_utf8(rest.get(..length).unwrap_or_default())?;
            let sequence: u64 = id.rsplit('.').next().context("EPOCH.SEQUENCE")?.trim().parse()?;
            match sequence.cmp(&(self.last + 1)) {
                std::cmp::Ordering::Less => self.seen.doubled += 1,
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => self.seen.lost += sequence - self.last - 1,
            }
            self.seen.events += 1;
            self.last = self.last.max(sequence);
            done = start + length;
        }
        self.buffer.drain(..done);
        Ok(())
    }
}
