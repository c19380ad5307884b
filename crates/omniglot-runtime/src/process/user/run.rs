//! A command that is run to its end, within a time, while its client waits. Dropping the future kills it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use omniglot_schema::{ProcessConfig, ProcessLogsStream, ProcessRunRequest, ProcessRunResponse};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::launch;
use super::pipes::{self, Sink};
use crate::error::{ProcessError, RuntimeError};
use crate::process::{Process, Supervisor};

pub(crate) async fn run(
    supervisor: &Supervisor,
    request: &ProcessRunRequest,
    limits: &ProcessConfig,
    stopping: &CancellationToken,
) -> Result<ProcessRunResponse, RuntimeError> {
    let began = Instant::now();
    let timeout = request.timeout_ms.unwrap_or(limits.default_run_timeout_ms).min(limits.max_run_timeout_ms);
    if timeout == 0 {
        return Err(ProcessError::Invalid("`timeoutMs` must be at least 1".into()).into());
    }
    let max_bytes = request.max_output_bytes.unwrap_or(limits.max_output_bytes).min(limits.max_output_bytes);
    let output = Arc::new(Output::new(usize::try_from(max_bytes).unwrap_or(usize::MAX)));
    let process = start(supervisor, request, output.clone()).await?;
    let deadline = Instant::now() + Duration::from_millis(timeout);
    let timed_out = tokio::select! {
        _ = process.wait() => false,
        () = tokio::time::sleep_until(deadline) => true,
        () = stopping.cancelled() => {
            process.kill();
            process.gone_or_left().await;
            return Err(RuntimeError::Stopping);
        }
    };
    if timed_out {
        process.kill();
        process.wait().await;
    }
    let exit = process.gone_or_left().await;
    let [stdout, stderr] = output.take();
    Ok(ProcessRunResponse {
        exit_code: exit.code.filter(|_| !timed_out),
        timed_out,
        stdout_truncated: stdout.truncated,
        stderr_truncated: stderr.truncated,
        stdout: stdout.text(),
        stderr: stderr.text(),
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

async fn start(
    supervisor: &Supervisor,
    request: &ProcessRunRequest,
    output: Arc<Output>,
) -> Result<Process, ProcessError> {
    let launch = launch::of_run(request)?;
    let sink: Sink = Arc::new(move |stream, bytes: &[u8]| output.push(stream, bytes));
    // It has nothing to read.
    let (process, _) = pipes::spawn(supervisor, &launch, false, &sink).await?;
    Ok(process)
}

/// The first bytes of both streams.
struct Output {
    max_bytes: usize,
    kept: Mutex<[Kept; 2]>,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    truncated: bool,
}

impl Output {
    fn new(max_bytes: usize) -> Self {
        Self { max_bytes, kept: Mutex::default() }
    }

    fn push(&self, stream: ProcessLogsStream, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let [stdout, stderr] = &mut *kept;
        let kept = if stream == ProcessLogsStream::Stderr { stderr } else { stdout };
        let room = self.max_bytes.saturating_sub(kept.bytes.len());
        kept.truncated |= bytes.len() > room;
        kept.bytes.extend(bytes.iter().take(room));
    }

    fn take(&self) -> [Kept; 2] {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
