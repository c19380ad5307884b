//! What a person changes under way: effort, agent, rules, the length of the conversation.

use omniglot_schema::{
    ContentPart, Delivered, Delivery, EventData, ItemRole, PermissionReply, SessionDetail, SessionPatch,
    StopReason, UniversalEventType,
};
use omniglot_testkit::drive::{Driver, labels, message, text_of};
use omniglot_testkit::models::Reply;
use omniglot_testkit::stage::Stage;

use crate::{OPENCODE, ended_so, is, shell};

async fn change(stage: &Stage, patch: SessionPatch) -> SessionDetail {
    stage.session.client.patch(&stage.session.id, &patch).await.unwrap()
}

async fn permission_mode(stage: &Stage, mode: &str) -> SessionDetail {
    change(stage, SessionPatch { permission_mode: Some(mode.to_owned()), ..SessionPatch::default() }).await
}

/// Lets the model write a file; how often it was asked about.
async fn asked_to_write(stage: &Stage, name: &str) -> usize {
    stage.model.push((OPENCODE.write)(&stage.file(name), "text\n"));
    let turn = stage.answered("Write.", Reply::text("Done.")).await;
    assert_eq!(turn.text(), "Done.", "{turn}");
    turn.asked().len()
}

#[tokio::test]
async fn an_effort_reaches_the_model_with_every_prompt() {
    let stage = OPENCODE.stage([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]).await;
    stage.turn("The first.").await;
    assert!(stage.model.last().body.get("reasoning_effort").is_none());
    let patch = SessionPatch { variant: Some("high".to_owned()), ..SessionPatch::default() };
    assert_eq!(change(&stage, patch).await.state.variant.as_deref(), Some("high"));
    for prompt in ["The second.", "The third."] {
        stage.turn(prompt).await;
        assert_eq!(stage.model.last().body["reasoning_effort"], "high");
    }
    let unknown = SessionPatch { variant: Some("enormous".to_owned()), ..SessionPatch::default() };
    let refused = stage.session.client.patch(&stage.session.id, &unknown).await.unwrap_err();
    assert_eq!(refused.status(), Some(400), "{refused}");
    stage.session.history().await;
}

#[tokio::test]
async fn the_agent_that_plans_may_not_edit_and_the_one_that_builds_asks_again() {
    let stage = OPENCODE.stage([]).await;
    let plan = SessionPatch { agent_mode: Some("plan".to_owned()), ..SessionPatch::default() };
    assert_eq!(change(&stage, plan).await.state.agent_mode.as_deref(), Some("plan"));
    assert_eq!(asked_to_write(&stage, "planned").await, 0);
    assert!(!stage.file("planned").exists());
    let build = SessionPatch { agent_mode: Some("build".to_owned()), ..SessionPatch::default() };
    assert_eq!(change(&stage, build).await.state.agent_mode.as_deref(), Some("build"));
    assert_eq!(asked_to_write(&stage, "built").await, 1);
    assert!(stage.file("built").exists());
    stage.session.history().await;
}

#[tokio::test]
async fn a_mode_that_is_left_allows_nothing_any_more() {
    let stage = OPENCODE.stage([]).await;
    permission_mode(&stage, "bypass").await;
    assert_eq!(asked_to_write(&stage, "bypassed").await, 0);
    assert!(stage.file("bypassed").exists());
    permission_mode(&stage, "default").await;
    assert_eq!(asked_to_write(&stage, "asked").await, 1);
    permission_mode(&stage, "acceptEdits").await;
    assert_eq!(asked_to_write(&stage, "accepted").await, 0);
    let detail = permission_mode(&stage, "plan").await;
    assert_eq!(detail.state.agent_mode.as_deref(), Some("plan"));
    assert_eq!(asked_to_write(&stage, "planned").await, 0);
    assert!(stage.file("accepted").exists() && !stage.file("planned").exists());
    let detail = permission_mode(&stage, "default").await;
    assert_eq!(detail.state.agent_mode.as_deref(), Some("build"));
    assert_eq!(asked_to_write(&stage, "again").await, 1);
    stage.session.history().await;
}

#[tokio::test]
async fn a_conversation_is_compacted_when_somebody_asks() {
    let stage = OPENCODE.stage([Reply::text("A long story."), Reply::text("I know the gist.")]).await;
    let seen = stage.turn("Tell me a story.").await.last_sequence();
    stage.session.client.compact(&stage.session.id).await.unwrap();
    stage.session.wait_for(seen, ended_so(StopReason::EndTurn)).await;
    let events = stage.session.history().await;
    let told = labels(&events).iter().filter(|label| **label == "opencode.compaction").count();
    assert_eq!(told, 2);
    let turn = stage.turn("What do you know?").await;
    assert_eq!(turn.text(), "I know the gist.", "{turn}");
    let heard = stage.model.last().text();
    assert!(!heard.contains("A long story."), "the model still hears it all: {heard}");
    stage.session.history().await;
}

#[tokio::test]
async fn a_fork_knows_what_was_said_and_does_not_tell_it_again() {
    let stage = OPENCODE.stage([Reply::text("Noted."), Reply::text("The apple.")]).await;
    stage.turn("Remember the apple.").await;
    let name = omniglot_testkit::drive::session_id("fork");
    stage.session.client.fork(&stage.session.id, &name).await.unwrap();
    let fork = Driver::of(&stage.daemon.client, "fork");
    let turn = fork.turn("What was it?", PermissionReply::Once).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("The apple.", StopReason::EndTurn), "{turn}");
    assert!(stage.model.last().text().contains("Remember the apple."));
    assert_eq!(text_of(&fork.history().await), "The apple.");
    assert_eq!(text_of(&stage.session.history().await), "Noted.");
}

#[tokio::test]
async fn a_message_that_steers_becomes_part_of_the_running_turn() {
    let (working, gate) = Reply::text("Working.").hold();
    let stage = OPENCODE.stage([working.with(shell("true")), Reply::text("Both are done.")]).await;
    permission_mode(&stage, "bypass").await;
    stage.session.post("Do the first thing.").await;
    gate.reached().await;
    let begun = stage.session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    let mut steer = message("Do the second thing as well.");
    steer.delivery = Some(Delivery::Steer);
    let receipt = stage.session.client.post(&stage.session.id, &steer, None).await.unwrap();
    assert_eq!(receipt.delivered, Delivered::Steered);
    let said = |event: &omniglot_schema::UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => {
            data.item.role == Some(ItemRole::User)
                && data.item.content == [ContentPart::text("Do the second thing as well.")]
        }
        _ => false,
    };
    stage.session.wait_for(begun.sequence, said).await;
    gate.open();
    stage.session.wait_for(begun.sequence, ended_so(StopReason::EndTurn)).await;
    assert!(stage.model.last().text().contains("Do the second thing as well."));
    let events = stage.session.history().await;
    assert_eq!(events.iter().filter(|event| is(UniversalEventType::TurnStarted)(event)).count(), 1);
}
