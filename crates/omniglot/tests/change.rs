//! Changes of a running session: its title, model, effort and modes, a compact context, a copy.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_client::ClientError;
use omniglot_schema::{
    ContentPart, CreateSessionRequest, Delivered, Delivery, EventData, ItemId, MessageRequest,
    PermissionReply, QueueOnCancel, SessionDetail, SessionPatch, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, Turn, message, session_id, status_of};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

/// A daemon whose agent `odd` runs a script of a few lines.
fn odd_daemon(script: &str, more: &str) -> Daemon {
    let command = serde_json::to_string(script).unwrap();
    let config = format!("{more}\n[agents.odd]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {command}]\n");
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

fn model(id: &str) -> SessionPatch {
    SessionPatch { model: Some(id.into()), ..SessionPatch::default() }
}

fn permission_mode(id: &str) -> SessionPatch {
    SessionPatch { permission_mode: Some(id.into()), ..SessionPatch::default() }
}

fn variant(id: &str) -> SessionPatch {
    SessionPatch { variant: Some(id.into()), ..SessionPatch::default() }
}

async fn patch(session: &SessionDriver, patch: SessionPatch) -> SessionDetail {
    session.client.patch(&session.id, &patch).await.expect("the change is taken")
}

/// Returns the message of a refused change.
async fn refusal(session: &SessionDriver, patch: SessionPatch) -> String {
    let before = session.client.detail(&session.id).await.unwrap();
    match session.client.patch(&session.id, &patch).await {
        Err(ClientError::Problem(problem)) => {
            assert_eq!(problem.status, 400, "{problem:?}");
            assert!(problem.r#type.ends_with(":mode_not_supported"), "{problem:?}");
            let after = session.client.detail(&session.id).await.unwrap();
            assert_eq!(
                (after.info.model, after.info.agent_mode),
                (before.info.model, before.info.agent_mode)
            );
            problem.detail.unwrap_or_default()
        }
        other => panic!("{other:?}"),
    }
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

fn model_of(turn: &Turn) -> Option<String> {
    match &turn.events.last().unwrap().data {
        EventData::TurnEnded(end) => end.metadata.model.clone(),
        other => panic!("the turn ends with {other:?}"),
    }
}

fn asks(turn: &Turn) -> bool {
    turn.events.iter().any(is(UniversalEventType::PermissionRequested))
}

/// Returns the details of the status items with this label.
fn told(events: &[UniversalEvent], label: &str) -> Vec<String> {
    let parts = events.iter().flat_map(|event| match &event.data {
        EventData::ItemCompleted(data) => data.item.content.clone(),
        _ => vec![],
    });
    let detail = |part| match part {
        ContentPart::Status { label: of, detail, .. } if of == label => Some(detail.unwrap_or_default()),
        _ => None,
    };
    parts.filter_map(detail).collect()
}

#[tokio::test]
async fn a_free_agent_takes_a_change_at_once() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    assert!(asks(&session.turn("[[permission]]", PermissionReply::Once).await));
    let changed = SessionPatch {
        title: Some("Renamed".into()),
        model: Some("mock-large".into()),
        variant: Some("high".into()),
        permission_mode: Some("bypass".into()),
        ..SessionPatch::default()
    };
    let info = patch(&session, changed).await.info;
    assert_eq!((info.title.as_deref(), info.model.as_deref()), (Some("Renamed"), Some("mock-large")));
    assert_eq!((info.variant.as_deref(), info.permission_mode.as_str()), (Some("high"), "bypass"));
    assert_eq!(info.agent_mode, "bypass");
    let turn = session.turn("[[permission]]", PermissionReply::Once).await;
    assert!(!asks(&turn));
    assert_eq!(model_of(&turn).as_deref(), Some("mock-large"));

    // A mode of the agent's own takes the permission mode with it; a model without efforts has none.
    let plan = SessionPatch { agent_mode: Some("plan".into()), ..model("mock-small") };
    let info = patch(&session, plan).await.info;
    assert_eq!((info.agent_mode.as_str(), info.permission_mode.as_str()), ("plan", "plan"));
    assert_eq!(info.variant, None);
    let build = SessionPatch { agent_mode: Some("build".into()), ..SessionPatch::default() };
    assert_eq!(patch(&session, build).await.info.agent_mode, "default");
    let untitled = SessionPatch { title: Some(String::new()), ..SessionPatch::default() };
    assert_eq!(
        patch(&session, untitled).await.info.title.as_deref(),
        Some("[[permission]]"),
        "its first prompt"
    );
    session.history().await;
}

#[tokio::test]
async fn what_the_agent_cannot_change_is_refused_with_what_it_can() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let modes = "its modes are default, acceptEdits, plan, bypass";
    assert!(refusal(&session, permission_mode("wild")).await.contains(modes));
    let both = SessionPatch { agent_mode: Some("plan".into()), ..permission_mode("bypass") };
    assert!(refusal(&session, both).await.contains(modes));
    assert!(refusal(&session, variant("high")).await.contains("no efforts"));
    patch(&session, model("mock-large")).await;
    assert!(refusal(&session, variant("enormous")).await.contains("low, high"));

    // The same holds when no agent runs.
    daemon.client.terminate(&session.id).await.unwrap();
    assert!(refusal(&session, permission_mode("wild")).await.contains(modes));
    assert!(refusal(&session, variant("enormous")).await.contains("low, high"));

    let empty = daemon.client.patch(&session.id, &model("")).await;
    assert_eq!(status_of(empty), 400);
    let unknown = daemon.client.patch(&session_id("nobody"), &model("mock-large")).await;
    assert_eq!(status_of(unknown), 404);
    let typing_error = reqwest::Client::new()
        .patch(format!("{}/v1/sessions/s", daemon.url))
        .bearer_auth(&daemon.token)
        .header("content-type", "application/json")
        .body(r#"{"modle":"mock-large"}"#);
    let answer = typing_error.send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await.unwrap().contains("modle"));
    session.history().await;
}

/// B9: nobody works with another model than the requested one without a word.
#[tokio::test]
async fn an_unknown_model_is_refused_with_the_nearest_names_unless_it_is_forced() {
    let daemon = daemon();
    let giant = |force: bool| CreateSessionRequest {
        model: Some("mock-lage".into()),
        force,
        ..CreateSessionRequest::new("mock")
    };
    let refused = daemon.client.create(&session_id("s"), &giant(false)).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!(problem.status, 400, "{problem:?}");
    assert!(
        problem.detail.as_deref().unwrap().ends_with("mock-lage; did you mean mock-large?"),
        "{problem:?}"
    );
    assert!(problem.hint.as_deref().unwrap().contains("mock-small, mock-large; `force`"), "{problem:?}");
    // The agent decides: this one has no model that it does not list.
    assert_eq!(status_of(daemon.client.create(&session_id("s"), &giant(true)).await), 400);
    assert_eq!(status_of(daemon.client.detail(&session_id("s")).await), 404);

    let session = SessionDriver::create(&daemon.client, "s").await;
    assert!(refusal(&session, model("mock-giant")).await.contains("does not list the model mock-giant"));
    let forced = SessionPatch { force: true, ..model("mock-giant") };
    assert!(refusal(&session, forced.clone()).await.contains("refused the setting model"));

    let daemon = restarted(daemon);
    let session = SessionDriver::of(&daemon.client, "s");
    assert!(refusal(&session, model("mock-giant")).await.contains("does not list the model mock-giant"));
    let before = told(&session.history().await, "mock.warning").len();
    let detail = patch(&session, forced).await;
    assert_eq!(detail.info.model.as_deref(), Some("mock-giant"));
    let turn = session.turn("[[text:1]]", PermissionReply::Once).await;
    assert_eq!(model_of(&turn).as_deref(), Some("mock-small"));
    assert_eq!(told(&session.history().await, "mock.warning").len(), before + 2);
}

/// B9: what an agent offers may be known only after a login; then the first turn tells.
#[tokio::test]
async fn an_unknown_model_of_an_agent_without_a_login_fails_the_first_turn() {
    let dir = tempfile::tempdir().unwrap();
    let login = dir.path().join("login");
    let script = format!(
        r#"read l; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1}}}}'
read l
if [ -e {login:?} ]; then
echo '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"x","models":{{"currentModelId":"small","availableModels":[{{"modelId":"small"}}]}}}}}}'
else
echo '{{"jsonrpc":"2.0","id":2,"error":{{"code":-32000,"message":"Authentication required"}}}}'
fi
read l"#
    );
    let daemon = odd_daemon(&script, "");
    let request = CreateSessionRequest { model: Some("smal".into()), ..CreateSessionRequest::new("odd") };
    let created = daemon.client.create(&session_id("s"), &request).await.unwrap();
    assert!(!created.healthy, "{created:?}");
    std::fs::write(&login, "").unwrap();
    let session = SessionDriver::of(&daemon.client, "s");
    let turn = session.turn("Hello.", PermissionReply::Once).await;
    let error = turn.error().expect("an error");
    assert!(error.message.contains("does not list the model smal; did you mean small?"), "{error:?}");
    session.history().await;
}

fn restarted(mut daemon: Daemon) -> Daemon {
    daemon.stop();
    daemon.restart()
}

#[tokio::test]
async fn a_change_during_a_turn_holds_from_the_next_prompt() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    session.post("[[permission]]").await;
    let bypass = SessionPatch { permission_mode: Some("bypass".into()), ..model("mock-large") };
    let detail = patch(&session, bypass).await;
    assert_eq!(detail.info.model.as_deref(), Some("mock-large"));
    // A later change joins it.
    let detail = patch(&session, variant("high")).await;
    assert_eq!(
        (detail.info.variant.as_deref(), detail.info.permission_mode.as_str()),
        (Some("high"), "bypass")
    );
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let first = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let second = session.wait_for(first.sequence, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &second.data else { unreachable!() };
    assert_eq!(end.metadata.model.as_deref(), Some("mock-large"));
    let events = session.history().await;
    assert!(!events.iter().any(is(UniversalEventType::PermissionRequested)));
    assert_eq!(daemon.client.detail(&session.id).await.unwrap().info.variant.as_deref(), Some("high"));
}

#[tokio::test]
async fn a_change_during_a_turn_that_is_refused_later_is_taken_back() {
    let daemon = daemon();
    let session = SessionDriver::create_with(
        &daemon.client,
        "s",
        &CreateSessionRequest { model: Some("mock-small".into()), ..CreateSessionRequest::new("mock") },
    )
    .await;
    session.post("[[silence]]").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    // It is not known yet that this model has no efforts.
    assert_eq!(patch(&session, variant("high")).await.info.variant.as_deref(), Some("high"));
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    session
        .wait_for(0, |event| match &event.data {
            EventData::SessionUpdated(patch) => patch.variant == Some(None),
            _ => false,
        })
        .await;
    let detail = daemon.client.detail(&session.id).await.unwrap();
    assert_eq!((detail.info.variant, detail.info.model.as_deref()), (None, Some("mock-small")));
    let turn = session.turn("[[text:1]]", PermissionReply::Once).await;
    assert_eq!(model_of(&turn).as_deref(), Some("mock-small"));
    let events = session.history().await;
    assert!(told(&events, "mock.warning").iter().any(|words| words.contains("no efforts")), "{events:?}");
}

#[tokio::test]
async fn a_change_during_a_turn_outlives_the_daemon() {
    let mut daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    patch(&session, model("mock-large")).await;
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let turn = session.turn("[[text:1]]", PermissionReply::Once).await;
    assert_eq!(model_of(&turn).as_deref(), Some("mock-large"));
    session.history().await;
}

#[tokio::test]
async fn a_change_without_a_process_outlives_the_daemon() {
    let daemon = daemon();
    let request = CreateSessionRequest {
        model: Some("mock-small".into()),
        permission_mode: Some("acceptEdits".into()),
        ..CreateSessionRequest::new("mock")
    };
    let session = SessionDriver::create_with(&daemon.client, "s", &request).await;
    session.turn("[[text:1]]", PermissionReply::Once).await;

    let daemon = restarted(daemon);
    let session = SessionDriver::of(&daemon.client, "s");
    let large = SessionPatch { variant: Some("high".into()), ..model("mock-large") };
    patch(&session, large).await;
    let mut daemon = daemon;
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let info = daemon.client.detail(&session.id).await.unwrap().info;
    assert_eq!((info.model.as_deref(), info.variant.as_deref()), (Some("mock-large"), Some("high")));
    patch(&session, permission_mode("bypass")).await;
    let turn = session.turn("[[permission]]", PermissionReply::Once).await;
    assert!(!asks(&turn));
    assert_eq!(model_of(&turn).as_deref(), Some("mock-large"));

    // So does a change of an ended session.
    daemon.client.terminate(&session.id).await.unwrap();
    patch(&session, permission_mode("default")).await;
    assert!(asks(&session.turn("[[permission]]", PermissionReply::Once).await));
    let info = daemon.client.detail(&session.id).await.unwrap().info;
    assert_eq!((info.agent_mode.as_str(), info.variant.as_deref()), ("default", Some("high")));
    session.history().await;
}

#[tokio::test]
async fn an_effort_can_be_chosen_when_a_session_is_made() {
    let daemon = daemon();
    let request = |model: &str, variant: &str| CreateSessionRequest {
        model: Some(model.into()),
        variant: Some(variant.into()),
        ..CreateSessionRequest::new("mock")
    };
    let session = SessionDriver::create_with(&daemon.client, "s", &request("mock-large", "high")).await;
    let detail = daemon.client.detail(&session.id).await.unwrap();
    assert_eq!(detail.state.variant.as_deref(), Some("high"));
    for (model, variant) in [("mock-large", "enormous"), ("mock-small", "high")] {
        let refused = daemon.client.create(&session_id("t"), &request(model, variant)).await;
        assert_eq!(status_of(refused), 400);
    }
    assert_eq!(status_of(daemon.client.detail(&session_id("t")).await), 404);
    session.history().await;
}

const OPEN: &str = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read l; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"x","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}}}'
read l
"#;

#[tokio::test]
async fn an_agent_that_lists_a_mode_and_refuses_it_has_the_last_word() {
    let refuse = r#"echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"not today"}}'; read l"#;
    let daemon = odd_daemon(&format!("{OPEN}{refuse}"), "");
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await;
    assert!(refusal(&session, permission_mode("code")).await.contains("not today"));
    assert!(refusal(&session, model("any")).await.contains("no choice of models"));
    session.history().await;
}

#[tokio::test]
async fn an_agent_that_does_not_answer_a_change_keeps_nobody_waiting_for_ever() {
    let daemon = odd_daemon(&format!("{OPEN}read l"), "[limits]\nhandshake_seconds = 1");
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await;
    let silent = daemon.client.patch(&session.id, &permission_mode("code")).await;
    assert_eq!(status_of(silent), 504);
    session.history().await;
}

#[tokio::test]
async fn an_agent_that_dies_of_a_change_is_told() {
    let daemon = odd_daemon(&format!("{OPEN}exit 3"), "");
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await;
    let died = daemon.client.patch(&session.id, &permission_mode("code")).await;
    assert_eq!(status_of(died), 500);
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    session.history().await;
}

#[tokio::test]
async fn steering_is_queued_where_the_agent_cannot_and_the_receipt_says_so() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[silence]]").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    let deliver = |delivery| MessageRequest { delivery: Some(delivery), ..message("[[text:1]]") };
    let steered = daemon.client.post(&session.id, &deliver(Delivery::Steer), None).await.unwrap();
    assert_eq!(steered.delivered, Delivered::Queued);
    let rejected = daemon.client.post(&session.id, &deliver(Delivery::Reject), None).await;
    assert_eq!(status_of(rejected), 409);
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let first = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    session.wait_for(first.sequence, is(UniversalEventType::TurnEnded)).await;
    let steered = daemon.client.post(&session.id, &deliver(Delivery::Steer), None).await.unwrap();
    assert_eq!(steered.delivered, Delivered::Started);
    let all = session.wait_for(first.sequence, |event| {
        matches!(&event.data, EventData::TurnStarted(turn) if turn.metadata.message_id.as_ref() == Some(&steered.message_id))
    });
    let third = all.await;
    session.wait_for(third.sequence, is(UniversalEventType::TurnEnded)).await;
    session.history().await;
}

#[tokio::test]
async fn a_context_is_compacted_where_the_agent_lists_a_command_for_it() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    assert_eq!(status_of(daemon.client.compact(&session.id).await), 400);
    session.turn("[[text:500]] [[commands]]", PermissionReply::Once).await;
    session.turn("[[usage]]", PermissionReply::Once).await;
    let before = daemon.client.detail(&session.id).await.unwrap().state.context.unwrap();
    let after = session.history().await.last().unwrap().sequence;
    let receipt = daemon.client.compact(&session.id).await.unwrap();
    assert_eq!(receipt.delivered, Delivered::Started);
    session.wait_for(after, is(UniversalEventType::TurnEnded)).await;
    assert_eq!(told(&session.history().await, "mock.compaction").len(), 1);
    let now = daemon.client.detail(&session.id).await.unwrap().state.context.unwrap();
    assert!(now.used < before.used, "{} is not less than {}", now.used, before.used);
    assert_eq!(status_of(daemon.client.compact(&session_id("nobody")).await), 404);
}

#[tokio::test]
async fn a_fork_remembers_what_was_said_and_goes_its_own_way() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("First words [[text:1]]", PermissionReply::Once).await;
    patch(&session, model("mock-large")).await;
    let copied = daemon.client.fork(&session.id, &session_id("t")).await.unwrap();
    assert!(copied.healthy);
    let copy = SessionDriver::of(&daemon.client, "t");
    let info = daemon.client.detail(&copy.id).await.unwrap().info;
    assert_eq!(info.native_session_id, copied.native_session_id);
    assert_ne!(
        info.native_session_id,
        daemon.client.detail(&session.id).await.unwrap().info.native_session_id
    );
    assert_eq!(info.model.as_deref(), Some("mock-large"));
    let events = copy.history().await;
    let EventData::SessionStarted(started) = &events[0].data else { panic!("{:?}", events[0]) };
    let metadata = started.metadata.clone().unwrap();
    assert_eq!((metadata.forked_from, metadata.resumed), (Some(session.id.clone()), None));
    assert_eq!(info.forked_from, Some(session.id.clone()));
    assert_eq!(info.title.as_deref(), Some("First words [[text:1]]"));
    assert_copy(&session.history().await, &events);

    let earlier = |turn: Turn| turn.text();
    let recalled = earlier(copy.turn("[[recall]]", PermissionReply::Once).await);
    assert!(recalled.contains("Earlier prompts: 1. The first was: First words"), "{recalled}");
    let recalled = earlier(session.turn("[[recall]]", PermissionReply::Once).await);
    assert!(recalled.contains("Earlier prompts: 1."), "{recalled}");
    assert_eq!(status_of(daemon.client.fork(&session.id, &session_id("t")).await), 409);
    assert_eq!(status_of(daemon.client.fork(&session_id("nobody"), &session_id("u")).await), 404);
    let last = session.history().await.into_iter().rev().find_map(|event| match event.data {
        EventData::TurnStarted(data) => Some(data.turn_id),
        _ => None,
    });
    let refused = daemon.client.fork_before(&session.id, &session_id("u"), last).await.unwrap_err();
    assert!(refused.to_string().contains("as a whole"), "{refused}");
    assert_eq!(status_of(daemon.client.detail(&session_id("u")).await), 404);

    // A copy is resumed as itself.
    let daemon = restarted(daemon);
    let copy = SessionDriver::of(&daemon.client, "t");
    let recalled = earlier(copy.turn("[[recall]]", PermissionReply::Once).await);
    assert!(recalled.contains("Earlier prompts: 2."), "{recalled}");
    copy.history().await;
    SessionDriver::of(&daemon.client, "s").history().await;
}

/// The fork begins with what was said in its origin: the same words and times under other ids.
#[track_caller]
fn assert_copy(origin: &[UniversalEvent], fork: &[UniversalEvent]) {
    let copies: Vec<_> = fork.iter().filter(|event| event.copied_from().is_some()).collect();
    assert_eq!(copies.iter().map(|event| event.sequence).collect::<Vec<_>>()[..2], [2, 3]);
    for copy in &copies {
        let from = copy.copied_from().unwrap();
        let before = &origin[usize::try_from(from.sequence).unwrap() - 1];
        assert_eq!((before.kind(), before.time), (copy.kind(), copy.time));
        assert_ne!(before.event_id, copy.event_id);
    }
    let said = |events: &mut dyn Iterator<Item = &UniversalEvent>| -> Vec<(ItemId, Vec<ContentPart>)> {
        let completed = events.filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some((data.item.item_id.clone(), data.item.content.clone())),
            _ => None,
        });
        completed.collect()
    };
    let (before, after) = (said(&mut origin.iter()), said(&mut copies.into_iter()));
    assert_eq!(before.len(), after.len());
    for ((old_id, old), (new_id, new)) in before.into_iter().zip(after) {
        assert_ne!(old_id, new_id);
        assert_eq!(old, new);
    }
}

#[tokio::test]
async fn a_fork_in_mid_turn_begins_with_the_turns_that_are_over() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    session.post("[[permission]]").await;
    session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    daemon.client.fork(&session.id, &session_id("t")).await.unwrap();
    let copy = SessionDriver::of(&daemon.client, "t");
    let kinds: Vec<_> = copy.history().await.iter().map(UniversalEvent::kind).collect();
    let count = |wanted| kinds.iter().filter(|kind| **kind == wanted).count();
    assert_eq!((count(UniversalEventType::TurnStarted), count(UniversalEventType::TurnEnded)), (1, 1));
    assert!(daemon.client.detail(&copy.id).await.unwrap().pending.is_empty());
    // A fork of the fork has it all.
    copy.turn("[[text:1]]", PermissionReply::Once).await;
    daemon.client.fork(&copy.id, &session_id("u")).await.unwrap();
    let copy = SessionDriver::of(&daemon.client, "u").history().await;
    assert_eq!(copy.iter().filter(|event| event.kind() == UniversalEventType::TurnEnded).count(), 2);
}

#[tokio::test]
async fn an_agent_that_cannot_fork_is_refused() {
    let daemon = odd_daemon(OPEN, "");
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await;
    assert_eq!(status_of(daemon.client.fork(&session.id, &session_id("t")).await), 400);
    assert_eq!(status_of(daemon.client.compact(&session.id).await), 400);
    assert_eq!(status_of(daemon.client.detail(&session_id("t")).await), 404);
}
