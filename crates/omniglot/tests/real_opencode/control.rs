//! Changes of a running session: effort, agent, rules, the length of the conversation.

use omniglot_schema::{
    ContentPart, EventData, ItemRole, PermissionReply, SessionDetail, SessionPatch, StopReason,
    UniversalEventType,
};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::Reply;
use omniglot_testkit::session_driver::{SessionDriver, labels, text_of};

use crate::{OPENCODE, ended_so, is, shell};

async fn change(fixture: &Fixture, patch: SessionPatch) -> SessionDetail {
    fixture.session.client.patch(&fixture.session.id, &patch).await.unwrap()
}

async fn permission_mode(fixture: &Fixture, mode: &str) -> SessionDetail {
    change(fixture, SessionPatch { permission_mode: Some(mode.to_owned()), ..SessionPatch::default() }).await
}

/// Lets the model write a file; returns the number of permission requests.
async fn asked_to_write(fixture: &Fixture, name: &str) -> usize {
    fixture.model.push((OPENCODE.write)(&fixture.file(name), "text\n"));
    let turn = fixture.answered("Write.", Reply::text("Done.")).await;
    assert_eq!(turn.text(), "Done.", "{turn}");
    turn.asked().len()
}

/// An effort reaches the model with every prompt.
#[tokio::test]
async fn variants_effort() {
    let fixture = OPENCODE.fixture([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]).await;
    fixture.turn("The first.").await;
    assert!(fixture.model.last().body.get("reasoning_effort").is_none());
    let patch = SessionPatch { variant: Some("high".to_owned()), ..SessionPatch::default() };
    assert_eq!(change(&fixture, patch).await.state.variant.as_deref(), Some("high"));
    for prompt in ["The second.", "The third."] {
        fixture.turn(prompt).await;
        assert_eq!(fixture.model.last().body["reasoning_effort"], "high");
    }
    let unknown = SessionPatch { variant: Some("enormous".to_owned()), ..SessionPatch::default() };
    let refused = fixture.session.client.patch(&fixture.session.id, &unknown).await.unwrap_err();
    assert_eq!(refused.status(), Some(400), "{refused}");
    fixture.session.history().await;
}

#[tokio::test]
async fn the_agent_that_plans_may_not_edit_and_the_one_that_builds_asks_again() {
    let fixture = OPENCODE.fixture([]).await;
    let plan = SessionPatch { agent_mode: Some("plan".to_owned()), ..SessionPatch::default() };
    assert_eq!(change(&fixture, plan).await.state.agent_mode.as_deref(), Some("plan"));
    assert_eq!(asked_to_write(&fixture, "planned").await, 0);
    assert!(!fixture.file("planned").exists());
    let build = SessionPatch { agent_mode: Some("build".to_owned()), ..SessionPatch::default() };
    assert_eq!(change(&fixture, build).await.state.agent_mode.as_deref(), Some("build"));
    assert_eq!(asked_to_write(&fixture, "built").await, 1);
    assert!(fixture.file("built").exists());
    fixture.session.history().await;
}

#[tokio::test]
async fn a_mode_that_is_left_allows_nothing_any_more() {
    let fixture = OPENCODE.fixture([]).await;
    permission_mode(&fixture, "bypass").await;
    assert_eq!(asked_to_write(&fixture, "bypassed").await, 0);
    assert!(fixture.file("bypassed").exists());
    permission_mode(&fixture, "default").await;
    assert_eq!(asked_to_write(&fixture, "asked").await, 1);
    permission_mode(&fixture, "acceptEdits").await;
    assert_eq!(asked_to_write(&fixture, "accepted").await, 0);
    let detail = permission_mode(&fixture, "plan").await;
    assert_eq!(detail.state.agent_mode.as_deref(), Some("plan"));
    assert_eq!(asked_to_write(&fixture, "planned").await, 0);
    assert!(fixture.file("accepted").exists() && !fixture.file("planned").exists());
    let detail = permission_mode(&fixture, "default").await;
    assert_eq!(detail.state.agent_mode.as_deref(), Some("build"));
    assert_eq!(asked_to_write(&fixture, "again").await, 1);
    fixture.session.history().await;
}

/// A conversation is compacted when somebody asks.
#[tokio::test]
async fn compaction() {
    let fixture = OPENCODE.fixture([Reply::text("A long story."), Reply::text("I know the gist.")]).await;
    let seen = fixture.turn("Tell me a story.").await.last_sequence();
    fixture.session.client.compact(&fixture.session.id).await.unwrap();
    fixture.session.wait_for(seen, ended_so(StopReason::EndTurn)).await;
    let events = fixture.session.history().await;
    let told = labels(&events).iter().filter(|label| **label == "opencode.compaction").count();
    assert_eq!(told, 2);
    let turn = fixture.turn("What do you know?").await;
    assert_eq!(turn.text(), "I know the gist.", "{turn}");
    let heard = fixture.model.last().text();
    assert!(!heard.contains("A long story."), "the model still hears it all: {heard}");
    fixture.session.history().await;
}

/// A fork knows what was said and begins with a copy of it.
#[tokio::test]
async fn fork() {
    let fixture = OPENCODE.fixture([Reply::text("Noted."), Reply::text("The apple.")]).await;
    fixture.turn("Remember the apple.").await;
    let name = omniglot_testkit::session_driver::session_id("fork");
    fixture.session.client.fork(&fixture.session.id, &name).await.unwrap();
    let fork = SessionDriver::of(&fixture.daemon.client, "fork");
    let turn = fork.turn("What was it?", PermissionReply::Once).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("The apple.", StopReason::EndTurn), "{turn}");
    assert!(fixture.model.last().text().contains("Remember the apple."));
    assert_eq!(text_of(&fork.history().await), "Noted.The apple.");
    assert_eq!(text_of(&fixture.session.history().await), "Noted.");
}

/// A message that steers becomes part of the running turn.
#[tokio::test]
async fn steering_a_running_turn() {
    let (working, gate) = Reply::text("Working.").hold();
    let fixture = OPENCODE.fixture([working.with(shell("true")), Reply::text("Both are done.")]).await;
    permission_mode(&fixture, "bypass").await;
    fixture.session.post("Do the first thing.").await;
    gate.reached().await;
    let begun = fixture.session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    let steering = fixture.steer_as("ann", "Do the second thing as well.").await;
    let said = |event: &omniglot_schema::UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => {
            data.item.role == Some(ItemRole::User)
                && data.item.native_item_id.is_some()
                && data.item.content == [ContentPart::text("Do the second thing as well.")]
        }
        _ => false,
    };
    fixture.session.wait_for(begun.sequence, said).await;
    gate.open();
    fixture.session.wait_for(begun.sequence, ended_so(StopReason::EndTurn)).await;
    assert!(fixture.model.last().text().contains("Do the second thing as well."));
    let events = fixture.session.history().await;
    steering.assert_told(&events);
    assert_eq!(events.iter().filter(|event| is(UniversalEventType::TurnStarted)(event)).count(), 1);
}
