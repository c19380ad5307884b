//! The event envelope, and the type of data that each type of event carries.
//!
//! The types of data are in `lifecycle`, `request` and `state`. The envelope is serialised by hand: `type`
//! selects the type of `data`, and `raw` is verbatim JSON, which derived (flattened) code cannot carry.
//! Its schema is in `event/schema.rs`.

mod schema;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema as _, ToSchema};

use crate::ids::{EventId, SessionId};
use crate::lifecycle::{
    AgentUnparsedData, ErrorData, ItemDeltaData, ItemEventData, SessionEndedData, SessionStartedData,
    TurnEndedData, TurnStartedData,
};
use crate::request::{PermissionEventData, QuestionEventData};
use crate::state::StatePatch;

pub use schema::UniversalEventData;

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
    ($(#[doc = $doc:literal] $variant:ident($data:ty) = $name:tt,)*) => {
        /// The data of an event, by type.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EventData {
            $(#[doc = $doc] $variant($data),)*
        }

        /// The type of an event, which selects the type of its data.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        pub enum UniversalEventType {
            $(#[doc = $doc] #[serde(rename = $name)] $variant,)*
        }

        impl UniversalEventType {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// The schema component that describes events of this type.
            pub fn schema_name(self) -> &'static str {
                match self { $(Self::$variant => concat!(stringify!($variant), "Event"),)* }
            }

            /// The meaning of this type, as a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc.trim_ascii(),)* }
            }

            /// Adds the schema of this type's data and returns the name of its component.
            fn add_data_schema(self, schemas: &mut Vec<(String, RefOr<Schema>)>) -> Cow<'static, str> {
                match self {
                    $(Self::$variant => {
                        schemas.push((<$data>::name().into(), <$data>::schema()));
                        <$data>::schemas(schemas);
                        <$data>::name()
                    })*
                }
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
    /// The session begins, or continues after it had ended.
    SessionStarted(SessionStartedData) = "session.started",
    /// Somebody ended the session, or the agent's process died.
    SessionEnded(SessionEndedData) = "session.ended",
    /// The state of the session changed: a merge patch, in which null removes a key.
    SessionUpdated(StatePatch) = "session.updated",
    /// The agent begins to work.
    TurnStarted(TurnStartedData) = "turn.started",
    /// The agent has stopped working; there is exactly one for each `turn.started`.
    TurnEnded(TurnEndedData) = "turn.ended",
    /// An item begins; deltas may follow.
    ItemStarted(ItemEventData) = "item.started",
    /// An open item grows.
    ItemDelta(ItemDeltaData) = "item.delta",
    /// An item is final. A call completes when its arguments are final, before it runs.
    ItemCompleted(ItemEventData) = "item.completed",
    /// The turn fails; its `turn.ended` follows.
    Error(ErrorData) = "error",
    /// The agent asks whether it may act, and waits.
    PermissionRequested(PermissionEventData) = "permission.requested",
    /// A permission request was answered, or is answered by a cancel, a crash or the end of its turn.
    PermissionResolved(PermissionEventData) = "permission.resolved",
    /// The agent asks a person, and waits.
    QuestionRequested(QuestionEventData) = "question.requested",
    /// A question was answered, or nobody can answer it any more.
    QuestionResolved(QuestionEventData) = "question.resolved",
    /// The agent sent a message that is not understood; `raw` has it.
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

/// The emitter of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    /// The event was made from a message of the agent.
    Agent,
    /// The daemon made the event.
    Daemon,
}
