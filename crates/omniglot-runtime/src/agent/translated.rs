//! The translation of one native message, in or out, without the outputs for the transport.

use bytes::Bytes;
use omniglot_agents::{CommandAnswer, Output, StreamOutput};
use omniglot_schema::EventSource;

/// The translation of one native message, in or out.
#[derive(Debug)]
pub(crate) struct Translated {
    /// The message; `None` for what a command caused without one.
    pub(crate) frame: Option<Bytes>,
    pub(crate) source: EventSource,
    /// Output for the transport is not here: it is carried out, and heard as a message of its own.
    pub(crate) stream: Vec<StreamOutput>,
    pub(crate) answers: Vec<CommandAnswer>,
}

impl Translated {
    /// Returns what came of a command that no process has got. There is nobody to whom its messages could go.
    pub(crate) fn of_daemon(outputs: Vec<Output>) -> Self {
        let (mut stream, mut answers) = (vec![], vec![]);
        for output in outputs {
            match output {
                Output::Stream(output) => stream.push(output),
                Output::Answer(answer) => answers.push(answer),
                Output::Transport(_) => {}
            }
        }
        Self { frame: None, source: EventSource::Daemon, stream, answers }
    }

    /// Whether the agent said something that its translator knows. A message that only had us send something
    /// has no outputs left.
    pub(crate) fn is_understood(&self) -> bool {
        let is_known =
            self.stream.is_empty() || !self.stream.iter().all(is_unparsed) || !self.answers.is_empty();
        self.source == EventSource::Agent && is_known
    }

    /// For those who only want to know what was understood.
    pub(crate) fn without_nonsense(mut self) -> Self {
        self.stream.retain(|output| !is_unparsed(output));
        self
    }

    /// For those who tell the refusal themselves.
    pub(crate) fn without_refusal(mut self) -> Self {
        self.answers.retain(|answer| !matches!(answer, CommandAnswer::Refused(_)));
        self
    }
}

pub(crate) fn is_unparsed(output: &StreamOutput) -> bool {
    matches!(output, StreamOutput::Unparsed(_))
}
