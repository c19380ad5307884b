//! Lines to the editor: one at a time, in order, each written whole.

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, oneshot};

/// The lines that may wait for the editor; beyond that the daemon's stream waits.
const WAITING: usize = 256;

#[derive(Debug, Clone)]
pub(super) struct Outbound {
    lines: mpsc::Sender<Item>,
}

#[derive(Debug)]
enum Item {
    Line(String),
    Flush(oneshot::Sender<()>),
}

impl Outbound {
    /// Also returns a future that resolves when the editor no longer reads.
    pub(super) fn start() -> (Self, impl Future<Output = ()>) {
        let (lines, inbox) = mpsc::channel(WAITING);
        let writing = tokio::spawn(write(inbox));
        let closed = async {
            match writing.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "the editor reads no more"),
                Err(error) => tracing::error!(%error, "writing broke off"),
            }
        };
        (Self { lines }, closed)
    }

    /// Sends a line; an editor that has exited needs none.
    pub(super) async fn line(&self, line: String) {
        drop(self.lines.send(Item::Line(line)).await);
    }

    /// Waits until everything before is written.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.lines.send(Item::Flush(done)).await.is_ok() {
            // Either the lines are written, or the editor does not read.
            drop(written.await);
        }
    }
}

async fn write(mut inbox: mpsc::Receiver<Item>) -> io::Result<()> {
    let mut stdout = tokio::io::stdout();
    while let Some(item) = inbox.recv().await {
        match item {
            Item::Line(mut line) => {
                line.push('\n');
                stdout.write_all(line.as_bytes()).await?;
            }
            Item::Flush(done) => {
                stdout.flush().await?;
                if done.send(()).is_err() {
                    tracing::debug!("nobody waits for the last line any more");
                }
            }
        }
        if inbox.is_empty() {
            stdout.flush().await?;
        }
    }
    Ok(())
}
