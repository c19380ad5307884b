//! A live agent: its process and the translator that speaks for it, as one.
//!
//! Feeds lines and commands to the translator and carries out what it asks to be sent. What it hears is
//! returned in order; making events of it is the session's business.
//!
//! The translator is told [`Input::Sent`] when a message is in the agent's pipe, mostly within the command that
//! caused it. A message that does not fit waits until the agent has read, which [`Agent::next`] tells as
//! [`AgentEvent::Sent`], and which is looked at before another line is heard. A message to an agent that reads
//! no more is lost: the translator never hears of it.

mod sending;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use omniglot_agents::{
    Carryover, Command, CommandAnswer, HostAsk, HostOutcome, Input, LineFault, Output, Refusal, Translator,
    TransportOutput,
};
use omniglot_schema::{EventSource, StderrOutput};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::agent::host::{Host, HostEvent};
use crate::agent::mask::Mask;
use crate::agent::translated::Translated;
use crate::process::handle::ProcessHandle;
use crate::process::lines::Line;
use crate::process::orphans;
use crate::process::{Exit, FrameSender, LineReceiver, ProcessIo};
use sending::{Outgoing, Unsent};
pub(crate) use sending::{Sending, Ticket};

#[derive(Debug)]
pub(crate) enum AgentEvent {
    Lines(Vec<Line>),
    /// Messages that waited were sent, or never will be: see [`Agent::settle`].
    Sent,
    /// Something that it wanted of this machine has come on.
    Host(HostEvent),
    /// The last thing that a process says.
    Exited(Exit),
}

pub(crate) struct Agent {
    translator: Box<dyn Translator>,
    mask: Mask,
    pub(crate) process: ProcessHandle,
    pub(crate) host: Host,
    lines: LineReceiver,
    /// `None` once stdin is to be closed.
    frames: Option<FrameSender>,
    /// The translator wants it closed when everything is sent.
    closes_stdin: bool,
    /// The messages that are not in the pipe yet, as everybody else sees them.
    unsent: VecDeque<Unsent>,
    /// How many messages there were, and how many of them the translator knows to be sent.
    messages: u64,
    sent: u64,
    /// When it must be gone, once it has closed its stdout: an agent that cannot speak is of no use.
    leaves: Option<Instant>,
    /// When it is ended, once it has closed its stdin: an agent that cannot hear answers nothing.
    deaf: Option<Instant>,
    /// No prompt goes to it before: processes of its last turn are being ended.
    quiet_until: Option<Instant>,
    /// News of this machine that wait until the lines that came before are heard.
    later: Option<HostEvent>,
}

/// How much is taken from the agent before it is committed.
const STEP_LINES: usize = 512;
const STEP_BYTES: usize = 256 * 1024;

/// An agent that does not read what we answer is not heard until it does.
const UNSENT: usize = 256;

/// How long a process may live on after it has closed its stdout or stdin.
const HALF_CLOSED_TIMEOUT: Duration = Duration::from_secs(1);

impl Agent {
    pub(crate) fn new(
        translator: Box<dyn Translator>,
        mask: Mask,
        (process, io): (ProcessHandle, ProcessIo),
        host: Host,
    ) -> Self {
        Self {
            translator,
            mask,
            process,
            host,
            lines: io.lines,
            frames: Some(io.frames),
            closes_stdin: false,
            unsent: VecDeque::new(),
            messages: 0,
            sent: 0,
            leaves: None,
            deaf: None,
            quiet_until: None,
            later: None,
        }
    }

    /// Returns what is ready now: at least one line, news of what was sent or asked of this machine, or the end.
    /// Cancel-safe.
    pub(crate) async fn next(&mut self) -> AgentEvent {
        if let Some(event) = self.later.take() {
            return AgentEvent::Host(event);
        }
        loop {
            let lines = tokio::select! {
                lines = self.lines.recv(), if self.unsent.len() < UNSENT => lines,
                event = self.host.next(), if self.unsent.len() < UNSENT => return self.after_lines(event),
                () = progress(self.frames.as_ref()) => return AgentEvent::Sent,
                () = reads_no_more(self.frames.as_ref()), if self.deaf.is_none() => {
                    self.deaf = Some(Instant::now() + HALF_CLOSED_TIMEOUT);
                    return AgentEvent::Sent;
                }
                () = overdue(self.deaf) => {
                    self.close_stdin();
                    self.deaf = None;
                    // What it has said before is still heard.
                    self.process.kill();
                    continue;
                }
            };
            return match lines {
                Some(lines) => AgentEvent::Lines(self.drain(lines)),
                None => AgentEvent::Exited(self.leave().await),
            };
        }
    }

    /// A helper asks about what the agent has told before.
    fn after_lines(&mut self, event: HostEvent) -> AgentEvent {
        match self.lines.try_recv() {
            Some(lines) => {
                self.later = Some(event);
                AgentEvent::Lines(self.drain(lines))
            }
            None => AgentEvent::Host(event),
        }
    }

    async fn leave(&mut self) -> Exit {
        let leaves = *self.leaves.get_or_insert_with(|| Instant::now() + HALF_CLOSED_TIMEOUT);
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

    /// Returns when it takes a prompt again, if it does not now.
    pub(crate) fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until.filter(|until| Instant::now() < *until)
    }

    /// Whether something goes on in it although no turn runs.
    pub(crate) fn tends_background(&self) -> bool {
        self.translator.tends_background()
    }

    pub(crate) fn started(&mut self, argv: &[String], carryover: &Carryover) -> Vec<Translated> {
        self.handle(Input::Started { argv, carryover }, None)
    }

    pub(crate) fn command(&mut self, command: &Command) -> Vec<Translated> {
        self.handle(Input::Command(command), None)
    }

    pub(crate) fn exited(&mut self, exit: Exit) -> Vec<Translated> {
        let mut translated = self.settle();
        let stderr = self.stderr();
        let input = Input::Exited { code: exit.code, signal: exit.signal, stderr: &stderr };
        translated.extend(self.handle(input, None));
        translated
    }

    /// Returns the stderr so far, without secrets.
    pub(crate) fn stderr(&self) -> StderrOutput {
        let StderrOutput { head, tail, truncated, total_lines } = self.process.stderr();
        let mask = |text: Option<String>| text.map(|text| self.mask.text(text));
        StderrOutput { head: mask(head), tail: mask(tail), truncated, total_lines }
    }

    pub(crate) fn hear(&mut self, line: Line) -> Vec<Translated> {
        let (bytes, fault) = match line {
            Line::Whole(bytes) | Line::Partial(bytes) => (bytes, None),
            Line::TooLong { head, length } => (head, Some(LineFault::TooLong(length))),
        };
        // The translator must see how texts go on; what it makes of them is masked by the Timeline.
        let shown = self.mask.bytes(bytes.clone());
        let text = std::str::from_utf8(&bytes).map_err(|_| LineFault::NotUtf8);
        let raw =
            text.and_then(|text| serde_json::from_str::<&RawValue>(text).map_err(|_| LineFault::NotJson));
        let input = match (fault, raw) {
            (Some(fault), _) | (None, Err(fault)) => Input::Garbage { line: &bytes, fault },
            (None, Ok(raw)) => Input::Frame(raw),
        };
        let trust = if shown == bytes { Trust::Public } else { Trust::HoldsSecret };
        // It may be an answer to a message that waited.
        let mut translated = if self.unsent.is_empty() { vec![] } else { self.settle() };
        translated.extend(self.handle_said(input, Some(shown), trust));
        translated
    }

    pub(crate) fn host_event(&mut self, (key, mut outcome): HostEvent) -> Vec<Translated> {
        let frame = match &mut outcome {
            HostOutcome::Said(said) => {
                let masked = self.mask.text(said.text.clone());
                said.masked = (masked != said.text).then_some(masked);
                None
            }
            HostOutcome::HelperAsked(question) => {
                Some(self.mask.bytes(Bytes::copy_from_slice(question.trim_end().as_bytes())))
            }
            HostOutcome::Read(_)
            | HostOutcome::Written(_)
            | HostOutcome::Started(_)
            | HostOutcome::Ended(_)
            | HostOutcome::Elapsed
            | HostOutcome::HelperLeft => None,
        };
        self.handle(Input::Host { key, outcome: &outcome }, frame)
    }

    /// Translates one thing that came of it; an exit is left to [`exited`](Self::exited).
    pub(crate) fn event(&mut self, event: AgentEvent) -> Option<Vec<Translated>> {
        match event {
            AgentEvent::Lines(lines) => Some(lines.into_iter().flat_map(|line| self.hear(line)).collect()),
            AgentEvent::Sent => Some(self.settle()),
            AgentEvent::Host(event) => Some(self.host_event(event)),
            AgentEvent::Exited(_) => None,
        }
    }

    fn handle(&mut self, input: Input<'_>, frame: Option<Bytes>) -> Vec<Translated> {
        self.handle_said(input, frame, Trust::Public)
    }

    /// Lets the translator handle one thing, then everything that it wants sent because of it.
    fn handle_said(&mut self, input: Input<'_>, frame: Option<Bytes>, trust: Trust) -> Vec<Translated> {
        let source = match input {
            Input::Frame(_)
            | Input::Garbage { .. }
            | Input::Host { outcome: HostOutcome::HelperAsked(_) | HostOutcome::HelperLeft, .. } => {
                EventSource::Agent
            }
            _ => EventSource::Daemon,
        };
        let mut outputs = Vec::new();
        self.translator.handle(input, &mut outputs);
        let mut to_send = VecDeque::new();
        let mut translated = vec![self.carry_out(outputs, (frame, source), trust, &mut to_send)];
        self.transmit(to_send, &mut translated);
        translated
    }

    /// Does what is for the transport; the rest is the session's.
    fn carry_out(
        &mut self,
        outputs: Vec<Output>,
        (frame, source): (Option<Bytes>, EventSource),
        trust: Trust,
        to_send: &mut VecDeque<Outgoing>,
    ) -> Translated {
        let (mut stream, mut answers) = (Vec::with_capacity(outputs.len()), vec![]);
        for output in outputs {
            match output {
                Output::Stream(output) => stream.push(output),
                Output::Answer(answer) => answers.push(self.masked(answer)),
                Output::Transport(output) => self.transport(output, trust, to_send),
            }
        }
        Translated { frame, source, stream, answers }
    }

    /// Answers also reach callers beside the stream.
    fn masked(&self, answer: CommandAnswer) -> CommandAnswer {
        match answer {
            CommandAnswer::Refused(Refusal { kind, message, hint }) => {
                let hint = hint.map(|hint| self.mask.text(hint));
                CommandAnswer::Refused(Refusal { kind, message: self.mask.text(message), hint })
            }
            CommandAnswer::ReplyRefused { key, message } => {
                CommandAnswer::ReplyRefused { key, message: self.mask.text(message) }
            }
            answer @ (CommandAnswer::Configured(_) | CommandAnswer::Closed) => answer,
        }
    }

    fn transport(&mut self, output: TransportOutput, trust: Trust, to_send: &mut VecDeque<Outgoing>) {
        match output {
            TransportOutput::Send(message) => to_send.push_back(Outgoing { message, shown: None }),
            TransportOutput::SendSecret { message, shown } => {
                to_send.push_back(Outgoing { message, shown: Some(shown) });
            }
            TransportOutput::Host(HostAsk { key, request }) if trust == Trust::HoldsSecret => {
                self.host.refuse(key, &request, HOLDS_A_SECRET);
            }
            TransportOutput::Host(ask) => self.host.carry_out(ask),
            TransportOutput::Orphans(orphans) => {
                self.process.end(orphans);
                self.quiet_until = Some(Instant::now() + orphans::QUIET);
            }
            TransportOutput::CloseStdin => {
                debug_assert!(!self.process.is_shared(), "the stdin of a shared server is not one session's");
                self.closes_stdin = !self.process.is_shared();
            }
            TransportOutput::Interrupt => self.process.interrupt(),
        }
    }
}

/// Whether a frame is shown as the agent said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Public,
    /// A file or a command with the secret would be seen by others.
    HoldsSecret,
}

const HOLDS_A_SECRET: &str = "the request holds a secret of this session's settings, which is hidden in all \
    that the agent says; it was not carried out";

async fn progress(frames: Option<&FrameSender>) {
    match frames {
        Some(frames) => frames.progress().await,
        None => std::future::pending().await,
    }
}

async fn reads_no_more(frames: Option<&FrameSender>) {
    match frames {
        Some(frames) => frames.closed().await,
        None => std::future::pending().await,
    }
}

async fn overdue(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
