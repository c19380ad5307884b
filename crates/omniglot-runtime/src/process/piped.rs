//! Runs a command to its end with something to read, and keeps both of its outputs apart.

use std::sync::{Arc, Mutex, PoisonError};

use omniglot_schema::ProcessLogsStream;
use tokio::io::AsyncWriteExt as _;

use super::user::pipes::{self, Sink, UserInput};
use super::{Exit, Launch, SpawnError, Supervisor};

/// The outputs of a command that has ended.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// It wrote more than was kept.
    pub(crate) is_cut: bool,
}

/// Runs the command under a guard; keeps `max_bytes` of each output. Dropping the future ends it.
pub(crate) async fn run(
    supervisor: &Supervisor,
    launch: &Launch,
    input: &[u8],
    max_bytes: usize,
) -> Result<(Exit, Output), SpawnError> {
    let kept = Arc::new(Mutex::new(Output::default()));
    let sink: Sink = {
        let kept = kept.clone();
        Arc::new(move |stream, bytes: &[u8]| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(stream, bytes, max_bytes);
        })
    };
    let (process, UserInput { mut stdin, .. }) = pipes::spawn(supervisor, launch, false, &sink).await?;
    let feed = async move {
        // One that has read enough, or has died, tells why by itself.
        drop(stdin.write_all(input).await);
        drop(stdin);
    };
    let ((), exit) = tokio::join!(feed, process.wait());
    let output = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((exit, output))
}

impl Output {
    fn push(&mut self, stream: ProcessLogsStream, bytes: &[u8], max_bytes: usize) {
        let kept = if stream == ProcessLogsStream::Stderr { &mut self.stderr } else { &mut self.stdout };
        let room = max_bytes.saturating_sub(kept.len());
        kept.extend(bytes.iter().take(room));
        self.is_cut |= bytes.len() > room;
    }
}
