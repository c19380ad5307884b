//! Pi beyond the scenarios of all agents: exit codes, files, steering, compaction, levels and forks.

use omniglot_schema::{
    ContentPart, EventData, ItemRole, MessageAttachment, PermissionReply, PermissionReplyRequest,
    SessionPatch, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::Reply;
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::{SessionDriver, labels, message, session_id, text_of};

use crate::shell;

pub(crate) fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

pub(crate) async fn bypass(fixture: &Fixture) {
    let patch = SessionPatch { permission_mode: Some("bypass".to_owned()), ..SessionPatch::default() };
    fixture.session.client.patch(&fixture.session.id, &patch).await.unwrap();
}

/// Returns how many tokens are in the context, if that is known.
async fn context(fixture: &Fixture) -> Option<u64> {
    let detail = fixture.session.client.detail(&fixture.session.id).await.unwrap();
    detail.state.context.map(|context| context.used)
}

pub(crate) async fn exit_codes(pi: &Dialect) {
    let fixture = pi.fixture([shell("echo out; exit 3"), Reply::text("It failed.")]).await;
    let turn = fixture.turn("Run it.").await;
    let results = turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
        ContentPart::ToolResult { exit_code, is_error, .. } => Some((*exit_code, *is_error)),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [(Some(3), Some(true))], "{turn}");
    fixture.session.history().await;
}

/// A text file that is attached reaches the model.
pub(crate) async fn file_attachments(pi: &Dialect) {
    let fixture = pi.fixture([Reply::text("A walrus.")]).await;
    std::fs::write(fixture.file("animal.txt"), "the walrus sleeps\n").unwrap();
    let mut question = message("Which animal?");
    question.attachments = vec![MessageAttachment { path: "animal.txt".into(), mime: None, filename: None }];
    let turn = fixture.session.turn_with(&question, PermissionReply::Once).await;
    assert_eq!(turn.text(), "A walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("the walrus sleeps"));
    fixture.session.history().await;
}

/// A message that steers becomes part of the running turn.
pub(crate) async fn steering_a_running_turn(pi: &Dialect) {
    let (working, gate) = Reply::text("Working.").hold();
    let fixture = pi.fixture([working.with(shell("true")), Reply::text("Both are done.")]).await;
    bypass(&fixture).await;
    fixture.session.post("Do the first thing.").await;
    gate.reached().await;
    let begun = fixture.session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    let steering = fixture.steer_as("ann", "Do the second thing as well.").await;
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
    steering.assert_told(&events);
    assert_eq!(events.iter().filter(|event| is(UniversalEventType::TurnStarted)(event)).count(), 1);
}

/// A level that is chosen reaches the model, and one that does not exist is refused.
pub(crate) async fn variants_effort(pi: &Dialect) {
    let fixture = pi.fixture([Reply::text("One.")]).await;
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

pub(crate) async fn permissions_reject_with_words(pi: &Dialect) {
    let fixture = pi.fixture([shell("touch made"), Reply::text("Then with cat.")]).await;
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

/// A fork knows what was said and begins with a copy of it.
pub(crate) async fn fork(pi: &Dialect) {
    let fixture = pi.fixture([Reply::text("Noted."), Reply::text("The apple.")]).await;
    fixture.turn("Remember the apple.").await;
    fixture.session.client.fork(&fixture.session.id, &session_id("fork")).await.unwrap();
    let fork = SessionDriver::of(&fixture.daemon.client, "fork");
    let turn = fork.turn("What was it?", PermissionReply::Once).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("The apple.", StopReason::EndTurn), "{turn}");
    assert!(fixture.model.last().text().contains("Remember the apple."));
    assert_eq!(text_of(&fork.history().await), "Noted.The apple.");
    assert_eq!(text_of(&fixture.session.history().await), "Noted.");
}

/// The model hears the summary in place of what was said.
pub(crate) async fn compaction(pi: &Dialect) {
    let fixture = pi.fixture([Reply::text("A long story."), Reply::text("And its end.")]).await;
    fixture.turn("Tell me a story.").await;
    let seen = fixture.turn("Go on.").await.last_sequence();
    let full = context(&fixture).await;
    assert!(full.is_some());
    fixture.session.client.compact(&fixture.session.id).await.unwrap();
    fixture.session.wait_for(seen, is(UniversalEventType::TurnEnded)).await;
    let events = fixture.session.history().await;
    let told = labels(&events).iter().filter(|label| **label == "pi.compaction").count();
    assert_eq!(told, 1, "{:?}", labels(&events));
    assert_ne!(context(&fixture).await, full);
    let turn = fixture.answered("What do you know?", Reply::text("I know the gist.")).await;
    assert_eq!(turn.text(), "I know the gist.", "{turn}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("<summary>") && !heard.contains("A long story."), "{heard}");
    fixture.session.history().await;
}
