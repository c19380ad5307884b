//! One command that an agent wanted started: its output as it comes, then its end.
//!
//! Runs under a guard as agents do, so that it leaves nothing behind. Keeps no output: the adapter does.

use std::sync::Arc;

use bytes::Bytes;
use omniglot_agents::{
    HostError, HostErrorKind, HostKey, HostOutcome, LaunchSpec, TerminalStart, TerminalText,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{HostContext, HostEvent, tell};
use crate::process::{Exit, Launch, Process, SpawnError};

pub(super) struct Terminal {
    pub(super) key: HostKey,
    pub(super) context: Arc<HostContext>,
    pub(super) events: mpsc::Sender<HostEvent>,
    /// Ends the command.
    pub(super) end: CancellationToken,
}

impl Terminal {
    pub(super) async fn run(self, start: TerminalStart) {
        let started = match self.launch(start) {
            Ok(launch) => Process::spawn_command(&self.context.supervisor, &launch).await.map_err(told),
            Err(error) => Err(error),
        };
        match started {
            Err(error) => self.tell(HostOutcome::Started(Err(error))).await,
            Ok((process, output)) => {
                self.tell(HostOutcome::Started(Ok(()))).await;
                let exit = self.listen(process, output).await;
                self.tell(HostOutcome::Ended(exit)).await;
            }
        }
    }

    async fn listen(&self, process: Process, mut output: mpsc::Receiver<Bytes>) -> Exit {
        let mut text = Text::new(self.context.whole_lines);
        loop {
            let chunk = tokio::select! {
                chunk = output.recv() => chunk,
                () = self.end.cancelled() => break,
            };
            let Some(chunk) = chunk else { break };
            self.say(text.push(&chunk)).await;
        }
        if self.end.is_cancelled() {
            process.kill();
        }
        // What it had written before it was killed is still said.
        while let Some(chunk) = self.rest(&process, &mut output).await {
            self.say(text.push(&chunk)).await;
        }
        self.say(text.finish()).await;
        process.gone_or_left().await
    }

    /// Returns the next output until its end; a command that closed it and runs on can still be ended.
    async fn rest(&self, process: &Process, output: &mut mpsc::Receiver<Bytes>) -> Option<Bytes> {
        if let Some(chunk) = output.recv().await {
            return Some(chunk);
        }
        tokio::select! {
            _ = process.wait() => {}
            () = self.end.cancelled() => process.kill(),
        }
        None
    }

    async fn say(&self, text: String) {
        if !text.is_empty() {
            self.tell(HostOutcome::Said(TerminalText { text, masked: None })).await;
        }
    }

    async fn tell(&self, outcome: HostOutcome) {
        tell(&self.events, self.key, outcome).await;
    }

    fn launch(&self, start: TerminalStart) -> Result<Launch, HostError> {
        let TerminalStart { command, args, env: more, cwd } = start;
        let mut env = self.context.env.clone();
        env.extend(more);
        let cwd = self.context.directory(cwd)?;
        let launch = Launch::new(LaunchSpec { program: command, args, env }, cwd);
        Ok(if is_shell_line(&launch) { in_shell(launch) } else { launch })
    }
}

/// Some agents give a whole line for a shell as the command, and no arguments.
fn is_shell_line(launch: &Launch) -> bool {
    let has_syntax = launch.program.contains(|c: char| c.is_whitespace() || ";&|<>$`(".contains(c));
    launch.args.is_empty() && has_syntax && launch.resolve().is_err()
}

fn in_shell(launch: Launch) -> Launch {
    let args = vec!["-c".to_owned(), launch.program];
    Launch { program: "sh".to_owned(), args, ..launch }
}

fn told(error: SpawnError) -> HostError {
    let kind = match &error {
        SpawnError::NotFound { .. } | SpawnError::Directory(_) => HostErrorKind::NotFound,
        SpawnError::Refused { .. } => HostErrorKind::Refused,
        SpawnError::Guard { source, .. } => {
            return HostError::new(HostErrorKind::Failed, format!("{error}: {source}"));
        }
    };
    HostError::new(kind, error.to_string())
}

/// Bytes to text, piece by piece: a character that two reads share stays whole.
#[derive(Debug)]
pub(super) struct Text {
    held: Vec<u8>,
    whole_lines: bool,
}

/// A line longer than this is not held back.
const LONG_LINE: usize = 4 * 1024;

impl Text {
    pub(super) fn new(whole_lines: bool) -> Self {
        Self { whole_lines, held: vec![] }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let line = self.held.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let end = match line {
            Some(line) if self.whole_lines => line,
            None if self.whole_lines && self.held.len() <= LONG_LINE => 0,
            _ => self.held.len() - torn(&self.held),
        };
        let rest = self.held.split_off(end);
        String::from_utf8_lossy(&std::mem::replace(&mut self.held, rest)).into_owned()
    }

    pub(super) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// How many bytes at the end begin a character that is not all there.
fn torn(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map(|chunk| chunk.invalid().len()).unwrap_or_default();
    let tail = bytes.get(bytes.len() - last..).unwrap_or_default();
    let incomplete = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
    if incomplete { last } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(whole_lines: bool, chunks: &[&[u8]]) -> Vec<String> {
        let mut text = Text::new(whole_lines);
        let mut said: Vec<String> = chunks.iter().map(|chunk| text.push(chunk)).collect();
        said.push(text.finish());
        said
    }

    #[test]
    fn a_character_that_two_reads_share_stays_whole() {
        assert_eq!(pieces(false, &[b"a\xc3", b"\xa4b"]), ["a", "äb", ""]);
        assert_eq!(pieces(false, &[b"\xf0\x9f", b"\x98\x80"]), ["", "😀", ""]);
        assert_eq!(pieces(false, &[b"a\xff", b"b\xc3"]), ["a\u{fffd}", "b", "\u{fffd}"]);
    }

    #[test]
    fn lines_are_held_back_until_they_are_whole_where_a_secret_could_be_torn() {
        assert_eq!(pieces(true, &[b"one\ntw", b"o\nthree"]), ["one\n", "two\n", "three"]);
        let long = vec![b'x'; LONG_LINE + 1];
        assert_eq!(pieces(true, &[&long]).concat().len(), LONG_LINE + 1);
    }
}
