//! OpenCode's own words, typed as far as they mean something to us; no meaning added.
//!
//! Versions seen: 1.18.33. Fields that nobody reads are left out, so a new one breaks nothing.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

/// One event of a directory's stream.
#[derive(Debug)]
pub(crate) enum Event {
    MessageUpdated(MessageUpdated),
    MessageRemoved(MessageRemoved),
    PartUpdated(PartUpdated),
    PartDelta(PartDelta),
    PartRemoved(PartRemoved),
    SessionCreated(SessionChanged),
    SessionUpdated(SessionChanged),
    SessionDeleted(OfSession),
    SessionStatus(StatusChanged),
    SessionIdle(OfSession),
    SessionError(SessionError),
    SessionCompacted(OfSession),
    PermissionAsked(PermissionAsked),
    PermissionReplied(PermissionReplied),
    QuestionAsked(QuestionAsked),
    QuestionReplied(QuestionReplied),
    QuestionRejected(QuestionRejected),
    TodoUpdated(TodoUpdated),
    Heartbeat,
    /// About the directory, the program or the screen: nothing that happened in a session.
    Housekeeping,
    Unknown {
        kind: String,
    },
}

impl Event {
    pub(crate) fn parse(frame: &RawValue) -> Result<Self, Unparsed> {
        let Tag { kind, properties } = decode("event", frame)?;
        let body = properties.unwrap_or(RawValue::NULL);
        Ok(match &*kind {
            "message.updated" => Self::MessageUpdated(decode(&kind, body)?),
            "message.removed" => Self::MessageRemoved(decode(&kind, body)?),
            "message.part.updated" => Self::PartUpdated(PartUpdated::parse(body)?),
            "message.part.delta" => Self::PartDelta(decode(&kind, body)?),
            "message.part.removed" => Self::PartRemoved(decode(&kind, body)?),
            "session.created" => Self::SessionCreated(decode(&kind, body)?),
            "session.updated" => Self::SessionUpdated(decode(&kind, body)?),
            "session.deleted" => Self::SessionDeleted(decode(&kind, body)?),
            "session.status" => Self::SessionStatus(decode(&kind, body)?),
            "session.idle" => Self::SessionIdle(decode(&kind, body)?),
            "session.error" => Self::SessionError(decode(&kind, body)?),
            "session.compacted" => Self::SessionCompacted(decode(&kind, body)?),
            "permission.asked" => Self::PermissionAsked(decode(&kind, body)?),
            "permission.replied" => Self::PermissionReplied(decode(&kind, body)?),
            "question.asked" => Self::QuestionAsked(decode(&kind, body)?),
            "question.replied" => Self::QuestionReplied(decode(&kind, body)?),
            "question.rejected" => Self::QuestionRejected(decode(&kind, body)?),
            "todo.updated" => Self::TodoUpdated(decode(&kind, body)?),
            "server.connected" | "server.heartbeat" => Self::Heartbeat,
            _ if HOUSEKEEPING.iter().any(|known| kind.starts_with(known)) => Self::Housekeeping,
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

/// Beginnings of the names of events that no session is about: seen, or in the server's own schema.
const HOUSEKEEPING: &[&str] = &[
    "session.diff",
    "command.executed",
    "file.",
    "plugin.",
    "catalog.",
    "reference.",
    "integration.",
    "installation.",
    "lsp.",
    "mcp.",
    "project.",
    "pty.",
    "server.instance.",
    "skill.",
    "tui.",
    "vcs.",
    "ide.",
    "workspace.",
    "worktree.",
    "global.",
    "models-dev.",
    "account.",
    "auth.",
    "config.",
];

#[derive(Debug, Deserialize)]
pub(crate) struct OfSession {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MessageUpdated {
    pub(crate) info: Message,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MessageRemoved {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "messageID")]
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PartRemoved {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "partID")]
    pub(crate) part: String,
}

/// A message as one record: sent again, whole, whenever something about it changes.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(flatten)]
    pub(crate) by: By,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum By {
    User,
    Assistant(Box<Assistant>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Assistant {
    #[serde(rename = "providerID")]
    pub(crate) provider: Option<String>,
    #[serde(rename = "modelID")]
    pub(crate) model: Option<String>,
    pub(crate) variant: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) cost: Option<f64>,
    pub(crate) finish: Option<String>,
    pub(crate) error: Option<NamedError>,
    /// The text of a compaction, written for the model.
    #[serde(default)]
    pub(crate) summary: bool,
    pub(crate) structured: Option<Value>,
    #[serde(default)]
    pub(crate) time: Times,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Times {
    pub(crate) completed: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    /// Without reasoning.
    pub(crate) output: u64,
    #[serde(default)]
    pub(crate) reasoning: u64,
    #[serde(default)]
    pub(crate) cache: Cache,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Cache {
    #[serde(default)]
    pub(crate) read: u64,
    #[serde(default)]
    pub(crate) write: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NamedError {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) data: ErrorData,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ErrorData {
    pub(crate) message: Option<String>,
    pub(crate) status_code: Option<u16>,
    pub(crate) response_body: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionError {
    /// Absent for what befell the server itself.
    #[serde(rename = "sessionID")]
    pub(crate) session: Option<String>,
    pub(crate) error: Option<NamedError>,
}

#[derive(Debug)]
pub(crate) struct PartUpdated {
    pub(crate) head: PartHead,
    pub(crate) body: PartBody,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PartHead {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "messageID")]
    pub(crate) message: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug)]
pub(crate) enum PartBody {
    Text(Text),
    Reasoning(Text),
    Tool(Box<Tool>),
    File(File),
    Compaction(Compaction),
    Retry(Retry),
    /// Where a step begins and ends, and what the files looked like: bookkeeping.
    Step,
    /// What the user's message was made of, beside its text.
    Mention,
    Unknown {
        kind: String,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// Written by OpenCode in the user's name.
    #[serde(default)]
    pub(crate) synthetic: bool,
    #[serde(default)]
    pub(crate) ignored: bool,
    #[serde(default)]
    pub(crate) time: Span,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Option<f64>,
    pub(crate) end: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Tool {
    pub(crate) tool: String,
    #[serde(rename = "callID")]
    pub(crate) call: String,
    pub(crate) state: ToolState,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolState {
    pub(crate) status: ToolStatus,
    pub(crate) input: Option<Box<RawValue>>,
    pub(crate) title: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) metadata: Option<ToolMetadata>,
    #[serde(default)]
    pub(crate) attachments: Vec<File>,
    #[serde(default)]
    pub(crate) time: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ToolStatus {
    Pending,
    Running,
    Completed,
    Error,
}

/// What single tools say beside their output.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolMetadata {
    /// The whole output so far, while a command runs.
    pub(crate) output: Option<String>,
    pub(crate) exit: Option<i64>,
    pub(crate) diff: Option<String>,
    pub(crate) filediff: Option<FileDiff>,
    pub(crate) filepath: Option<String>,
    /// Whether the file was there before it was written.
    pub(crate) exists: Option<bool>,
    /// The child session of a subagent.
    pub(crate) session_id: Option<String>,
    /// Where the whole of a long output is.
    pub(crate) output_path: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileDiff {
    pub(crate) file: String,
    pub(crate) patch: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct File {
    pub(crate) mime: String,
    pub(crate) url: String,
    pub(crate) filename: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Compaction {
    #[serde(default)]
    pub(crate) auto: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Retry {
    pub(crate) attempt: Option<u64>,
    pub(crate) error: Option<NamedError>,
}

impl PartUpdated {
    pub(crate) fn parse(body: &RawValue) -> Result<Self, Unparsed> {
        #[derive(Deserialize)]
        struct Properties<'a> {
            #[serde(borrow)]
            part: &'a RawValue,
        }
        let Properties { part } = decode("message.part.updated", body)?;
        Self::of_part(part)
    }

    pub(crate) fn of_part(part: &RawValue) -> Result<Self, Unparsed> {
        let head: PartHead = decode("message.part.updated part", part)?;
        let body = match head.kind.as_str() {
            "text" => PartBody::Text(decode("part text", part)?),
            "reasoning" => PartBody::Reasoning(decode("part reasoning", part)?),
            "tool" => PartBody::Tool(decode("part tool", part)?),
            "file" => PartBody::File(decode("part file", part)?),
            "compaction" => PartBody::Compaction(decode("part compaction", part)?),
            "retry" => PartBody::Retry(decode("part retry", part)?),
            "step-start" | "step-finish" | "patch" | "snapshot" => PartBody::Step,
            "agent" | "subtask" => PartBody::Mention,
            kind => PartBody::Unknown { kind: kind.to_owned() },
        };
        Ok(Self { head, body })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct PartDelta {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "partID")]
    pub(crate) part: String,
    pub(crate) field: String,
    pub(crate) delta: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionChanged {
    pub(crate) info: Session,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    #[serde(rename = "parentID")]
    pub(crate) parent: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) cost: Option<f64>,
    pub(crate) revert: Option<Revert>,
    /// Its own rules.
    pub(crate) permission: Option<Vec<Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Revert {
    #[serde(rename = "messageID")]
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StatusChanged {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) status: Status,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Status {
    Idle,
    Busy,
    Retry { attempt: Option<u64>, message: Option<String> },
}

#[derive(Debug, Deserialize)]
pub(crate) struct PermissionAsked {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) permission: String,
    #[serde(default)]
    pub(crate) patterns: Vec<String>,
    /// What an `always` would allow.
    #[serde(default)]
    pub(crate) always: Vec<String>,
    #[serde(default)]
    pub(crate) metadata: PermissionMetadata,
    pub(crate) tool: Option<ToolRef>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PermissionMetadata {
    pub(crate) command: Option<String>,
    pub(crate) filepath: Option<String>,
    pub(crate) diff: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToolRef {
    #[serde(rename = "callID")]
    pub(crate) call: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PermissionReplied {
    #[serde(rename = "requestID")]
    pub(crate) request: String,
    pub(crate) reply: Reply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reply {
    Once,
    Always,
    Reject,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QuestionAsked {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) questions: Vec<Question>,
    pub(crate) tool: Option<ToolRef>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Question {
    pub(crate) question: String,
    pub(crate) header: Option<String>,
    #[serde(default)]
    pub(crate) options: Vec<Choice>,
    #[serde(default)]
    pub(crate) multiple: bool,
    /// Whether own words are welcome; they are unless it says no.
    pub(crate) custom: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice {
    pub(crate) label: String,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QuestionReplied {
    #[serde(rename = "requestID")]
    pub(crate) request: String,
    #[serde(default)]
    pub(crate) answers: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QuestionRejected {
    #[serde(rename = "requestID")]
    pub(crate) request: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TodoUpdated {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) todos: Vec<Todo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Todo {
    pub(crate) content: String,
    pub(crate) status: String,
}

/// One message of a read history.
#[derive(Debug, Deserialize)]
pub(crate) struct Stored<'a> {
    pub(crate) info: Message,
    #[serde(borrow)]
    pub(crate) parts: Vec<&'a RawValue>,
}

/// What `GET /config/providers` tells.
#[derive(Debug, Deserialize)]
pub(crate) struct Providers {
    pub(crate) providers: Vec<Provider>,
    #[serde(default)]
    pub(crate) default: indexmap::IndexMap<String, String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Provider {
    pub(crate) id: String,
    pub(crate) models: indexmap::IndexMap<String, Model>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Model {
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) limit: Limit,
    #[serde(default)]
    pub(crate) variants: indexmap::IndexMap<String, serde::de::IgnoredAny>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Limit {
    pub(crate) context: u64,
}

/// One entry of `GET /agent`.
#[derive(Debug, Deserialize)]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) hidden: Option<bool>,
    /// Its rules: a list, of which only the server understands the entries.
    #[serde(default)]
    pub(crate) permission: Value,
}

/// One entry of `GET /command`.
#[derive(Debug, Deserialize)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PromptBody<'a> {
    #[serde(default, borrow)]
    pub(crate) parts: Vec<&'a RawValue>,
}

/// Parts of a prompt, as far as they show.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum PromptPart {
    Text { text: String },
    File(File),
    Agent { name: String },
    Subtask { prompt: String },
}
