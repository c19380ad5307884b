//! A person's control of a session beside prompts: stop a command, steer, choose effort and mode; and a model
//! that cannot be reached.

use std::time::{Duration, Instant};

use omniglot_schema::{
    ContentPart, CreateSessionRequest, ErrorCode, EventData, ItemKind, ItemRole, PermissionReply,
    QueueOnCancel, ServerStatus, SessionPatch, StopReason, UniversalEvent, UniversalItem,
};
use omniglot_testkit::agents::{RealAgent, mcp_server};
use omniglot_testkit::daemon::Daemon;
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Model, Reply, Request};
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::{SessionDriver, labels, session_id};

use crate::requests::with_tiny_server;
use crate::{CODEX, ended_so, shell};

/// Whether a process below the daemon runs this command.
fn runs(daemon: &Daemon, command: &str) -> bool {
    daemon.descendants().into_iter().any(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == command
    })
}

fn is_result(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::ItemStarted(data) if data.item.kind == ItemKind::ToolResult)
}

/// Waits until `so` holds; fails after twenty seconds.
async fn until(what: &str, so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(20), "not so after 20 s: {what}");
        tokio::task::yield_now().await;
    }
}

/// A cancel also ends the command that runs.
#[tokio::test]
async fn interrupt_ends_a_running_command() {
    let fixture = CODEX.fixture([shell("exec sleep 98765")]).await;
    fixture.session.post("Wait for ever.").await;
    until("the command runs", || runs(&fixture.daemon, "sleep 98765")).await;
    // Codex ends the command, and only once it has reported it.
    fixture.session.wait_for(0, is_result).await;
    fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::Cancelled)).await;
    until("the command is gone", || !runs(&fixture.daemon, "sleep 98765")).await;
    let next = fixture.answered("Something short.", Reply::text("Short.")).await;
    assert_eq!((next.text().as_str(), next.stop_reason()), ("Short.", StopReason::EndTurn), "{next}");
    fixture.session.history().await;
}

/// Codex reports a command some milliseconds after its start, and cannot end it before.
async fn cancel_as_soon_as_commands_exist(permission_mode: &str, duration: u32) {
    let mode =
        |request: &mut CreateSessionRequest| request.permission_mode = Some(permission_mode.to_owned());
    let fixture = CODEX.fixture_with([], mode).await;
    for duration in duration..duration + 6 {
        let command = format!("sleep {duration}");
        fixture.model.push(shell(&format!("exec {command}")));
        let seen = fixture.session.history().await.len() as u64;
        fixture.session.post("Wait for ever.").await;
        until("the command runs", || runs(&fixture.daemon, &command)).await;
        fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.unwrap();
        fixture.session.wait_for(seen, ended_so(StopReason::Cancelled)).await;
        until("the command is gone", || !runs(&fixture.daemon, &command)).await;
    }
    fixture.session.history().await;
}

#[tokio::test]
async fn a_cancel_as_soon_as_a_command_exists_ends_it_as_well() {
    cancel_as_soon_as_commands_exist("bypass", 98_710).await;
}

#[tokio::test]
async fn a_cancel_as_soon_as_a_command_exists_ends_it_in_its_sandbox_as_well() {
    cancel_as_soon_as_commands_exist("acceptEdits", 98_720).await;
}

#[tokio::test]
async fn a_session_that_is_terminated_leaves_no_process_on_the_server_that_goes_on() {
    let fixture = CODEX.fixture_with([shell("exec sleep 98764")], with_tiny_server).await;
    fixture.session.post("Wait for ever.").await;
    until("the command runs", || runs(&fixture.daemon, "sleep 98764")).await;
    fixture.session.wait_for(0, is_result).await;
    let mcp = mcp_server().join(" ");
    assert!(runs(&fixture.daemon, &mcp));
    fixture.session.client.terminate(&fixture.session.id).await.unwrap();
    let gone = || !runs(&fixture.daemon, "sleep 98764") && !runs(&fixture.daemon, &mcp);
    until("command and MCP server are gone", gone).await;
    let agents = fixture.session.client.agents().await.unwrap().agents;
    let server = agents.iter().find(|agent| agent.id == "codex").unwrap().server_status.as_ref().unwrap();
    assert_eq!(server.status, ServerStatus::Running);
    let turn = fixture.answered("Come back.", Reply::text("Here I am.")).await;
    assert_eq!(turn.text(), "Here I am.", "{turn}");
    fixture.session.history().await;
}

/// A fork begins with what the first session was told.
#[tokio::test]
async fn fork() {
    let fixture = CODEX.fixture([Reply::text("Noted.")]).await;
    fixture.turn("Remember the walrus.").await;
    let copy = SessionDriver::of(&fixture.daemon.client, "copy");
    fixture.session.client.fork(&fixture.session.id, &copy.id).await.unwrap();
    fixture.model.push(Reply::text("The walrus."));
    let turn = copy.turn("What was it?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "The walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("Remember the walrus."));
    let turn = fixture.answered("And you?", Reply::text("I know it, too.")).await;
    assert!(!fixture.model.last().text().contains("What was it?"), "{turn}");
    copy.history().await;
}

/// A conversation is compacted and goes on.
#[tokio::test]
async fn compaction() {
    // The request for a summary is the only one that offers no tools.
    let script = || {
        let summary = |request: &Request| request.tools.is_empty();
        Model::responses().side(summary, Reply::text("They spoke of a walrus."))
    };
    let fixture = Dialect { script, ..CODEX }.fixture([Reply::text("Noted.")]).await;
    fixture.turn("Remember the walrus.").await;
    let seen = fixture.session.history().await.len() as u64;
    fixture.session.client.compact(&fixture.session.id).await.unwrap();
    fixture.session.wait_for(seen, ended_so(StopReason::EndTurn)).await;
    let events = fixture.session.history().await;
    assert!(labels(&events).contains(&"codex.compaction"), "{:?}", labels(&events));
    let turn = fixture.answered("Go on.", Reply::text("Gladly.")).await;
    assert_eq!(turn.text(), "Gladly.", "{turn}");
    assert!(fixture.model.last().text().contains("They spoke of a walrus."));
}

/// Returns the names in Codex's own list of threads, in the order in which they were given.
fn names(fixture: &Fixture) -> Vec<String> {
    let index = fixture.agent.home().join(".codex/session_index.jsonl");
    let lines = std::fs::read_to_string(index).unwrap_or_default();
    let name = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).ok()?["thread_name"].as_str().map(str::to_owned)
    };
    lines.lines().filter_map(name).collect()
}

#[tokio::test]
async fn the_title_of_a_person_reaches_codex() {
    let fixture = CODEX.fixture_with([], |request| request.title = Some("At creation".to_owned())).await;
    let titled = |title: &str| SessionPatch { title: Some(title.to_owned()), ..SessionPatch::default() };
    let (client, id) = (&fixture.session.client, &fixture.session.id);
    fixture.answered("Hello.", Reply::text("Hi.")).await;
    client.patch(id, &titled("By a patch")).await.unwrap();
    until("the patch is heard", || names(&fixture).len() == 2).await;
    let turn = fixture.turn("/rename By a command").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    let fixture = fixture.restart();
    let (client, id) = (&fixture.session.client, &fixture.session.id);
    client.patch(id, &titled("Without a process")).await.unwrap();
    fixture.answered("Hello again.", Reply::text("Hi.")).await;
    until("the new process is told", || names(&fixture).len() == 4).await;
    assert_eq!(names(&fixture), ["At creation", "By a patch", "By a command", "Without a process"]);
    let title = client.detail(id).await.unwrap().state.title;
    assert_eq!(title.as_deref(), Some("Without a process"));
    fixture.session.history().await;
}

/// A message that steers becomes part of the running turn.
#[tokio::test]
async fn steering_a_running_turn() {
    let (working, gate) = Reply::text("Working.").hold();
    let fixture = CODEX.fixture([working.with(shell("true")), Reply::text("Both are done.")]).await;
    fixture.session.post("Do the first thing.").await;
    gate.reached().await;
    let begun = fixture.session.wait_for(0, |event| matches!(event.data, EventData::ItemDelta(_))).await;
    let steering = fixture.steer_as("ann", "Do the second thing as well.").await;
    let is_steering = |item: &UniversalItem| {
        item.role == Some(ItemRole::User)
            && item.content == [ContentPart::text("Do the second thing as well.")]
    };
    let said = |event: &UniversalEvent| matches!(&event.data, EventData::ItemStarted(data) if data.item.role == Some(ItemRole::User));
    fixture.session.wait_for(begun.sequence, said).await;
    gate.open();
    let named = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => is_steering(&data.item) && data.item.native_item_id.is_some(),
        _ => false,
    };
    fixture.session.wait_for(begun.sequence, named).await;
    fixture.session.wait_for(begun.sequence, ended_so(StopReason::EndTurn)).await;
    assert!(fixture.model.last().text().contains("Do the second thing as well."));
    let events = fixture.session.history().await;
    steering.assert_told(&events);
    let turns = events.iter().filter(|event| matches!(event.data, EventData::TurnStarted(_))).count();
    assert_eq!(turns, 1);
}

fn effort(fixture: &Fixture) -> Option<String> {
    fixture.model.last().body["reasoning"]["effort"].as_str().map(str::to_owned)
}

/// The effort that a session asks for is the effort of its model.
#[tokio::test]
async fn variants_effort() {
    let high = |request: &mut CreateSessionRequest| request.variant = Some("high".to_owned());
    let fixture = CODEX.fixture_with([Reply::text("One."), Reply::text("Two.")], high).await;
    fixture.turn("The first.").await;
    assert_eq!(effort(&fixture).as_deref(), Some("high"));
    let low = SessionPatch { variant: Some("low".to_owned()), ..SessionPatch::default() };
    let detail = fixture.session.client.patch(&fixture.session.id, &low).await.unwrap();
    assert_eq!(detail.state.variant.as_deref(), Some("low"));
    fixture.turn("The second.").await;
    assert_eq!(effort(&fixture).as_deref(), Some("low"));
    fixture.session.history().await;
}

#[tokio::test]
async fn plan_mode_is_told_to_the_model_and_left_again() {
    let fixture = CODEX.fixture([Reply::text("I plan."), Reply::text("I build.")]).await;
    let switch = async |mode: &str| {
        let patch = SessionPatch { agent_mode: Some(mode.to_owned()), ..SessionPatch::default() };
        fixture.session.client.patch(&fixture.session.id, &patch).await.unwrap().state.agent_mode
    };
    assert_eq!(switch("plan").await.as_deref(), Some("plan"));
    fixture.turn("Think first.").await;
    assert!(fixture.model.last().system.contains("Plan Mode"), "{}", fixture.model.last().system);
    assert_eq!(switch("build").await.as_deref(), Some("build"));
    let turn = fixture.turn("Now do it.").await;
    assert_eq!(turn.text(), "I build.", "{turn}");
    fixture.session.history().await;
}

#[tokio::test]
async fn what_codex_does_not_have_is_refused_with_what_it_has() {
    let fixture = CODEX.fixture([]).await;
    let client = &fixture.session.client;
    let refused = async |patch: SessionPatch| {
        let request = CreateSessionRequest {
            model: patch.model.clone(),
            variant: patch.variant.clone(),
            agent_mode: patch.agent_mode.clone(),
            permission_mode: patch.permission_mode.clone(),
            ..CreateSessionRequest::new("codex")
        };
        let created = client.create(&session_id("refused"), &request).await.expect_err("no such session");
        let patched = client.patch(&fixture.session.id, &patch).await.expect_err("no such change");
        [created, patched].map(|error| (error.status(), error.to_string()))
    };
    let none = SessionPatch::default;
    let model = Some("gpt-5.5".to_owned());
    let cases = [
        (SessionPatch { model, variant: Some("enormous".to_owned()), ..none() }, "low, medium, high"),
        (SessionPatch { agent_mode: Some("dream".to_owned()), ..none() }, "build, plan"),
        (SessionPatch { permission_mode: Some("yolo".to_owned()), ..none() }, "acceptEdits, plan, bypass"),
    ];
    for (request, allowed) in cases {
        for (status, message) in refused(request).await {
            assert_eq!(status, Some(400), "{message}");
            assert!(message.contains(allowed), "{message}");
        }
    }
}

#[tokio::test]
async fn a_model_that_nobody_can_reach_fails_the_turn_and_not_the_session() {
    let offline = |model: &_| {
        let nowhere = "model_providers.scripted.base_url=\"http://127.0.0.1:9/v1\"";
        RealAgent::codex(model).arg("-c").arg(nowhere)
    };
    let fixture = Dialect { agent: offline, ..CODEX }.fixture([]).await;
    for _ in 0..2 {
        let turn = fixture.turn("Is anybody there?").await;
        assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
        assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::ApiError), "{turn}");
    }
    fixture.session.history().await;
}
