//! A live agent: its process and the translator that speaks for it, as one.
//!
//! Feeds lines and commands to the translator and carries out what it asks to be sent. What it hears is
//! returned in order; making events of it is the session's business.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use omniglot_agents::{Command, DropReason, Input, LineFault, Output, Translator};
use omniglot_schema::{EventSource, StderrOutput};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::lines::Line;
use crate::mask::Mask;
use crate::process::{Exit, LineReceiver, Process, ProcessIo};

/// What came of one native message, in or out.
#[derive(Debug)]
pub(crate) struct Heard {
    /// The message; `None` for what a command caused without one.
    pub(crate) frame: Option<Bytes>,
    pub(crate) source: EventSource,
    /// Never holds [`Output::Send`]: that is carried out and heard as a message of its own.
    pub(crate) outputs: Vec<Output>,
}

impl Heard {
    /// Whether the agent said something that its translator knows.
    pub(crate) fn is_understood(&self) -> bool {
        let understood = |output: &Output| !matches!(output, Output::Unparsed(_));
        self.source == EventSource::Agent && self.outputs.iter().any(understood)
    }

    /// A replay of history is counted but not kept: the log has it already.
    pub(crate) fn without_replay(mut self) -> Self {
        let replay = |output: &Output| matches!(output, Output::Dropped { reason: DropReason::Replay });
        if !self.outputs.is_empty() && self.outputs.iter().all(replay) {
            self.frame = None;
        }
        self
    }

    /// For those who tell the refusal themselves.
    pub(crate) fn without_refusal(mut self) -> Self {
        self.outputs.retain(|output| !matches!(output, Output::Refused(_)));
        self
    }
}

#[derive(Debug)]
pub(crate) enum FromAgent {
    Lines(Vec<Line>),
    /// The last thing that a process says.
    Exited(Exit),
}

pub(crate) struct Agent {
    translator: Box<dyn Translator>,
    mask: Mask,
    pub(crate) process: Process,
    lines: LineReceiver,
    /// `None` once stdin is to be closed.
    frames: Option<mpsc::Sender<Bytes>>,
    /// What did not fit into the pipe yet.
    unsent: VecDeque<Bytes>,
    /// When it must be gone, once it has closed its stdout: an agent that cannot speak is of no use.
    leaves: Option<Instant>,
}

/// How much is taken from the agent before it is committed.
const STEP_LINES: usize = 512;
const STEP_BYTES: usize = 256 * 1024;

/// An agent that does not read what we answer is not heard until it does.
const UNSENT: usize = 256;

/// How long a process may live on after it has closed its stdout.
const SPEECHLESS: Duration = Duration::from_secs(1);

impl Agent {
    pub(crate) fn new(translator: Box<dyn Translator>, mask: Mask, process: Process, io: ProcessIo) -> Self {
        Self {
            translator,
            mask,
            process,
            lines: io.lines,
            frames: Some(io.frames),
            unsent: VecDeque::new(),
            leaves: None,
        }
    }

    /// What is ready now, at least one line, or the end. Cancel-safe.
    pub(crate) async fn next(&mut self) -> FromAgent {
        loop {
            let lines = tokio::select! {
                lines = self.lines.recv(), if self.unsent.len() < UNSENT => lines,
                () = flush(self.frames.as_ref(), &mut self.unsent) => continue,
            };
            return match lines {
                Some(lines) => FromAgent::Lines(self.drain(lines)),
                None => FromAgent::Exited(self.leave().await),
            };
        }
    }

    async fn leave(&mut self) -> Exit {
        let leaves = *self.leaves.get_or_insert_with(|| Instant::now() + SPEECHLESS);
        if let Ok(exit) = timeout_at(leaves, self.process.wait()).await {
            return exit;
        }
        self.process.kill();
        self.process.wait().await
    }

    fn drain(&mut self, mut lines: Vec<Line>) -> Vec<Line> {
        let mut bytes: usize = lines.iter().map(Line::size).sum();
        while lines.len() < STEP_LINES
            && bytes < STEP_BYTES
            && let Some(more) = self.lines.try_recv()
        {
            bytes += more.iter().map(Line::size).sum::<usize>();
            lines.extend(more);
        }
        lines
    }

    pub(crate) fn close_stdin(&mut self) {
        self.frames = None;
    }

    pub(crate) fn started(&mut self, argv: &[String]) -> Vec<Heard> {
        self.handle(Input::Started { argv }, None)
    }

    pub(crate) fn command(&mut self, command: &Command) -> Vec<Heard> {
        self.handle(Input::Command(command), None)
    }

    pub(crate) fn exited(&mut self, exit: Exit) -> Vec<Heard> {
        let stderr = self.stderr();
        self.handle(Input::Exited { code: exit.code, signal: exit.signal, stderr: &stderr }, None)
    }

    /// What it wrote on stderr so far, without secrets.
    pub(crate) fn stderr(&self) -> StderrOutput {
        let StderrOutput { head, tail, truncated, total_lines } = self.process.stderr();
        let mask = |text: Option<String>| text.map(|text| self.mask.text(text));
        StderrOutput { head: mask(head), tail: mask(tail), truncated, total_lines }
    }

    pub(crate) fn hear(&mut self, line: Line) -> Vec<Heard> {
        let (bytes, fault) = match line {
            Line::Whole(bytes) | Line::Partial(bytes) => (bytes, None),
            Line::TooLong { head, length } => (head, Some(LineFault::TooLong(length))),
        };
        let bytes = self.mask.bytes(bytes);
        let text = std::str::from_utf8(&bytes).map_err(|_| LineFault::NotUtf8);
        let raw =
            text.and_then(|text| serde_json::from_str::<&RawValue>(text).map_err(|_| LineFault::NotJson));
        let input = match (fault, raw) {
            (Some(fault), _) | (None, Err(fault)) => Input::Garbage { line: &bytes, fault },
            (None, Ok(raw)) => Input::Frame(raw),
        };
        self.handle(input, Some(bytes.clone()))
    }

    /// Lets the translator handle one thing, then everything that it wants sent because of it.
    fn handle(&mut self, input: Input<'_>, frame: Option<Bytes>) -> Vec<Heard> {
        let source = match input {
            Input::Frame(_) | Input::Garbage { .. } => EventSource::Agent,
            _ => EventSource::Daemon,
        };
        let mut outputs = Vec::new();
        self.translator.handle(input, &mut outputs);
        let mut to_send = VecDeque::new();
        let mut heard = vec![Heard { frame, source, outputs: keep(outputs, &mut to_send) }];
        while let Some(raw) = to_send.pop_front() {
            let frame = Bytes::from(raw.get().as_bytes().to_vec());
            self.send(frame.clone());
            let mut outputs = Vec::new();
            self.translator.handle(Input::Sent(&raw), &mut outputs);
            let outputs = keep(outputs, &mut to_send);
            heard.push(Heard { frame: Some(frame), source: EventSource::Daemon, outputs });
        }
        heard
    }

    fn send(&mut self, frame: Bytes) {
        let Some(frames) = &self.frames else { return };
        if !self.unsent.is_empty() {
            return self.unsent.push_back(frame);
        }
        if let Err(mpsc::error::TrySendError::Full(frame)) = frames.try_send(frame) {
            self.unsent.push_back(frame);
        }
    }
}

fn keep(outputs: Vec<Output>, to_send: &mut VecDeque<Box<RawValue>>) -> Vec<Output> {
    outputs
        .into_iter()
        .filter_map(|output| match output {
            Output::Send(raw) => {
                to_send.push_back(raw);
                None
            }
            output => Some(output),
        })
        .collect()
}

/// Writes the first of what waits once there is room. Cancel-safe: it is taken only when it can go.
async fn flush(frames: Option<&mpsc::Sender<Bytes>>, unsent: &mut VecDeque<Bytes>) {
    let (Some(frames), false) = (frames, unsent.is_empty()) else { return std::future::pending().await };
    match frames.reserve().await {
        Ok(permit) => drop(unsent.pop_front().map(|frame| permit.send(frame))),
        // The agent reads no more: its end will be told.
        Err(_) => unsent.clear(),
    }
}
