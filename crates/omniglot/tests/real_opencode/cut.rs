//! Event streams that are cut in mid-turn: nothing is lost, nothing is emitted twice, and every turn ends.

use omniglot_schema::{
    Connection, ContentPart, CreateSessionRequest, ErrorCode, EventData, ItemKind, PermissionReply,
    StopReason, UniversalEventType,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Gate, Reply, Request};
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::{Turn, text_of};
use serde_json::json;

use crate::sharing::connection_is;
use crate::{OPENCODE, ended_so, is, shell};

const CUTTING: Dialect = Dialect { agent: RealAgent::opencode_behind_a_proxy, ..OPENCODE };

/// Starts a turn, cuts the event stream in the middle of its first answer, and lets that answer end unseen.
async fn cut(fixture: &Fixture, gate: &Gate, after: usize) -> u64 {
    fixture.session.post("Talk.").await;
    gate.reached().await;
    let said = fixture.session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    std::fs::write(fixture.agent.home().join("cut"), "").unwrap();
    let lost = fixture.session.wait_for(said.sequence, connection_is(Some(Connection::Lost))).await;
    gate.open();
    fixture.model.wait_for(after).await;
    lost.sequence
}

#[tokio::test]
async fn what_a_cut_event_stream_has_missed_is_told_once() {
    let (half, gate) = Reply::text("The beginning, ").hold();
    let first = half.and_text("the middle, ").with(shell("echo unheard"));
    let (last, end) = Reply::text("the end.").hold();
    let bypass = |request: &mut CreateSessionRequest| request.permission_mode = Some("bypass".to_owned());
    let fixture = CUTTING.fixture_with([first, last], bypass).await;
    let lost = cut(&fixture, &gate, 2).await;
    end.reached().await;
    std::fs::remove_file(fixture.agent.home().join("cut")).unwrap();
    fixture.session.wait_for(lost, connection_is(Some(Connection::Connected))).await;
    end.open();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    let turn = Turn { events: fixture.session.history().await };
    let told = turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        ContentPart::ToolResult { output, .. } => Some(output.as_str()),
        _ => None,
    });
    let told: Vec<&str> = told.collect();
    assert_eq!(told, ["Talk.", "The beginning, the middle, ", "unheard\n", "the end."], "{turn}");
    let next = fixture.answered("Once more.", Reply::text("Gladly.")).await;
    assert_eq!(next.text(), "Gladly.", "{next}");
    fixture.session.history().await;
}

#[tokio::test]
async fn a_turn_that_ended_unheard_is_ended_when_the_event_stream_is_back() {
    let (half, gate) = Reply::text("The beginning, ").hold();
    let fixture = CUTTING.fixture([half.and_text("the end.")]).await;
    let lost = cut(&fixture, &gate, 1).await;
    std::fs::remove_file(fixture.agent.home().join("cut")).unwrap();
    fixture.session.wait_for(lost, ended_so(StopReason::EndTurn)).await;
    assert_eq!(text_of(&fixture.session.history().await), "The beginning, the end.");
}

#[tokio::test]
async fn a_permission_that_was_asked_unheard_can_be_answered() {
    let (half, gate) = Reply::text("I make a file. ").hold();
    let fixture = CUTTING.fixture([half.with(shell("touch made")), Reply::text("Made.")]).await;
    let lost = cut(&fixture, &gate, 1).await;
    std::fs::remove_file(fixture.agent.home().join("cut")).unwrap();
    let asked = fixture.session.wait_for(lost, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = asked.data else { panic!("a permission") };
    fixture.session.reply(ask.permission_id.as_str(), PermissionReply::Once).await.unwrap();
    fixture.session.wait_for(lost, ended_so(StopReason::EndTurn)).await;
    assert!(fixture.file("made").exists());
    fixture.session.history().await;
}

#[tokio::test]
async fn a_reply_that_the_server_does_not_take_is_409_and_its_request_stays_open() {
    let fixture = CUTTING.fixture([shell("touch made"), Reply::text("Made.")]).await;
    fixture.session.post("Make a file.").await;
    let asked = fixture.session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = asked.data else { panic!("a permission") };
    let reply = || fixture.session.reply(ask.permission_id.as_str(), PermissionReply::Once);
    std::fs::write(fixture.agent.home().join("deny"), "").unwrap();
    let problem = reply().await.unwrap_err().problem().unwrap().clone();
    assert_eq!(problem.status, 409, "{problem:?}");
    assert!(problem.detail.unwrap().ends_with("was not taken: OpenCode answered 500"));
    std::fs::remove_file(fixture.agent.home().join("deny")).unwrap();
    reply().await.unwrap();
    fixture.session.wait_for(0, ended_so(StopReason::EndTurn)).await;
    assert!(fixture.file("made").exists());
    fixture.session.history().await;
}

/// Cuts the event stream before anything is emitted.
async fn deafen(fixture: &Fixture) -> u64 {
    std::fs::write(fixture.agent.home().join("cut"), "").unwrap();
    fixture.session.wait_for(0, connection_is(Some(Connection::Lost))).await.sequence
}

/// Waits until OpenCode has written this into its log: no event of a cut stream can report it.
async fn logged(fixture: &Fixture, words: &str) {
    let log = fixture.agent.home().join(".local/share/opencode/log/opencode.log");
    while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains(words)) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_turn_that_failed_unheard_before_its_first_answer_is_closed() {
    let unknown = |request: &mut CreateSessionRequest| {
        request.model = Some("scripted/no-such-model".to_owned());
        request.force = true;
    };
    let fixture = CUTTING.fixture_with([], unknown).await;
    let lost = deafen(&fixture).await;
    fixture.session.post("Speak.").await;
    logged(&fixture, "Model not found").await;
    std::fs::remove_file(fixture.agent.home().join("cut")).unwrap();
    fixture.session.wait_for(lost, ended_so(StopReason::Error)).await;
    let turn = Turn { events: fixture.session.history().await };
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::Unknown), "{turn}");
}

#[tokio::test]
async fn a_subagent_that_worked_unheard_is_told_below_its_call() {
    let task = json!({"description": "Looks", "prompt": "Look for the walrus.", "subagent_type": "general"});
    let to_child =
        |request: &Request| request.text().contains("walrus") && !request.text().contains("Delegate");
    let (last, end) = Reply::text("It is asleep.").hold();
    let replies = [Reply::tool("task", task), Reply::text("The walrus sleeps.").when(to_child), last];
    let fixture = CUTTING.fixture(replies).await;
    let lost = deafen(&fixture).await;
    fixture.session.post("Delegate it.").await;
    end.reached().await;
    std::fs::remove_file(fixture.agent.home().join("cut")).unwrap();
    fixture.session.wait_for(lost, connection_is(Some(Connection::Connected))).await;
    end.open();
    fixture.session.wait_for(lost, ended_so(StopReason::EndTurn)).await;
    let turn = Turn { events: fixture.session.history().await };
    assert_eq!(turn.text(), "The walrus sleeps.It is asleep.", "{turn}");
    let said =
        |kind| turn.items().iter().filter(|item| item.parent_id.is_some() && item.kind == kind).count();
    assert_eq!((said(ItemKind::Message), said(ItemKind::Status)), (1, 1), "one answer in one step: {turn}");
    assert!(turn.ended().usage_subagents.is_some(), "{turn}");
}

#[tokio::test]
async fn what_was_said_before_a_restart_is_not_told_again_after_a_cut() {
    let fixture = CUTTING.fixture([Reply::text("Noted.")]).await;
    fixture.turn("Remember the apple.").await;
    let fixture = fixture.restart();
    let (half, gate) = Reply::text("The beginning, ").hold();
    fixture.model.push(half.and_text("the end."));
    let lost = cut(&fixture, &gate, 2).await;
    std::fs::remove_file(fixture.agent.home().join("cut")).unwrap();
    fixture.session.wait_for(lost, ended_so(StopReason::EndTurn)).await;
    assert_eq!(text_of(&fixture.session.history().await), "Noted.The beginning, the end.");
}
