//! The stdin of an agent: frames that are written, frames that wait until the agent reads, and frames that
//! never will be written.
//!
//! A sender writes at once while the pipe has room; the rest waits and is written by [`Stdin::pump`]. A frame
//! is written and counted under one lock, so that a frame is counted before anybody acts on the answer to it.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Sends frames to an agent, each as one line. Its stdin closes when the last sender is dropped and everything
/// is written.
#[derive(Debug)]
pub struct FrameSender {
    stdin: Arc<Stdin>,
    mine: Arc<Progress>,
    gate: Option<Gate>,
    open: Arc<FinishesWhenDropped>,
}

/// One session's way to a server that it shares: nothing passes once the session has left.
pub(crate) struct Gate {
    /// Left when the sender is dropped.
    pub(crate) left: CancellationToken,
    /// Looks at every frame before it is written: its answer may come at once.
    pub(crate) before: Box<dyn Fn(&Bytes) + Send + Sync>,
}

/// The frames of one sender that had to wait.
#[derive(Debug, Default)]
struct Progress {
    waiting: AtomicUsize,
    /// Written since somebody asked last.
    written: AtomicUsize,
    changed: Notify,
}

/// The writing end of an agent's stdin, which its senders share.
#[derive(Debug)]
pub(crate) struct Stdin {
    state: Mutex<State>,
    /// Something waits to be written.
    queued: Notify,
    closed: CancellationToken,
}

#[derive(Debug)]
struct State {
    /// `None` once it is closed.
    sink: Option<Sink>,
    waiting: VecDeque<Waiting>,
    /// All senders are gone: it closes when nothing waits any more.
    finishing: bool,
}

#[derive(Debug)]
enum Sink {
    Pipe(Arc<pipe::Sender>),
    /// Frames that are requests to an HTTP server, for the task that carries them out.
    Requests(mpsc::UnboundedSender<Bytes>),
}

#[derive(Debug)]
struct Waiting {
    rest: Bytes,
    sender: Arc<Progress>,
    /// Whether a part of it is written.
    begun: bool,
}

#[derive(Debug)]
struct FinishesWhenDropped(Arc<Stdin>);

/// Frames that go out in one write.
const FRAMES_IN_ONE_WRITE: usize = 64;

impl Stdin {
    pub(crate) fn of_pipe(pipe: pipe::Sender) -> (Arc<Self>, FrameSender) {
        Self::new(Sink::Pipe(Arc::new(pipe)))
    }

    pub(crate) fn of_requests() -> (FrameSender, mpsc::UnboundedReceiver<Bytes>) {
        let (sender, requests) = mpsc::unbounded_channel();
        (Self::new(Sink::Requests(sender)).1, requests)
    }

    fn new(sink: Sink) -> (Arc<Self>, FrameSender) {
        let state = State { sink: Some(sink), waiting: VecDeque::new(), finishing: false };
        let (queued, closed) = (Notify::new(), CancellationToken::new());
        let stdin = Arc::new(Self { state: Mutex::new(state), queued, closed });
        let open = Arc::new(FinishesWhenDropped(stdin.clone()));
        (stdin.clone(), FrameSender { stdin, mine: Arc::default(), gate: None, open })
    }

    /// Writes what waits whenever the agent has read, until stdin is closed.
    pub(crate) async fn pump(self: Arc<Self>) {
        let pump = async {
            loop {
                while let Some(pipe) = self.pipe_to_wait_for() {
                    // An error is met again by the write.
                    drop(pipe.writable().await);
                    self.flush(&mut self.lock());
                }
                self.queued.notified().await;
            }
        };
        self.closed.run_until_cancelled(pump).await;
    }

    /// Closes it at once: nobody will read what waits.
    pub(crate) fn close(&self) {
        self.close_locked(&mut self.lock());
    }

    fn close_locked(&self, state: &mut State) {
        state.sink = None;
        state.waiting.clear();
        self.closed.cancel();
    }

    fn pipe_to_wait_for(&self) -> Option<Arc<pipe::Sender>> {
        let state = self.lock();
        match &state.sink {
            Some(Sink::Pipe(pipe)) if !state.waiting.is_empty() => Some(pipe.clone()),
            _ => None,
        }
    }

    fn flush(&self, state: &mut State) {
        if let Err(error) = state.write() {
            tracing::debug!(%error, "an agent's stdin");
            self.close_locked(state);
        } else if state.finishing && state.waiting.is_empty() {
            self.close_locked(state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes as much as there is room for.
    fn write(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let written = match &self.sink {
                None => return Ok(()),
                Some(Sink::Pipe(pipe)) => {
                    let waiting = self.waiting.iter().take(FRAMES_IN_ONE_WRITE);
                    let slices: Vec<_> = waiting.map(|frame| IoSlice::new(&frame.rest)).collect();
                    match pipe.try_write_vectored(&slices) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                        written => written?,
                    }
                }
                Some(Sink::Requests(requests)) => {
                    let Some(frame) = self.waiting.front() else { return Ok(()) };
                    let request = frame.rest.clone();
                    let length = request.len();
                    requests.send(request).map_err(|_| io::ErrorKind::BrokenPipe)?;
                    length
                }
            };
            self.advance(written);
        }
        Ok(())
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(frame) = self.waiting.front_mut() {
            if frame.rest.len() > written {
                frame.begun |= written > 0;
                return frame.rest.advance(written);
            }
            written -= frame.rest.len();
            frame.sender.waiting.fetch_sub(1, Relaxed);
            frame.sender.written.fetch_add(1, Relaxed);
            frame.sender.changed.notify_one();
            self.waiting.pop_front();
        }
    }
}

impl FrameSender {
    /// Sends frames that belong together, in one write if there is room. Frames that are not written at once
    /// wait in order; [`take_written`](Self::take_written) counts all, at once or later.
    pub fn send(&self, frames: Vec<Bytes>) {
        if self.is_closed() {
            return;
        }
        if let Some(gate) = &self.gate {
            frames.iter().for_each(|frame| (gate.before)(frame));
        }
        let mut state = self.stdin.lock();
        if state.sink.is_none() {
            return;
        }
        self.mine.waiting.fetch_add(frames.len(), Relaxed);
        for frame in frames {
            let (rest, sender) = (line(&frame), self.mine.clone());
            state.waiting.push_back(Waiting { rest, sender, begun: false });
        }
        self.stdin.flush(&mut state);
        if !state.waiting.is_empty() {
            self.stdin.queued.notify_one();
        }
    }

    /// Returns how many of its frames were written since the last call, in the order in which they were sent.
    pub fn take_written(&self) -> usize {
        // A write that is just being made is waited for: its answer may be here already.
        let _state = self.stdin.lock();
        self.mine.written.swap(0, Relaxed)
    }

    /// Calls back one of its frames, the nth that [`take_written`](Self::take_written) has not counted: nothing
    /// of it is written, though it is counted in its turn. Returns whether none of it was written before.
    pub(crate) fn recall(&self, nth: usize) -> bool {
        let mut state = self.stdin.lock();
        let Some(place) = nth.checked_sub(self.mine.written.load(Relaxed)) else { return false };
        let mut mine = state.waiting.iter_mut().filter(|frame| Arc::ptr_eq(&frame.sender, &self.mine));
        let Some(frame) = mine.nth(place).filter(|frame| !frame.begun) else { return false };
        frame.rest.clear();
        true
    }

    /// Waits until [`take_written`](Self::take_written) has something to tell. Cancel-safe.
    pub async fn progress(&self) {
        while self.mine.written.load(Relaxed) == 0 {
            self.mine.changed.notified().await;
        }
    }

    /// Waits until less than `limit` frames of this sender wait, or the agent reads no more.
    pub(crate) async fn room(&self, limit: usize) {
        while self.waiting() >= limit && !self.is_closed() {
            tokio::select! {
                () = self.mine.changed.notified() => {}
                () = self.closed() => {}
            }
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.mine.waiting.load(Relaxed)
    }

    pub fn is_closed(&self) -> bool {
        self.stdin.closed.is_cancelled() || self.gate.as_ref().is_some_and(|gate| gate.left.is_cancelled())
    }

    /// Waits until the agent reads no more.
    pub async fn closed(&self) {
        match &self.gate {
            Some(gate) => tokio::select! {
                () = self.stdin.closed.cancelled() => {}
                () = gate.left.cancelled() => {}
            },
            None => self.stdin.closed.cancelled().await,
        }
    }

    /// Returns a sender for one session of a server.
    pub(crate) fn through(&self, gate: Gate) -> Self {
        let (stdin, open) = (self.stdin.clone(), self.open.clone());
        Self { stdin, mine: Arc::default(), gate: Some(gate), open }
    }
}

fn line(frame: &Bytes) -> Bytes {
    let mut line = BytesMut::with_capacity(frame.len() + 1);
    line.put_slice(frame);
    line.put_u8(b'\n');
    line.freeze()
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.left.cancel();
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("left", &self.left.is_cancelled()).finish_non_exhaustive()
    }
}

impl Drop for FinishesWhenDropped {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.finishing = true;
        self.0.flush(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn stdin() -> (Arc<Stdin>, FrameSender, pipe::Receiver) {
        let (sender, agent) = pipe::pipe().unwrap();
        let (stdin, frames) = Stdin::of_pipe(sender);
        (stdin, frames, agent)
    }

    #[tokio::test]
    async fn frames_go_out_one_by_line_and_the_end_of_the_senders_closes_stdin() {
        let (stdin, frames, mut agent) = stdin();
        let pump = tokio::spawn(stdin.pump());
        frames.send(vec![Bytes::from("{\"id\":1}"), Bytes::from("{\"id\":2}")]);
        frames.send(vec![Bytes::from("{}")]);
        drop(frames);
        let mut text = String::new();
        agent.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "{\"id\":1}\n{\"id\":2}\n{}\n");
        pump.await.unwrap();
    }

    #[tokio::test]
    async fn a_frame_is_called_back_unless_a_part_of_it_is_written() {
        let (stdin, frames, mut agent) = stdin();
        frames.send(vec![Bytes::from("{}"), Bytes::from(vec![b'x'; 1024 * 1024])]);
        frames.send(vec![Bytes::from("no"), Bytes::from("yes")]);
        let pump = tokio::spawn(stdin.pump());
        let mut first = [0; 4];
        agent.read_exact(&mut first).await.unwrap();
        assert_eq!([0, 1, 2, 4].map(|nth| frames.recall(nth)), [false, false, true, false]);
        assert_eq!(frames.take_written(), 1);
        drop(frames);
        let mut text = String::new();
        agent.read_to_string(&mut text).await.unwrap();
        assert_eq!(&first, b"{}\nx");
        assert!(text.starts_with("xxx") && text.ends_with("xxx\nyes\n"));
        pump.await.unwrap();
    }

    #[tokio::test]
    async fn a_frame_is_written_when_the_agent_has_read_all_of_it_and_not_before() {
        let (stdin, frames, mut agent) = stdin();
        tokio::spawn(stdin.pump());
        let large = vec![b'x'; 1024 * 1024];
        frames.send(vec![Bytes::from(large.clone()), Bytes::from("{}")]);
        let mut read = vec![0; large.len() / 2];
        agent.read_exact(&mut read).await.unwrap();
        assert_eq!(frames.take_written(), 0);
        let mut rest = vec![0; large.len() / 2 + 4];
        agent.read_exact(&mut rest).await.unwrap();
        assert!(rest.ends_with(b"x\n{}\n"));
        // Whoever has read an answer finds its question counted.
        assert_eq!(frames.take_written(), 2);
    }

    #[tokio::test]
    async fn what_an_agent_does_not_read_is_never_written() {
        let (stdin, frames, agent) = stdin();
        tokio::spawn(stdin.pump());
        frames.send(vec![Bytes::from(vec![b'x'; 1024 * 1024])]);
        drop(agent);
        frames.closed().await;
        frames.send(vec![Bytes::from("{}")]);
        assert_eq!((frames.take_written(), frames.is_closed()), (0, true));
    }
}
