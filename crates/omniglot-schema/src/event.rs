//! The event envelope, and the type of data that each type of event carries.
//!
//! The types of data are in `lifecycle`, `request` and `state`. The envelope is serialised by hand: `type`
//! selects the type of `data`, and `raw` is verbatim JSON, which derived (flattened) code cannot carry.

use jiff::Timestamp;
use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::ids::{EventId, SessionId};
use crate::lifecycle::{
    AgentUnparsedData, ErrorData, ItemDeltaData, ItemEventData, SessionEndedData, SessionStartedData,
    TurnEndedData, TurnEventData, TurnStartedData,
};
use crate::request::{PermissionEventData, QuestionEventData};
use crate::state::StatePatch;

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
    /// Absent from most events.
    pub metadata: Option<EventMetadata>,
    pub data: EventData,
    /// The native frame, when requested.
    pub raw: Option<Box<RawValue>>,
}

/// The properties of an event that do not depend on its type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventMetadata {
    /// The event that this one is a copy of: it happened there, and counts only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<CopiedFrom>,
}

/// The event of another session that a fork has copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CopiedFrom {
    /// The session that was forked.
    pub session: SessionId,
    /// The sequence of the event there.
    pub sequence: u64,
}

macro_rules! event_data {
    // `tt`, because the schema derive does not see through a `literal` fragment.
    ($($variant:ident($data:ty) = $name:tt,)*) => {
        /// The data of an event, by type.
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

    /// Returns the event of another session that this one is a copy of.
    pub fn copied_from(&self) -> Option<&CopiedFrom> {
        self.metadata.as_ref()?.copied_from.as_ref()
    }
}

impl Serialize for UniversalEvent {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut e = s.serialize_struct("UniversalEvent", 10 + usize::from(self.metadata.is_some()))?;
        e.serialize_field("event_id", &self.event_id)?;
        e.serialize_field("sequence", &self.sequence)?;
        e.serialize_field("time", &self.time)?;
        e.serialize_field("session_id", &self.session_id)?;
        e.serialize_field("native_session_id", &self.native_session_id)?;
        e.serialize_field("source", &self.source)?;
        e.serialize_field("synthetic", &self.synthetic)?;
        e.serialize_field("type", &self.kind())?;
        match &self.metadata {
            Some(metadata) => e.serialize_field("metadata", metadata)?,
            None => e.skip_field("metadata")?,
        }
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
            #[serde(default)]
            metadata: Option<EventMetadata>,
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
            metadata: w.metadata,
            raw: w.raw,
        })
    }
}

/// One event of a session's stream. `type` selects the type of `data`.
// The event itself is serialised by hand; this type describes its shape for the schema.
#[derive(ToSchema)]
#[schema(as = UniversalEvent)]
#[expect(dead_code, reason = "read by the schema derive only")]
struct UniversalEventShape {
    event_id: EventId,
    /// Dense within the session, from 1.
    sequence: u64,
    /// RFC 3339, UTC, never backwards within a session; a copied event keeps the time at which it happened.
    time: String,
    session_id: SessionId,
    native_session_id: Option<String>,
    source: EventSource,
    /// Whether the daemon made this event to fill a gap.
    synthetic: bool,
    r#type: UniversalEventType,
    /// Absent from most events.
    #[schema(required = false)]
    metadata: Option<EventMetadata>,
    data: UniversalEventData,
    /// The native frame; null unless `include_raw=true`. `{"omitted":"retention"}` where it was dropped.
    raw: Option<serde_json::Value>,
}

/// The data of an event, by type.
struct UniversalEventData;

macro_rules! event_data_schema {
    ($($data:ty),* $(,)?) => {
        // Any, not one: types whose members are all optional fit the data of others, too.
        impl utoipa::PartialSchema for UniversalEventData {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let any = utoipa::openapi::schema::AnyOfBuilder::new();
                let any = any.description(Some("What an event carries, by its `type`."));
                $(let any = any.item(utoipa::openapi::Ref::from_schema_name(<$data>::name()));)*
                any.into()
            }
        }

        impl ToSchema for UniversalEventData {
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
                $(schemas.push((<$data>::name().into(), <$data as utoipa::PartialSchema>::schema()));
                <$data>::schemas(schemas);)*
            }
        }
    };
}

event_data_schema!(
    TurnStartedData,
    TurnEndedData,
    TurnEventData,
    SessionStartedData,
    SessionEndedData,
    StatePatch,
    ItemEventData,
    ItemDeltaData,
    ErrorData,
    PermissionEventData,
    QuestionEventData,
    AgentUnparsedData,
);

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

/// The emitter of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    Agent,
    Daemon,
}
