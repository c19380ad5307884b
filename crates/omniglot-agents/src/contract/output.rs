//! The outputs of a translator, by their audience: the stream, the transport, the caller of a command.

use omniglot_timeline::{Draft, DropReason, Emitted, RequestKey, Stamp, Timeline, Unparsed};
use serde_json::value::RawValue;

use crate::host::HostAsk;

/// Everything a translator may ask of the world, by its audience.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most outputs are drafts; a box for each would cost more")]
pub enum Output {
    Stream(StreamOutput),
    Transport(TransportOutput),
    Answer(CommandAnswer),
}

/// Output for the stream of the session.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most outputs are drafts; a box for each would cost more")]
pub enum StreamOutput {
    /// An event without sequence, id or time; the Timeline adds those.
    Draft(Draft),
    /// The frame was understood and carries nothing for the stream. Counted.
    Dropped(DropReason),
    /// The frame was not understood. Becomes `agent.unparsed`, raw text attached.
    Unparsed(Unparsed),
}

/// Output for the agent's process and for the machine.
#[derive(Debug)]
pub enum TransportOutput {
    Send(Box<RawValue>),
    /// As `Send`, but everybody else, and the translator itself when it is
    /// [`Input::Sent`](super::Input::Sent), sees `shown`.
    SendSecret {
        message: Box<RawValue>,
        shown: Box<RawValue>,
    },
    /// The agent wants something of the machine; what comes of it is [`Input::Host`](super::Input::Host).
    Host(HostAsk),
    /// The agent has stopped working for this session and may have lost sight of processes: they are ended.
    Orphans(Orphans),
    /// The agent gets no more messages: its stdin is closed once everything is sent. Only for a process of this
    /// session's own.
    CloseStdin,
    /// The agent has no message for a cancel: its process gets SIGINT, if it is this session's own.
    Interrupt,
}

/// Output for the caller of a command.
#[derive(Debug)]
pub enum CommandAnswer {
    /// The agent cannot be opened: it refused the handshake or the session. The process may be ended.
    Refused(Refusal),
    /// The end of a [`Command::Configure`](super::Command::Configure): what it changed was told before, as drafts.
    Configured(Result<(), Refusal>),
    /// The agent did not take the reply to this request, and still waits for one.
    ReplyRefused { key: RequestKey, message: String },
    /// The end of a [`Command::Close`](super::Command::Close): the process may be ended.
    Closed,
}

/// Processes below the agent's own, known by the environment that it has given them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphans {
    pub of: Mark,
    /// Those that have this mark as well may go on.
    pub spared: Mark,
    /// Whether those are meant, too, that have left their parents, as a server in the background does.
    pub detached: bool,
}

/// A variable of a process, with one of these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub name: &'static str,
    pub values: Vec<String>,
}

/// The number of characters that an error shows of a message.
const FORK_POINT_SHOWN: usize = 60;

/// Why an agent did not open a session, and what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub(crate) fn copies_whole() -> Self {
        let message = "the agent copies a session as a whole, not up to a message".to_owned();
        let hint = Some("fork it without choosing a message or turn".to_owned());
        Self { kind: RefusalKind::BadMode, message, hint }
    }

    /// The agent does not have the message before which a copy should end.
    pub(crate) fn no_fork_point(text: &str) -> Self {
        let start: String = text.chars().take(FORK_POINT_SHOWN).collect();
        let message = format!("the agent does not know the message {start:?} in its own session any more");
        let hint = Some("fork the session as a whole".to_owned());
        Self { kind: RefusalKind::BadMode, message, hint }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// No credentials: the session exists but cannot work yet.
    Auth,
    /// It speaks something that we do not, or refused for a reason of its own.
    Unavailable,
    /// It speaks another version of its protocol, so that nothing that it says can be trusted to mean what it seems to.
    Protocol,
    /// It does not have what was asked for; the message lists what it has.
    BadMode,
    /// It cannot take a part of the request, such as an MCP server.
    BadRequest,
    /// The native session to continue is not there any more; a new one may be opened instead.
    Forgotten,
    /// It does not take from root what [`Open::unprivileged`](super::Open::unprivileged) allows.
    Privileged,
}

impl Output {
    pub fn dropped(reason: DropReason) -> Self {
        Self::Stream(StreamOutput::Dropped(reason))
    }

    pub fn unparsed(unparsed: Unparsed) -> Self {
        Self::Stream(StreamOutput::Unparsed(unparsed))
    }

    pub fn send(message: Box<RawValue>) -> Self {
        Self::Transport(TransportOutput::Send(message))
    }

    pub fn send_secret(message: Box<RawValue>, shown: Box<RawValue>) -> Self {
        Self::Transport(TransportOutput::SendSecret { message, shown })
    }

    pub fn host(ask: HostAsk) -> Self {
        Self::Transport(TransportOutput::Host(ask))
    }

    pub fn orphans(orphans: Orphans) -> Self {
        Self::Transport(TransportOutput::Orphans(orphans))
    }

    pub fn close_stdin() -> Self {
        Self::Transport(TransportOutput::CloseStdin)
    }

    pub fn interrupt() -> Self {
        Self::Transport(TransportOutput::Interrupt)
    }

    pub fn refused(refusal: Refusal) -> Self {
        Self::Answer(CommandAnswer::Refused(refusal))
    }

    pub fn configured(outcome: Result<(), Refusal>) -> Self {
        Self::Answer(CommandAnswer::Configured(outcome))
    }

    pub fn reply_refused(key: RequestKey, message: String) -> Self {
        Self::Answer(CommandAnswer::ReplyRefused { key, message })
    }

    pub fn closed() -> Self {
        Self::Answer(CommandAnswer::Closed)
    }

    /// The message as everybody but the agent sees it, if this is one to send.
    pub fn shown(&self) -> Option<&RawValue> {
        match self {
            Self::Transport(TransportOutput::Send(shown) | TransportOutput::SendSecret { shown, .. }) => {
                Some(shown)
            }
            Self::Stream(_) | Self::Transport(_) | Self::Answer(_) => None,
        }
    }
}

impl From<Draft> for Output {
    fn from(draft: Draft) -> Self {
        Self::Stream(StreamOutput::Draft(draft))
    }
}

impl StreamOutput {
    /// Lets the Timeline make events of it.
    pub fn apply(self, timeline: &mut Timeline, stamp: Stamp, out: &mut Vec<Emitted>) {
        match self {
            Self::Draft(draft) => timeline.apply(draft, stamp, out),
            Self::Dropped(reason) => timeline.dropped(reason),
            Self::Unparsed(unparsed) => timeline.unparsed(unparsed, stamp, out),
        }
    }
}
