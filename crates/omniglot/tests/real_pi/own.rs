//! Pi beyond the scenarios of all agents: exit codes, files, steering, compaction, levels, forks, and its gate.

use omniglot_schema::{
    ContentPart, Delivered, Delivery, EventData, ItemRole, MessageAttachment, PermissionReply,
    PermissionReplyRequest, SessionPatch, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::Reply;
use omniglot_testkit::session_driver::{SessionDriver, message, session_id, text_of};

use crate::{PI, shell};

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

async fn bypass(fixture: &Fixture) {
    let patch = SessionPatch { permission_mode: Some("bypass".to_owned()), ..SessionPatch::default() };
    fixture.session.client.patch(&fixture.session.id, &patch).await.unwrap();
}

#[tokio::test]
async fn exit_codes() {
    let fixture = PI.fixture([shell("echo out; exit 3"), Reply::text("It failed.")]).await;
    let turn = fixture.turn("Run it.").await;
    let results = turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
        ContentPart::ToolResult { exit_code, is_error, .. } => Some((*exit_code, *is_error)),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [(Some(3), Some(true))], "{turn}");
    fixture.session.history().await;
}

/// A text file that is attached reaches the model.
#[tokio::test]
async fn file_attachments() {
    let fixture = PI.fixture([Reply::text("A walrus.")]).await;
    std::fs::write(fixture.file("animal.txt"), "the walrus sleeps\n").unwrap();
    let mut question = message("Which animal?");
    question.attachments = vec![MessageAttachment { path: "animal.txt".into(), mime: None, filename: None }];
    let turn = fixture.session.turn_with(&question, PermissionReply::Once).await;
    assert_eq!(turn.text(), "A walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("the walrus sleeps"));
    fixture.session.history().await;
}

/// A message that steers becomes part of the running turn.
#[tokio::test]
async fn steering_a_running_turn() {
    let (working, gate) = Reply::text("Working.").hold();
    let fixture = PI.fixture([working.with(shell("true")), Reply::text("Both are done.")]).await;
    bypass(&fixture).await;
    fixture.session.post("Do the first thing.").await;
    gate.reached().await;
    let begun = fixture.session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    let mut steer = message("Do the second thing as well.");
    steer.delivery = Some(Delivery::Steer);
    let receipt = fixture.session.client.post(&fixture.session.id, &steer, None).await.unwrap();
    assert_eq!(receipt.delivered, Delivered::Steered);
    let said = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => {
            data.item.role == Some(ItemRole::User)
                && data.item.content == [ContentPart::text("Do the second thing as well.")]
        }
        _ => false,
    };
    fixture.session.wait_for(begun.sequence, said).await;
    gate.open();
    fixture.session.wait_for(begun.sequence, is(UniversalEventType::TurnEnded)).await;
    assert!(fixture.model.last().text().contains("Do the second thing as well."));
    let events = fixture.session.history().await;
    assert_eq!(events.iter().filter(|event| is(UniversalEventType::TurnStarted)(event)).count(), 1);
}

/// A level that is chosen reaches the model, and one that does not exist is refused.
#[tokio::test]
async fn variants_effort() {
    let fixture = PI.fixture([Reply::text("One.")]).await;
    let patch = |level: &str| SessionPatch { variant: Some(level.to_owned()), ..SessionPatch::default() };
    let client = &fixture.session.client;
    let detail = client.patch(&fixture.session.id, &patch("high")).await.unwrap();
    assert_eq!(detail.state.variant.as_deref(), Some("high"));
    fixture.turn("The first.").await;
    assert!(fixture.model.last().body.get("thinking").is_some(), "{}", fixture.model.last().body);
    let refused = client.patch(&fixture.session.id, &patch("enormous")).await.unwrap_err();
    assert_eq!(refused.status(), Some(400), "{refused}");
    fixture.session.history().await;
}

#[tokio::test]
async fn permissions_reject_with_words() {
    let fixture = PI.fixture([shell("touch made"), Reply::text("Then with cat.")]).await;
    fixture.session.post("Make a file.").await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(permission) = asked.data else { panic!("a permission") };
    let message = Some("Use cat instead.".to_owned());
    let reply = PermissionReplyRequest { reply: PermissionReply::Reject, message };
    let client = &fixture.session.client;
    client.reply_permission(&fixture.session.id, permission.permission_id.as_str(), &reply).await.unwrap();
    fixture.session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    assert!(fixture.model.last().tool_results().concat().contains("Use cat instead."));
    assert!(!fixture.file("made").exists());
    assert_eq!(text_of(&fixture.session.history().await), "Then with cat.");
}

/// A fork knows what was said and does not tell it again.
#[tokio::test]
async fn fork() {
    let fixture = PI.fixture([Reply::text("Noted."), Reply::text("The apple.")]).await;
    fixture.turn("Remember the apple.").await;
    fixture.session.client.fork(&fixture.session.id, &session_id("fork")).await.unwrap();
    let fork = SessionDriver::of(&fixture.daemon.client, "fork");
    let turn = fork.turn("What was it?", PermissionReply::Once).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("The apple.", StopReason::EndTurn), "{turn}");
    assert!(fixture.model.last().text().contains("Remember the apple."));
    assert_eq!(text_of(&fork.history().await), "The apple.");
    assert_eq!(text_of(&fixture.session.history().await), "Noted.");
}

/// The agent may do what it likes to the file of its gate: the next process has the true one.
#[tokio::test]
async fn a_gate_that_was_changed_is_written_anew_before_the_next_start() {
    let fixture = PI.fixture([Reply::text("One."), shell("touch made"), Reply::text("Rejected.")]).await;
    fixture.turn("The first.").await;
    let gate = fixture.daemon.data().join("private/agents/pi/gate.ts");
    std::fs::write(&gate, "export default function () {}\n").unwrap();
    fixture.session.client.terminate(&fixture.session.id).await.unwrap();
    let turn = fixture.session.turn("Make a file.", PermissionReply::Reject).await;
    assert_eq!(turn.asked().len(), 1, "{turn}");
    assert!(!fixture.file("made").exists(), "{turn}");
    assert!(std::fs::read_to_string(gate).unwrap().contains("omniglot-gate"));
}
