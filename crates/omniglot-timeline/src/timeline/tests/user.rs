//! The item of the message that begins a turn, for agents that have an id of their own for it.

use omniglot_schema::{EventSource, ItemRole, MessageId, StatusLabel, SteeringMetadata};
use serde_json::json;

use super::*;
use crate::draft::ItemKey;
use crate::timeline::Author;

impl Session {
    fn echoed() -> Self {
        let mut session = Self::new();
        session.end_turn();
        session.said.drain(..).for_each(|emitted| session.earlier.push(emitted));
        let content = vec![ContentPart::text("go")];
        session.draft(Draft::TurnStarted(Origin::Echoed { message_id: None, content }));
        session
    }

    fn echo(&mut self) {
        self.draft(Draft::UserEcho { item: None, native_id: "n-1".into() });
    }

    /// The types of the events of the turn, and the user's item as it ended.
    fn turn_of(&mut self) -> (Vec<&'static str>, UniversalItem) {
        let kinds = self.said.iter().map(|emitted| emitted.event.kind().as_str()).collect();
        let is_user = |item: &UniversalItem| item.role == Some(ItemRole::User);
        (kinds, self.ended().into_iter().filter(is_user).nth(1).unwrap())
    }
}

#[test]
fn the_users_item_has_the_id_that_the_agent_repeats_it_under() {
    let mut session = Session::echoed();
    assert_eq!(session.count("item.completed"), 0);
    session.echo();
    let (kinds, item) = session.turn_of();
    assert_eq!(kinds, ["turn.started", "item.started", "item.completed"]);
    assert_eq!((item.native_item_id.as_deref(), item.status), (Some("n-1"), ItemStatus::Completed));
    assert_eq!(shown(&item), r#"[{"type":"text","text":"go"}]"#);
    assert_eq!(session.said[2].event.source, EventSource::Agent);
    session.echo();
    assert_eq!(session.timeline.stats().dropped.get("echo"), Some(&1));
}

#[test]
fn nothing_that_the_agent_says_overtakes_the_users_item() {
    let mut session = Session::echoed();
    session.draft(Draft::ItemDelta { key: "m".into(), delta: "Hi".into() });
    session.echo();
    let (kinds, item) = session.turn_of();
    assert_eq!(kinds[..4], ["turn.started", "item.started", "item.completed", "item.started"]);
    assert_eq!(item.native_item_id, None);
    assert_eq!(session.said[2].event.source, EventSource::Daemon);
}

#[test]
fn status_items_leave_the_users_item_open_until_its_echo() {
    let mut session = Session::echoed();
    let (key, now) = (ItemKey::from("s"), Timestamp::UNIX_EPOCH);
    let body = Body::Status { label: StatusLabel::Removed, detail: None };
    session.draft(Draft::ItemStarted(ItemStart { key: key.clone(), native_id: None, parent: None, body }));
    session.draft(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body: None }));
    session.timeline.status(StatusLabel::Warning, "careful", Stamp::daemon(now), &mut session.said);
    session.echo();
    let (kinds, item) = session.turn_of();
    assert_eq!(kinds[..2], ["turn.started", "item.started"]);
    assert_eq!((kinds.len(), item.native_item_id.as_deref()), (7, Some("n-1")));
}

#[test]
fn the_users_item_is_complete_also_when_the_turn_ends_or_the_daemon_dies_before_the_echo() {
    let mut session = Session::echoed();
    session.end_turn();
    assert_eq!(session.turn_of().1.status, ItemStatus::Completed);
    let mut session = Session::echoed();
    let snapshot = session.timeline.snapshot();
    let open: Vec<_> = session.said.iter().map(|emitted| emitted.event.clone()).collect();
    let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "mock".into() };
    session.timeline = Timeline::restore(identity, snapshot, &open);
    session.timeline.recover(
        Failure::daemon_restarted(),
        Stamp::daemon(Timestamp::UNIX_EPOCH),
        &mut session.said,
    );
    assert_eq!(session.turn_of().1.status, ItemStatus::Completed);
}

#[test]
fn a_message_into_a_running_turn_is_complete_when_it_is_repeated() {
    let mut session = Session::echoed();
    session.echo();
    session.said.clear();
    let (key, body) = (ItemKey::from("steer"), Body::Message { role: ItemRole::User, parts: vec![] });
    session.draft(Draft::ItemStarted(ItemStart { key: key.clone(), native_id: None, parent: None, body }));
    session.draft(Draft::UserEcho { item: Some(key), native_id: "n-2".into() });
    let EventData::ItemCompleted(data) = &session.said[1].event.data else { panic!("{:?}", session.said) };
    assert_eq!((data.item.native_item_id.as_deref(), data.item.status), (Some("n-2"), ItemStatus::Completed));
}

#[test]
fn a_message_into_a_running_turn_tells_its_author() {
    let mut session = Session::echoed();
    session.said.clear();
    let id = MessageId("msg_2".into());
    let metadata = json!({"draft": 7}).as_object().cloned();
    let author =
        Author { client_ids: vec!["mine".into()], by: Some("ann".into()), metadata: metadata.clone() };
    session.timeline.name_message(&id, author);
    let (key, body) = (ItemKey::from("steer"), Body::Message { role: ItemRole::User, parts: vec![] });
    let start = ItemStart { key: key.clone(), native_id: None, parent: None, body };
    session.draft(Draft::Steered { message_id: Some(id.clone()), start });
    session.draft(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body: None }));
    let steering = session.said.iter().filter_map(|said| match &said.event.data {
        EventData::ItemStarted(data) | EventData::ItemCompleted(data) => data.metadata.as_deref(),
        _ => None,
    });
    let expected = SteeringMetadata {
        message_id: Some(id),
        client_ids: vec!["mine".into()],
        by: Some("ann".into()),
        client_metadata: metadata,
    };
    assert_eq!(steering.collect::<Vec<_>>(), [&expected, &expected], "and no other item has any");
}

#[test]
fn a_message_that_came_too_late_to_steer_tells_its_author_in_the_turn_that_it_begins() {
    let mut session = Session::echoed();
    let id = MessageId("msg_2".into());
    session.timeline.name_message(&id, Author { by: Some("ann".into()), ..Author::default() });
    let body = Body::Message { role: ItemRole::User, parts: vec![] };
    let start = ItemStart { key: ItemKey::from("steer"), native_id: None, parent: None, body };
    session.draft(Draft::Steered { message_id: Some(id.clone()), start });
    session.end_turn();
    session.said.clear();
    session.draft(Draft::TurnStarted(Origin::User { message_id: Some(id), content: vec![] }));
    let EventData::TurnStarted(data) = &session.said[0].event.data else { panic!("{:?}", session.said) };
    assert_eq!(data.metadata.by.as_deref(), Some("ann"));
}
