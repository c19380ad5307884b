//! The tasks that read from a process: stdout to lines, stderr to its log. Each waits for its own pipe only: a
//! task that waits for one while nobody reads the other hangs both sides. Writing is the work of `stdin`.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use omniglot_agents::stderr::StderrLog;
use omniglot_schema::StderrOutput;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::Limits;
use crate::process::lines::{Line, LineReader};

/// The agent's stdout: batches of lines, in order, then the end.
///
/// Bounded by count and by bytes. When nobody takes the lines, the agent's pipe fills and it waits.
#[derive(Debug)]
pub struct LineReceiver {
    batches: mpsc::Receiver<Batch>,
}

#[derive(Debug)]
struct Batch {
    lines: Vec<Line>,
    /// Room in the queue; given back when the batch is taken.
    _room: OwnedSemaphorePermit,
}

impl LineReceiver {
    /// The next lines, at least one; `None` when the agent has closed stdout or is gone. Cancel-safe.
    pub async fn recv(&mut self) -> Option<Vec<Line>> {
        self.batches.recv().await.map(|batch| batch.lines)
    }

    /// The next lines if they are there already.
    pub fn try_recv(&mut self) -> Option<Vec<Line>> {
        self.batches.try_recv().ok().map(|batch| batch.lines)
    }
}

/// The writing end of a [`LineReceiver`].
#[derive(Debug, Clone)]
pub(crate) struct LineSender {
    batches: mpsc::Sender<Batch>,
    room: Arc<Semaphore>,
    /// All the room there is: what a batch larger than that takes.
    all: u32,
}

pub(crate) fn line_queue(limits: &Limits) -> (LineSender, LineReceiver) {
    let (sender, receiver) = mpsc::channel(limits.queued_batches.max(1));
    let all = u32::try_from(limits.queued_bytes.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
    let room = Arc::new(Semaphore::new(all as usize));
    (LineSender { batches: sender, room, all }, LineReceiver { batches: receiver })
}

impl LineSender {
    /// Hands over what there is room for at once; the rest is lost.
    pub(crate) fn offer(&self, lines: Vec<Line>) {
        for line in lines {
            if let Ok(room) =
                self.room.clone().try_acquire_many_owned(self.wanted(std::slice::from_ref(&line)))
            {
                drop(self.batches.try_send(Batch { lines: vec![line], _room: room }));
            }
        }
    }

    fn wanted(&self, lines: &[Line]) -> u32 {
        let size = lines.iter().map(|line| line.size() + size_of::<Line>()).sum::<usize>();
        u32::try_from(size).unwrap_or(u32::MAX).min(self.all)
    }

    /// Waits for room; `None` when nobody listens any more.
    pub(crate) async fn send(&self, lines: Vec<Line>) -> Option<()> {
        let wanted = self.wanted(&lines);
        let room = tokio::select! {
            room = self.room.clone().acquire_many_owned(wanted) => room.ok()?,
            () = self.batches.closed() => return None,
        };
        self.batches.send(Batch { lines, _room: room }).await.ok()
    }
}

/// Reads lines until the end, or until `give_up` when no more come. What was read is always handed over.
pub(super) async fn pump_stdout(
    stdout: impl AsyncRead + Unpin,
    cap: usize,
    queue: LineSender,
    give_up: CancellationToken,
) {
    let mut reader = LineReader::new(stdout, cap);
    loop {
        let batch = tokio::select! {
            biased;
            batch = reader.next_batch() => batch,
            () = give_up.cancelled() => return,
        };
        let lines = match batch {
            Ok(Some(lines)) => lines,
            Ok(None) => return,
            Err(error) => return tracing::debug!(%error, "an agent's stdout"),
        };
        if queue.send(lines).await.is_none() {
            return;
        }
    }
}

/// Reads whatever comes until the end, or until `give_up` when no more comes.
pub(super) async fn pump_output(
    mut output: impl AsyncRead + Unpin,
    queue: mpsc::Sender<Bytes>,
    give_up: CancellationToken,
) {
    loop {
        let mut chunk = BytesMut::with_capacity(OUTPUT_READ);
        let read = tokio::select! {
            biased;
            read = output.read_buf(&mut chunk) => read,
            () = give_up.cancelled() => return,
        };
        match read {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                if queue.send(chunk.freeze()).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// The stderr log of a process, shared with whoever wants to read it.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedStderr(Arc<Mutex<StderrLog>>);

impl SharedStderr {
    pub(super) fn output(&self) -> StderrOutput {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).output()
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

/// Hands everything to `push` until the end, or until `give_up` when no more comes. The end of a terminal is an
/// error (EIO), and as good as any.
pub(super) async fn pump_bytes(
    mut output: impl AsyncRead + Unpin,
    push: impl Fn(&[u8]) + Send,
    give_up: CancellationToken,
) {
    let mut buffer = BytesMut::with_capacity(BYTES_READ);
    loop {
        buffer.clear();
        let read = tokio::select! {
            biased;
            read = output.read_buf(&mut buffer) => read,
            () = give_up.cancelled() => return,
        };
        match read {
            Ok(0) | Err(_) => return,
            Ok(_) => push(&buffer),
        }
    }
}

const BYTES_READ: usize = 8 * 1024;
const OUTPUT_READ: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::*;

    fn limits() -> Limits {
        Limits { queued_bytes: 100_000, queued_batches: 8, ..Limits::default() }
    }

    /// Under the paused clock the limit passes exactly when nothing else can go on.
    async fn accepted_while_nobody_reads(line: &[u8], lines: usize) -> (usize, LineReceiver) {
        let (mut agent, stdout) = duplex(4096);
        let (sender, receiver) = line_queue(&limits());
        tokio::spawn(pump_stdout(stdout, 1 << 20, sender, CancellationToken::new()));
        let mut written = 0;
        for _ in 0..lines {
            if tokio::time::timeout(Duration::from_secs(1), agent.write_all(line)).await.is_err() {
                break;
            }
            written += 1;
        }
        (written, receiver)
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_waits_when_nobody_takes_its_lines() {
        let (written, mut receiver) = accepted_while_nobody_reads(b"0123456789\n", 1_000_000).await;
        assert!(written * 11 < 300_000, "{written} lines were taken");
        let mut told = 0;
        while let Some(lines) = receiver.recv().await {
            told += lines.len();
        }
        assert!(told >= written, "{told} of {written} lines came");
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_larger_than_the_queue_passes_alone() {
        let line = [vec![b'x'; 500_000], vec![b'\n']].concat();
        let (written, mut receiver) = accepted_while_nobody_reads(&line, 10).await;
        assert!(written <= 3, "{written} large lines were taken");
        assert_eq!(receiver.recv().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_reader_that_is_told_to_give_up_hands_over_what_is_there() {
        let (mut agent, stdout) = duplex(4096);
        agent.write_all(b"last words\n").await.unwrap();
        let (sender, mut receiver) = line_queue(&limits());
        let give_up = CancellationToken::new();
        give_up.cancel();
        pump_stdout(stdout, 1 << 20, sender, give_up).await;
        assert_eq!(receiver.try_recv().unwrap(), [Line::Whole(Bytes::from_static(b"last words"))]);
        assert_eq!(receiver.recv().await, None);
    }
}
