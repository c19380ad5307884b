//! The schema of events: one component for each type, so that `type` and `data` are tied together, and one that
//! is any of them.

use std::borrow::Cow;

use utoipa::openapi::schema::{AnyOfBuilder, Discriminator, OneOfBuilder, Type};
use utoipa::openapi::{Object, ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{EventMetadata, EventSource, UniversalEvent, UniversalEventType};
use crate::ids::{EventId, SessionId};
use crate::lifecycle::TurnEventData;

type Schemas = Vec<(String, RefOr<Schema>)>;

/// The members that every event has beside `type` and `data`.
// The event itself is serialised by hand; this type describes its shape for the schema.
#[derive(ToSchema)]
#[expect(dead_code, reason = "read by the schema derive only")]
struct Envelope {
    /// The id of the event; unique in its session.
    event_id: EventId,
    /// Dense within the session, from 1.
    sequence: u64,
    /// RFC 3339, UTC, never backwards within a session; a copied event keeps the time at which it happened.
    time: String,
    /// The session that the event belongs to.
    session_id: SessionId,
    /// The agent's own id of the session, once it is known.
    native_session_id: Option<String>,
    /// The emitter of the event.
    source: EventSource,
    /// Whether the daemon made this event to fill a gap.
    synthetic: bool,
    /// Absent from most events.
    #[schema(required = false)]
    metadata: Option<EventMetadata>,
    /// The native frame; null unless `include_raw=true`. `{"omitted":"retention"}` where it was dropped.
    raw: Option<serde_json::Value>,
}

impl PartialSchema for UniversalEvent {
    fn schema() -> RefOr<Schema> {
        let kinds = UniversalEventType::ALL;
        let any = OneOfBuilder::new().description(Some("One event of a session's stream, of any type."));
        let any = kinds.iter().fold(any, |any, kind| any.item(Ref::from_schema_name(kind.schema_name())));
        let target = |name: &str| Ref::from_schema_name(name).ref_location;
        let mapping = kinds.iter().map(|kind| (kind.as_str(), target(kind.schema_name())));
        any.discriminator(Some(Discriminator::with_mapping("type", mapping))).into()
    }
}

impl ToSchema for UniversalEvent {
    fn name() -> Cow<'static, str> {
        "UniversalEvent".into()
    }

    fn schemas(schemas: &mut Schemas) {
        Envelope::schemas(schemas);
        for kind in UniversalEventType::ALL {
            let data = kind.add_data_schema(schemas);
            schemas.push((kind.schema_name().to_owned(), of_type(*kind, &data)));
        }
    }
}

/// Returns the schema of the events of one type.
fn of_type(kind: UniversalEventType, data: &str) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = Envelope::schema() else { return Object::new().into() };
    let tag = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind.as_str()]));
    let tag = tag.description(Some(format!("Always `{}`.", kind.as_str())));
    object.properties.insert("type".into(), tag.into());
    let mut data = Ref::from_schema_name(data);
    data.description = "The content of the event.".into();
    object.properties.insert("data".into(), data.into());
    object.required.extend(["type".into(), "data".into()]);
    object.description = Some(kind.meaning().into());
    object.into()
}

/// The data of an event of any type: a component of the contract, which no component of ours refers to.
pub struct UniversalEventData;

impl PartialSchema for UniversalEventData {
    // Any, not one: types whose members are all optional fit the data of others, too.
    fn schema() -> RefOr<Schema> {
        let mut names = vec![TurnEventData::name()];
        for kind in UniversalEventType::ALL {
            let name = kind.add_data_schema(&mut vec![]);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let any = AnyOfBuilder::new().description(Some("The data of an event, by its `type`."));
        names.into_iter().fold(any, |any, name| any.item(Ref::from_schema_name(name))).into()
    }
}

impl ToSchema for UniversalEventData {
    fn schemas(schemas: &mut Schemas) {
        schemas.push((TurnEventData::name().into(), TurnEventData::schema()));
        TurnEventData::schemas(schemas);
        for kind in UniversalEventType::ALL {
            kind.add_data_schema(schemas);
        }
    }
}
