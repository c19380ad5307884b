//! The contract of an adapter: what can happen to it, and what it may ask of the world.
//!
//! Deliberately without clocks, tasks and sockets: the runtime owns those. A recording replays
//! through the same functions as a live agent.

use std::path::PathBuf;

use jiff::Timestamp;
use omniglot_schema::{
    Listed, McpServers, MessageAttachment, MessageId, PermissionReply, SessionState, StatePatch,
    StderrOutput, Team, Todo,
};
pub use omniglot_timeline::{Draft, DropReason, RequestKey, Unparsed};
use omniglot_timeline::{Emitted, Stamp, Timeline};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::host::{HostAsk, HostKey, HostOutcome};

/// Everything that can happen to a translator: a closed set.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// A process was started for this session.
    Started {
        argv: &'a [String],
        carryover: &'a Carryover,
    },
    /// One whole message the agent wrote.
    Frame(&'a RawValue),
    /// One whole message that really went to the agent. Request ids are learnt here, and drafts caused
    /// by a command are made here, so that a capture replays like a live run.
    Sent(&'a RawValue),
    /// A line on stdout that is not JSON, or is over the limit: what there is of it.
    Garbage {
        line: &'a [u8],
        fault: LineFault,
    },
    Command(&'a Command),
    /// The outcome of a [`TransportOutput::Host`]. A recording has none: there the answer itself was sent.
    Host {
        key: HostKey,
        news: &'a HostOutcome,
    },
    /// The process is gone.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
        stderr: &'a StderrOutput,
    },
}

/// The reason why a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFault {
    NotJson,
    NotUtf8,
    /// Longer than the limit; only its head was kept, this is its whole length.
    TooLong(u64),
}

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
    /// As `Send`, but everybody else, and the translator itself when it is [`Input::Sent`], sees `shown`.
    SendSecret {
        message: Box<RawValue>,
        shown: Box<RawValue>,
    },
    /// The agent wants something of the machine; what comes of it is [`Input::Host`].
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
    /// The end of a [`Command::Configure`]: what it changed was told before, as drafts.
    Configured(Result<(), Refusal>),
    /// The agent did not take the reply to this request, and still waits for one.
    ReplyRefused { key: RequestKey, message: String },
    /// The end of a [`Command::Close`]: the process may be ended.
    Closed,
}

/// Processes below the agent's own, known by the environment that it has given them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphans {
    pub of: Mark,
    /// Those that have this mark as well may go on.
    pub spared: Mark,
}

/// A variable of a process, with one of these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub name: &'static str,
    pub values: Vec<String>,
}

/// Why an agent did not open a session, and what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
    pub hint: Option<String>,
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
    /// It does not take from root what [`Open::unprivileged`] allows.
    Privileged,
}

/// A request of the runtime to an agent.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "commands are few, and none is kept")]
pub enum Command {
    /// Shake hands and open a session; answered by [`Draft::SessionStarted`] or [`CommandAnswer::Refused`].
    Open(Open),
    /// Change settings of the open session, between two turns; answered by [`CommandAnswer::Configured`]. One at a
    /// time.
    Configure(SettingsRequest),
    Prompt(Prompt),
    /// A person has given the session this title. It is not answered.
    Rename {
        title: String,
    },
    /// Interrupt the running turn. The runtime has resolved the open requests before.
    Cancel,
    ReplyPermission {
        key: RequestKey,
        reply: PermissionReply,
        message: Option<String>,
    },
    ReplyQuestion {
        key: RequestKey,
        answers: Option<Vec<Vec<String>>>,
    },
    /// The request was resolved without an answer (cancel): tell the agent so.
    Withdraw {
        key: RequestKey,
    },
    /// Say good-bye to the session before its process ends; answered by [`CommandAnswer::Closed`].
    Close,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Open {
    pub cwd: PathBuf,
    /// The version of the agent that the session asks for.
    pub agent_version: Option<String>,
    /// A fresh id, for agents that let us choose the native id of a new session.
    pub new_id: String,
    /// The native session to continue.
    pub resume: Option<String>,
    /// Since when it exists, as far as that is known.
    pub resume_since: Option<Timestamp>,
    /// Continue a copy of it, and leave it as it is.
    pub fork: bool,
    /// The title that a person gave to the session.
    pub title: Option<String>,
    pub requested: SettingsRequest,
    pub mcp: McpServers,
    /// The skills that the session was created with.
    pub skills: Option<SessionSkills>,
    pub carryover: Carryover,
    /// The agent will run as another user than root, from whom some agents take less.
    pub unprivileged: bool,
    /// No credentials of the agent were found; its handshake may know better.
    pub lacks_credentials: bool,
    /// A message waits for it. An agent with a process for each turn is not started without.
    pub has_prompt: bool,
}

/// The skills of a session, in a folder of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSkills {
    pub dir: PathBuf,
    pub names: Vec<String>,
}

impl SessionSkills {
    /// The folder below `dir` that has a folder for each skill.
    pub const FOLDER: &str = "skills";

    /// Returns the folder that has a folder for each skill.
    pub fn folder(&self) -> PathBuf {
        self.dir.join(Self::FOLDER)
    }
}

/// The totals of the session's earlier processes, for agents that report only changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carryover {
    pub cost_usd: f64,
    pub todos: Vec<Todo>,
    pub team: Option<Team>,
}

impl Carryover {
    /// A list that was too long to stand in the state is not carried on.
    pub fn of(state: &SessionState) -> Self {
        let todos = state.todos.as_ref().and_then(Listed::inline).unwrap_or_default().to_vec();
        Self { cost_usd: state.cost_usd.unwrap_or(0.0), todos, team: state.team.clone() }
    }
}

/// Settings that a session should have; absent ones are the agent's choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsRequest {
    pub model: Option<String>,
    /// The reasoning effort of the model.
    pub variant: Option<String>,
    pub agent_mode: Option<String>,
    pub permission_mode: Option<String>,
    /// The model may be one that the agent does not list.
    pub force_model: bool,
}

impl SettingsRequest {
    pub fn is_empty(&self) -> bool {
        let Self { model, variant, agent_mode, permission_mode, force_model: _ } = self;
        [model, variant, agent_mode, permission_mode].into_iter().all(Option::is_none)
    }

    /// This settings request, and where it says nothing, the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            force_model: if self.model.is_some() { self.force_model } else { other.force_model },
            model: self.model.or(other.model),
            variant: self.variant.or(other.variant),
            agent_mode: self.agent_mode.or(other.agent_mode),
            permission_mode: self.permission_mode.or(other.permission_mode),
        }
    }
}

/// The expected result of a settings request, as far as the agent's own lists tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsPreview {
    pub patch: StatePatch,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub message_id: Option<MessageId>,
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// A file that comes with a message, as far as the runtime has read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub file: MessageAttachment,
    pub content: FileContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    Image {
        mime: String,
        bytes: Vec<u8>,
    },
    Text(String),
    /// Too long, or nothing that a prompt can carry: the agent gets its path.
    Unread,
}

impl FileContent {
    pub fn len(&self) -> usize {
        match self {
            Self::Image { bytes, .. } => bytes.len(),
            Self::Text(text) => text.len(),
            Self::Unread => 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<MessageAttachment> for Attachment {
    fn from(file: MessageAttachment) -> Self {
        Self { file, content: FileContent::Unread }
    }
}

/// Turns one session's traffic into drafts, and commands into that agent's traffic.
///
/// Reads no clock, opens nothing, spawns nothing: equal inputs give equal outputs, so a recorded
/// session replays exactly. Every [`Input::Frame`] pushes at least one output.
pub trait Translator: Send {
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>);

    /// Whether the agent tends something that goes on between turns, and that would end with its process.
    fn tends_background(&self) -> bool {
        false
    }
}

/// A session on a connection that several share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u64);

/// The recipient of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    Session(SlotId),
    /// It is about the connection or the account, and so about every session on it.
    All,
    /// Part of the handshake.
    Mine(Handshake),
    /// It belongs to a session that has left.
    Nobody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handshake {
    GoesOn,
    /// Sessions may speak from now on.
    Done,
    Refused(Refusal),
}

/// The sans-IO part of a connection that several sessions share: its handshake, its ids, and whose frame
/// this is. A session's own words are its [`Translator`]'s.
pub trait Link: Send {
    /// Returns the first messages of a new connection.
    fn hello(&mut self) -> Vec<Box<RawValue>>;

    /// Why it ended instead of answering the first words, where its stderr tells.
    fn ended_early(&self, _stderr: &StderrOutput) -> Option<Refusal> {
        None
    }

    /// Learns from what a session is about to send: its answer will come back to it.
    fn sent(&mut self, from: SlotId, frame: &RawValue);

    /// Returns the recipient of a frame, and adds the messages that the agent must get because of it.
    fn route(&mut self, frame: &RawValue, reply: &mut Vec<Box<RawValue>>) -> Route;

    /// The session is not on this connection any more.
    fn left(&mut self, slot: SlotId);

    /// Returns the messages for the agent once this session has left; called before [`Link::left`].
    fn farewell(&self, _slot: SlotId) -> Vec<Box<RawValue>> {
        Vec::new()
    }

    /// Returns the sender of a recorded message of ours, which a recording does not name; learns from it like `sent`.
    /// `None` for those of the connection itself.
    fn recorded(&mut self, _frame: &RawValue) -> Option<SlotId> {
        None
    }
}

/// Decodes the body of a message whose kind is known; the error names kind and field.
pub fn decode<'a, T: Deserialize<'a>>(kind: &str, frame: &'a RawValue) -> Result<T, Unparsed> {
    serde_json::from_str(frame.get()).map_err(|error| Unparsed {
        error: error.to_string(),
        location: kind.to_owned(),
        raw_hash: None,
    })
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
