//! Drafts: what a translator says happened, before the Timeline makes it lawful (T1).
//!
//! A draft has no sequence, id or time. Items and requests are named by keys that are unique within
//! one run of the agent; the Timeline maps them to ids of ours.

use omniglot_schema::{
    AgentCapabilities, ContentPart, ErrorCode, ItemKind, ItemRole, MessageId, PermissionOption,
    PermissionStatus, QuestionInfo, ReasoningVisibility, ResolvedBy, Resume, StatePatch, StatusLabel,
    StderrOutput, StopReason, ToolKind, ToolSubject, Usage,
};
use serde::{Deserialize, Serialize};

/// Names an item within one run of an agent: native id and block index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemKey(pub String);

/// Names a permission or question within one run of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestKey(pub String);

impl From<&str> for ItemKey {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<&str> for RequestKey {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// The closed set of things that can happen in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Draft {
    /// The agent is ready, with this session of its own.
    SessionStarted(SessionStarted),
    /// The agent's own session is not there any more: the next process begins a new one.
    SessionForgotten,
    TurnStarted(Origin),
    /// The agent repeats a user's message under its own id, and completes it: that of `item`, or else the one that
    /// began the turn; see [`Origin::Echoed`].
    UserEcho {
        item: Option<ItemKey>,
        native_id: String,
    },
    /// Somebody's message goes into the running turn; its id is unknown when a recording is replayed.
    Steered {
        message_id: Option<MessageId>,
        start: ItemStart,
    },
    TurnEnded(TurnEnd),
    ItemStarted(ItemStart),
    /// Which part a delta extends follows from the kind of its item.
    ItemDelta {
        key: ItemKey,
        delta: String,
    },
    ItemCompleted(ItemEnd),
    /// A call of a tool begins. The Timeline makes two items of a call: `tool_call` until its arguments are final,
    /// `tool_result` from then on.
    CallStarted(CallStart),
    /// More of the arguments.
    CallInput {
        key: ItemKey,
        delta: String,
    },
    /// The arguments are final; `None` means as they were started and streamed.
    CallReady {
        key: ItemKey,
        call: Option<ToolCall>,
    },
    /// The call runs; `delta` is a preview of its output and may be empty.
    CallOutput {
        key: ItemKey,
        delta: String,
    },
    CallEnded(CallEnd),
    PermissionRequested(PermissionAsk),
    PermissionResolved {
        key: RequestKey,
        status: PermissionStatus,
        by: ResolvedBy,
        message: Option<String>,
    },
    QuestionRequested(QuestionAsk),
    /// `answers` holds the labels chosen, one list per question; `None` means rejected.
    QuestionResolved {
        key: RequestKey,
        answers: Option<Vec<Vec<String>>>,
        by: ResolvedBy,
    },
    /// At most one per turn becomes the turn's `error`, just before `turn.ended`; what comes beside it
    /// or outside a turn becomes a warning.
    Error(Failure),
    State(Box<StatePatch>),
}

/// The decision of rules about a permission, before anybody is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruled {
    pub decision: RuledAs,
    /// The name of the rule.
    pub rule: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuledAs {
    /// Rejected, whatever was granted before.
    Deny,
    /// A person is asked, unless it was granted before.
    Ask { remember: bool },
    /// Accepted.
    Allow,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionStarted {
    pub native_session_id: Option<String>,
    pub agent_version: Option<String>,
    /// How the agent came back; `None` for a session that is new to it.
    pub resume: Option<Resume>,
    /// The capabilities of this session's agent, where its handshake tells them.
    pub capabilities: Option<AgentCapabilities>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// Somebody's message; its id is unknown when a recording is replayed. The Timeline makes the user's
    /// item of `content`, right after `turn.started`: adapters draft no item for it.
    User {
        message_id: Option<MessageId>,
        content: Vec<ContentPart>,
    },
    /// As `User`, for an agent that will repeat the message under an id of its own ([`Draft::UserEcho`]). The user's
    /// item is complete then, at the latest when something but a status item comes in the turn.
    Echoed {
        message_id: Option<MessageId>,
        content: Vec<ContentPart>,
    },
    Agent,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    pub stop: StopReason,
    /// The failure, when `stop` is [`StopReason::Error`]. An earlier [`Draft::Error`] of the turn wins.
    pub error: Option<Failure>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub usage_subagents: Option<Usage>,
    pub cost_usd: Option<f64>,
}

impl TurnEnd {
    pub fn new(stop: StopReason) -> Self {
        Self { stop, error: None, model: None, usage: None, usage_subagents: None, cost_usd: None }
    }

    pub fn failed(error: Failure) -> Self {
        Self { error: Some(error), ..Self::new(StopReason::Error) }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub code: ErrorCode,
    pub message: String,
    pub details: Option<serde_json::Value>,
}

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// The daemon died, and another one goes on.
    pub fn daemon_restarted() -> Self {
        Self::new(ErrorCode::DaemonRestarted, "the daemon was restarted while this turn ran")
    }

    /// The process died. Whoever watches the turn alone does not see how it ended: that stands here too.
    pub fn crashed(message: String, exit_code: Option<i32>, stderr: Option<&StderrOutput>) -> Self {
        let details = Some(serde_json::json!({ "exit_code": exit_code, "stderr": stderr }));
        Self { code: ErrorCode::AgentCrashed, message, details }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ItemStart {
    pub key: ItemKey,
    pub native_id: Option<String>,
    /// The message or spawning call that this item belongs to; ignored when unknown.
    pub parent: Option<ItemKey>,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ItemEnd {
    pub key: ItemKey,
    pub outcome: Outcome,
    /// The final content; `None` means what was started and streamed.
    pub body: Option<Body>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Completed,
    Failed,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallStart {
    /// Also that of what the call spawns: [`ItemStart::parent`].
    pub key: ItemKey,
    pub native_id: Option<String>,
    /// The message or spawning call that this call belongs to; ignored when unknown.
    pub parent: Option<ItemKey>,
    pub call: ToolCall,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallEnd {
    pub key: ItemKey,
    pub outcome: Outcome,
    pub result: ToolResult,
}

/// The content of an item that belongs to no call, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A message; text parts of one message are streamed as one text.
    Message {
        role: ItemRole,
        parts: Vec<ContentPart>,
    },
    Reasoning {
        text: String,
        visibility: ReasoningVisibility,
    },
    System {
        parts: Vec<ContentPart>,
    },
    Status {
        label: StatusLabel,
        detail: Option<String>,
    },
    /// One call of the model: a status item that is open as long as the call lasts.
    Step {
        detail: Option<String>,
        usage: Option<Usage>,
    },
    Unknown {
        parts: Vec<ContentPart>,
    },
}

/// A call of a tool, before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// The agent's own words for what the call does.
    pub title: Option<String>,
    pub kind: Option<ToolKind>,
    pub subject: Option<Box<ToolSubject>>,
}

impl ToolCall {
    /// A call of which nothing but its name and arguments is known.
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: arguments.into(), title: None, kind: None, subject: None }
    }

    /// A call that the Timeline makes because its agent has told none.
    pub(crate) fn made(name: impl Into<String>) -> Self {
        Self { kind: Some(ToolKind::Other), ..Self::new(name, "{}") }
    }
}

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    pub output: String,
    /// The stderr of the command, where the agent reports it apart; `output` is without it.
    pub stderr: Option<String>,
    pub is_error: Option<bool>,
    pub exit_code: Option<i64>,
    pub duration_ms: Option<u64>,
    /// Files, images and structured output beside the text.
    pub parts: Vec<ContentPart>,
    /// The call has started something that goes on and may be reported in any later turn.
    pub goes_on: bool,
}

impl Body {
    pub fn assistant_text(text: impl Into<String>) -> Self {
        Self::message(ItemRole::Assistant, text)
    }

    pub fn message(role: ItemRole, text: impl Into<String>) -> Self {
        let text = text.into();
        let parts = if text.is_empty() { vec![] } else { vec![ContentPart::Text { text }] };
        Self::Message { role, parts }
    }

    pub fn kind(&self) -> ItemKind {
        match self {
            Self::Message { .. } | Self::Reasoning { .. } => ItemKind::Message,
            Self::System { .. } => ItemKind::System,
            Self::Status { .. } | Self::Step { .. } => ItemKind::Status,
            Self::Unknown { .. } => ItemKind::Unknown,
        }
    }

    pub fn role(&self) -> Option<ItemRole> {
        match self {
            Self::Message { role, .. } => Some(*role),
            Self::Reasoning { .. } => Some(ItemRole::Assistant),
            Self::System { .. } | Self::Status { .. } | Self::Step { .. } | Self::Unknown { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PermissionAsk {
    pub key: RequestKey,
    pub native_id: Option<serde_json::Value>,
    /// The action that the agent asks for, in words for a person.
    pub action: String,
    /// The call that waits; without one the Timeline makes a call and its result.
    pub call: Option<ItemKey>,
    pub tool: Option<String>,
    /// With `tool`, what an `always` covers; without it `always` is not remembered.
    pub pattern: Option<String>,
    pub options: Vec<PermissionOption>,
    /// `file_ref` parts of what an edit would change.
    pub files: Vec<ContentPart>,
    /// The agent's further explanation.
    pub detail: Option<String>,
    /// The kind of the call that the Timeline makes, as far as the adapter knows it.
    pub kind: Option<ToolKind>,
    /// The subject of that call.
    pub subject: Option<Box<ToolSubject>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QuestionAsk {
    pub key: RequestKey,
    pub native_id: Option<serde_json::Value>,
    pub call: Option<ItemKey>,
    /// At least one.
    pub questions: Vec<QuestionInfo>,
}

/// Why a native message carries nothing for the stream: a closed set, counted (T17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    Heartbeat,
    Echo,
    Duplicate,
    Internal,
    Extension,
    Superseded,
    Replay,
    /// It is more of an item than [`Bounds`](crate::Bounds) allow.
    TooLong,
    /// It is a request beyond those that may be open.
    TooMany,
}

impl DropReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Echo => "echo",
            Self::Duplicate => "duplicate",
            Self::Internal => "internal",
            Self::Extension => "extension",
            Self::Superseded => "superseded",
            Self::Replay => "replay",
            Self::TooLong => "too_long",
            Self::TooMany => "too_many",
        }
    }
}

/// A native message, or a piece of one, that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unparsed {
    pub error: String,
    /// Where: `stdout`, or the message kind and the field.
    pub location: String,
    /// sha256 of the bytes, in hex.
    pub raw_hash: Option<String>,
}
