//! Runs a command to its end and keeps what it wrote, within bounds.

use std::time::Duration;

use omniglot_agents::stderr::StderrLog;
use omniglot_schema::StderrOutput;
use tokio::time::timeout;

use crate::process::{Exit, Launch, Process, SpawnError, Supervisor};

/// Longer output is kept by its first and last lines alone.
const MAX_TEXT: usize = 64 * 1024;

/// A command that has ended, or was ended because its time was over.
pub(crate) struct Finished {
    /// `None` when its time was over.
    pub(crate) exit: Option<Exit>,
    /// The beginning of its output.
    pub(crate) text: String,
    pub(crate) output: StderrOutput,
}

impl Finished {
    pub(crate) fn succeeded(&self) -> bool {
        self.exit.is_some_and(|exit| exit.code == Some(0))
    }

    /// The last lines that it wrote.
    pub(crate) fn last_lines(&self, count: usize) -> String {
        let text = self.output.tail.as_deref().or(self.output.head.as_deref()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
    }
}

/// Runs the command under a guard. Dropping the future ends it.
pub(crate) async fn run(
    supervisor: &Supervisor,
    launch: &Launch,
    limit: Duration,
) -> Result<Finished, SpawnError> {
    let (process, mut output) = Process::spawn_command(supervisor, launch).await?;
    let (mut said, mut log) = (Vec::new(), StderrLog::default());
    let listening = async {
        while let Some(chunk) = output.recv().await {
            log.push(&chunk);
            if said.len() < MAX_TEXT {
                said.extend_from_slice(&chunk);
            }
        }
        process.wait().await
    };
    let exit = timeout(limit, listening).await.ok();
    if exit.is_none() {
        process.kill();
        process.gone_or_left().await;
    }
    Ok(Finished { exit, text: String::from_utf8_lossy(&said).into_owned(), output: log.output() })
}
