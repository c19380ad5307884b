//! The event envelope and what each type of event carries.
//!
//! The envelope is serialised by hand: `type` selects the type of `data`, and `raw` is verbatim
//! JSON, which derived (flattened) code cannot carry.

use jiff::Timestamp;
use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::ids::{EventId, ItemId, PermissionId, QuestionId, SessionId, TurnId};
use crate::item::UniversalItem;
use crate::state::StatePatch;
use crate::usage::{StopReason, Usage};

/// One event of a session's stream.
#[derive(Debug, Clone)]
pub struct UniversalEvent {
    pub event_id: EventId,
    /// Dense within the session, from 1.
    pub sequence: u64,
    pub time: Timestamp,
    pub session_id: SessionId,
    pub native_session_id: Option<String>,
    pub source: EventSource,
    pub synthetic: bool,
    pub data: EventData,
    /// The native frame, when asked for.
    pub raw: Option<Box<RawValue>>,
}

macro_rules! event_data {
    ($($variant:ident($data:ty) = $name:literal,)*) => {
        /// What an event carries, by type.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EventData {
            $($variant($data),)*
        }

        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        pub enum UniversalEventType {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl UniversalEventType {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// The schema component that describes this type's `data`.
            pub fn data_schema(self) -> &'static str {
                match self { $(Self::$variant => stringify!($data),)* }
            }
        }

        impl EventData {
            pub fn kind(&self) -> UniversalEventType {
                match self { $(Self::$variant(_) => UniversalEventType::$variant,)* }
            }

            pub fn parse(kind: UniversalEventType, data: &RawValue) -> Result<Self, serde_json::Error> {
                Ok(match kind {
                    $(UniversalEventType::$variant => Self::$variant(serde_json::from_str(data.get())?),)*
                })
            }
        }

        impl Serialize for EventData {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$variant(data) => data.serialize(s),)* }
            }
        }
    };
}

event_data! {
    SessionStarted(SessionStartedData) = "session.started",
    SessionEnded(SessionEndedData) = "session.ended",
    SessionUpdated(StatePatch) = "session.updated",
    TurnStarted(TurnStartedData) = "turn.started",
    TurnEnded(TurnEndedData) = "turn.ended",
    ItemStarted(ItemEventData) = "item.started",
    ItemDelta(ItemDeltaData) = "item.delta",
    ItemCompleted(ItemEventData) = "item.completed",
    Error(ErrorData) = "error",
    PermissionRequested(PermissionEventData) = "permission.requested",
    PermissionResolved(PermissionEventData) = "permission.resolved",
    QuestionRequested(QuestionEventData) = "question.requested",
    QuestionResolved(QuestionEventData) = "question.resolved",
    AgentUnparsed(AgentUnparsedData) = "agent.unparsed",
}

impl UniversalEvent {
    pub fn kind(&self) -> UniversalEventType {
        self.data.kind()
    }
}

impl Serialize for UniversalEvent {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut e = s.serialize_struct("UniversalEvent", 10)?;
        e.serialize_field("event_id", &self.event_id)?;
        e.serialize_field("sequence", &self.sequence)?;
        e.serialize_field("time", &self.time)?;
        e.serialize_field("session_id", &self.session_id)?;
        e.serialize_field("native_session_id", &self.native_session_id)?;
        e.serialize_field("source", &self.source)?;
        e.serialize_field("synthetic", &self.synthetic)?;
        e.serialize_field("type", &self.kind())?;
        e.serialize_field("data", &self.data)?;
        // Last, so that a stored event gets its raw frame without being decoded.
        e.serialize_field("raw", &self.raw)?;
        e.end()
    }
}

impl<'de> Deserialize<'de> for UniversalEvent {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            event_id: EventId,
            sequence: u64,
            time: Timestamp,
            session_id: SessionId,
            #[serde(default)]
            native_session_id: Option<String>,
            source: EventSource,
            synthetic: bool,
            r#type: UniversalEventType,
            data: Box<RawValue>,
            #[serde(default)]
            raw: Option<Box<RawValue>>,
        }
        let w = Wire::deserialize(d)?;
        Ok(Self {
            data: EventData::parse(w.r#type, &w.data).map_err(D::Error::custom)?,
            event_id: w.event_id,
            sequence: w.sequence,
            time: w.time,
            session_id: w.session_id,
            native_session_id: w.native_session_id,
            source: w.source,
            synthetic: w.synthetic,
            raw: w.raw,
        })
    }
}

/// The shape of [`UniversalEvent`] for the schema; the event itself is serialised by hand.
#[derive(ToSchema)]
#[schema(as = UniversalEvent)]
#[expect(dead_code, reason = "read by the schema derive only")]
struct UniversalEventShape {
    event_id: EventId,
    /// Dense within the session, from 1.
    sequence: u64,
    /// RFC 3339, UTC, never backwards within a session.
    time: String,
    session_id: SessionId,
    native_session_id: Option<String>,
    source: EventSource,
    /// Whether the daemon made this event to fill a gap.
    synthetic: bool,
    r#type: UniversalEventType,
    data: UniversalEventData,
    /// The native frame; null unless `include_raw=true`.
    raw: Option<serde_json::Value>,
}

#[derive(ToSchema)]
#[schema(as = UniversalEventData)]
#[expect(dead_code, reason = "read by the schema derive only")]
#[derive(Serialize)]
#[serde(untagged)]
enum UniversalEventData {
    TurnStarted(TurnStartedData),
    TurnEnded(TurnEndedData),
    Turn(TurnEventData),
    SessionStarted(SessionStartedData),
    SessionEnded(SessionEndedData),
    SessionUpdated(StatePatch),
    Item(ItemEventData),
    ItemDelta(ItemDeltaData),
    Error(ErrorData),
    Permission(PermissionEventData),
    Question(QuestionEventData),
    AgentUnparsed(AgentUnparsedData),
}

impl utoipa::PartialSchema for UniversalEvent {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        UniversalEventShape::schema()
    }
}

impl ToSchema for UniversalEvent {
    fn name() -> std::borrow::Cow<'static, str> {
        "UniversalEvent".into()
    }

    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
        UniversalEventShape::schemas(schemas);
    }
}

/// Who emitted an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    Agent,
    Daemon,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStartedData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<SessionStartedMetadata>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionStartedMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// True when an ended session goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// How much an agent remembers after its process was started anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// The agent continued its own session.
    Native,
    /// The agent loaded its session and replayed it.
    Load,
    /// The agent has forgotten.
    None,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionEndedData {
    pub reason: SessionEndReason,
    pub terminated_by: TerminatedBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<StderrOutput>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionEndReason {
    Completed,
    Error,
    Terminated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminatedBy {
    Agent,
    Daemon,
}

/// The beginning and the end of what an agent wrote to stderr.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StderrOutput {
    /// The first 20 lines if truncated, else all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The last 50 lines, only if truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
}

/// What both turn events have in common: the contract's own type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEventData {
    pub phase: TurnPhase,
    pub turn_id: Option<TurnId>,
    pub metadata: Option<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnStartedData {
    pub phase: TurnPhase,
    pub turn_id: TurnId,
    pub metadata: TurnStartedMetadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnStartedMetadata {
    pub origin: TurnOrigin,
    /// The posted message that this turn answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<crate::ids::MessageId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOrigin {
    /// Somebody sent a message.
    User,
    /// The agent began by itself.
    Agent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEndedData {
    pub phase: TurnPhase,
    pub turn_id: TurnId,
    pub metadata: TurnEndedMetadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEndedMetadata {
    pub stop_reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_subagents: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub duration_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    Started,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemEventData {
    pub item: UniversalItem,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemDeltaData {
    pub item_id: ItemId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_item_id: Option<String>,
    pub delta: String,
    /// Absent means `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_type: Option<DeltaPart>,
}

/// Which part of its item a delta extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeltaPart {
    Text,
    Reasoning,
    ToolInput,
    ToolOutput,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorData {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub code: Option<ErrorCode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

/// What went wrong in a turn (T16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    ProviderAuth,
    RateLimit,
    ContextOverflow,
    OutputLength,
    MaxTurns,
    MaxBudget,
    ApiError,
    ExecutionError,
    AgentCrashed,
    AgentUnavailable,
    Timeout,
    Aborted,
    DaemonRestarted,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PermissionEventData {
    pub permission_id: PermissionId,
    /// What the agent wants to do.
    pub action: String,
    pub status: PermissionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub metadata: Option<RequestMetadata>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionStatus {
    Requested,
    Accept,
    AcceptForSession,
    Reject,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuestionEventData {
    pub question_id: QuestionId,
    pub prompt: String,
    pub options: Vec<String>,
    pub status: QuestionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub metadata: Option<RequestMetadata>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionStatus {
    Requested,
    Answered,
    Rejected,
}

/// What a permission or question carries beside its contract fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RequestMetadata {
    /// The tool call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_request_id: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The agent's own pattern: with `tool`, what `always` covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The choices as the agent offers them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<PermissionOption>,
    /// What an edit would change, one `file_ref` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<crate::item::ContentPart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// What the person who answered said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionOption {
    pub id: String,
    pub name: String,
    pub kind: String,
}

/// One of several questions asked at once (T12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionInfo {
    pub prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    pub options: Vec<QuestionOption>,
    pub multi_select: bool,
    /// Whether an answer beside the options is allowed.
    pub free_text: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionOption {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Who or what resolved a request (T10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    Person,
    Cancel,
    Agent,
    Crash,
    Restart,
    TurnEnd,
    Expiry,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentUnparsedData {
    pub error: String,
    pub location: String,
    /// sha256 of the bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_hash: Option<String>,
}
