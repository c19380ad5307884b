//! Lines that a person types, read on a thread of their own so that events go on meanwhile.
//!
//! The thread is never joined: it may wait for a line that is never typed, and dies with the process.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _};
use std::thread;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

/// The source of typed answers.
#[derive(Debug)]
pub(crate) enum Source {
    /// The terminal behind stdin.
    StdinTerminal,
    /// The terminal of the session, when stdin is something else.
    Terminal(File),
    /// Lines prepared by a script.
    Pipe,
}

/// Lines from a [`Source`], read from the first question on.
pub(crate) struct Keyboard {
    source: Option<Source>,
    lines: Option<mpsc::Receiver<String>>,
    typed_by_hand: bool,
}

impl Source {
    /// Returns the terminal at which a person can answer, if there is one.
    pub(crate) fn terminal() -> Option<Self> {
        if io::stdin().is_terminal() {
            return Some(Self::StdinTerminal);
        }
        File::options().read(true).open("/dev/tty").ok().map(Self::Terminal)
    }

    fn forget_typed(&self) {
        let forgotten = match self {
            Self::StdinTerminal => tcflush(io::stdin(), QueueSelector::IFlush),
            Self::Terminal(file) => tcflush(file, QueueSelector::IFlush),
            Self::Pipe => Ok(()),
        };
        if let Err(error) = forgotten {
            tracing::debug!(%error, "the terminal keeps what was typed before");
        }
    }
}

impl Keyboard {
    pub(crate) fn new(source: Source) -> Self {
        let typed_by_hand = !matches!(source, Source::Pipe);
        Self { source: Some(source), lines: None, typed_by_hand }
    }

    /// Begins to read.
    pub(crate) fn open(&mut self) {
        if let Some(source) = self.source.take() {
            self.lines = Some(start(source));
        }
    }

    /// Prepares for a new question. Input that was typed before it was displayed must not answer it.
    pub(crate) fn prepare(&mut self) {
        if let Some(source) = self.source.take() {
            source.forget_typed();
            self.lines = Some(start(source));
        }
        if self.typed_by_hand
            && let Some(lines) = &mut self.lines
        {
            while lines.try_recv().is_ok() {}
        }
    }

    /// Returns the next line; `None` at the end of input. Cancel-safe.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.lines.as_mut()?.recv().await
    }
}

fn start(source: Source) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(16);
    thread::spawn(move || match source {
        Source::StdinTerminal | Source::Pipe => forward(io::stdin().lock(), &sender),
        Source::Terminal(file) => forward(BufReader::new(file), &sender),
    });
    receiver
}

fn forward(input: impl BufRead, sender: &mpsc::Sender<String>) {
    for line in input.lines().map_while(Result::ok) {
        if sender.blocking_send(line).is_err() {
            return;
        }
    }
}
