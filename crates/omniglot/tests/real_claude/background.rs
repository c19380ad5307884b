//! Background work after the end of a turn, and turns that the agent starts by itself.

use omniglot_schema::{
    Connection, CreateSessionRequest, EventData, ItemStatus, PermissionReply, PermissionStatus,
    QueueOnCancel, SessionStatus, StopReason, TurnOrigin, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Gate, Model, Reply, Request};
use omniglot_testkit::session_driver::{SessionDriver, Turn};
use serde_json::json;

use super::CLAUDE;
use super::follow::{is, now, turn_after};

fn begun_by_agent(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::TurnStarted(turn) if turn.metadata.origin == TurnOrigin::Agent)
}

#[tokio::test]
async fn the_end_of_a_background_command_begins_a_turn_of_the_agent() {
    let waits = "until test -e go; do sleep 0.1; done; echo finished";
    let call = json!({"command": waits, "description": "Wait for it.", "run_in_background": true});
    let fixture = CLAUDE.fixture([Reply::tool("Bash", call), Reply::text("It runs.")]).await;
    let turn = fixture.turn("Run it in the background.").await;
    assert_eq!(turn.text(), "It runs.", "{turn}");
    let from = now(&fixture).await;
    fixture.model.push(Reply::text("It has finished."));
    std::fs::write(fixture.file("go"), "").unwrap();
    let begun = fixture.session.wait_for(from, begun_by_agent).await;
    let turn = turn_after(&fixture, begun.sequence - 1).await;
    assert_eq!(turn.text(), "It has finished.", "{turn}");
    let next = fixture.answered("Thanks.", Reply::text("Welcome.")).await;
    assert_eq!(next.text(), "Welcome.", "{next}");
}

/// A subagent in the background reports in a turn of the agent.
#[tokio::test]
async fn turns_that_the_agent_begins() {
    let of_subagent = |request: &Request| {
        request.messages.first().is_some_and(|message| message.text().contains("Count to three."))
    };
    let task = json!({"description": "Count", "subagent_type": "general-purpose",
        "run_in_background": true, "prompt": "Count to three."});
    let (report, gate) = Reply::empty().hold();
    let fixture = CLAUDE.fixture([Reply::tool("Agent", task)]).await;
    fixture.model.push(report.and_text("One, two, three.").when(of_subagent));
    fixture.model.push(Reply::text("It counts."));
    let turn = fixture.turn("Let it count.").await;
    assert_eq!(turn.text(), "It counts.", "{turn}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    assert_eq!(state.subagents.and_then(|list| list.inline().map(<[_]>::len)), Some(1), "{turn}");
    let from = now(&fixture).await;
    fixture.model.push(Reply::text("It has counted."));
    gate.open();
    let begun = fixture.session.wait_for(from, begun_by_agent).await;
    let turn = turn_after(&fixture, begun.sequence - 1).await;
    assert!(turn.text().contains("It has counted."), "{turn}");
    let told = serde_json::to_string(&turn.events).unwrap();
    assert!(told.contains("One, two, three."), "{turn}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    assert_eq!(state.subagents, None);
}

/// Starts a subagent that is to make a file; the main thread continues when the gate opens.
async fn delegated() -> (Fixture, Gate) {
    let task = json!({"description": "Make", "subagent_type": "general-purpose",
        "run_in_background": true, "prompt": MAKE});
    let (goes_on, gate) = Reply::empty().hold();
    let fixture = CLAUDE.fixture([Reply::tool("Agent", task)]).await;
    fixture.model.push((CLAUDE.make)(&fixture.file("made")).when(of_maker));
    fixture.model.push(goes_on.and_text("It works."));
    (fixture, gate)
}

const MAKE: &str = "Make the file.";

fn of_maker(request: &Request) -> bool {
    request.messages.first().is_some_and(|message| message.text().contains(MAKE))
}

/// Whether this is the accounting of the CLI's result, whether the turn ends with it or not.
fn is_account(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::SessionUpdated(patch) if patch.context.is_some())
}

#[tokio::test]
async fn a_turn_waits_for_the_permission_that_a_subagent_in_the_background_needs() {
    let (fixture, gate) = delegated().await;
    let from = now(&fixture).await;
    fixture.session.post("Let it work.").await;
    let asked = fixture.session.wait_for(from, is(UniversalEventType::PermissionRequested)).await;
    gate.open();
    fixture.session.wait_for(asked.sequence, is_account).await;
    let detail = fixture.session.client.detail(&fixture.session.id).await.unwrap();
    assert_eq!(detail.status, SessionStatus::Waiting, "the CLI is done, the person is still asked");
    fixture.model.push(Reply::text("Made.").when(of_maker));
    fixture.model.push(Reply::text("It has made it."));
    let EventData::PermissionRequested(asked) = asked.data else { panic!("{asked:?}") };
    fixture.session.reply(asked.permission_id.as_str(), PermissionReply::Once).await.unwrap();
    let ended = fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await.sequence;
    // The subagent continues, and the CLI reports once more when it is done.
    let reported = turn_after(&fixture, ended).await;
    assert!(reported.events.iter().any(begun_by_agent), "{reported}");
    assert!(reported.text().contains("It has made it."), "{reported}");
    let mut turn = Turn { events: fixture.session.history().await };
    turn.events.retain(|event| event.sequence > from && event.sequence <= ended);
    let resolved = turn.events.iter().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => Some(data.status),
        _ => None,
    });
    assert_eq!(resolved, Some(PermissionStatus::Accept), "{turn}");
    assert!(turn.items().iter().all(|item| item.status == ItemStatus::Completed), "{turn}");
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    assert!(fixture.file("made").exists());
}

#[tokio::test]
async fn a_turn_that_waits_for_a_subagent_in_the_background_is_cancelled() {
    let (fixture, gate) = delegated().await;
    let from = now(&fixture).await;
    fixture.session.post("Let it work.").await;
    let asked = fixture.session.wait_for(from, is(UniversalEventType::PermissionRequested)).await;
    gate.open();
    fixture.session.wait_for(asked.sequence, is_account).await;
    // A subagent that is refused may or may not emit a last text, and so may the CLI.
    fixture.model.push(Reply::text("So be it.").forever());
    fixture.session.client.cancel(&fixture.session.id, QueueOnCancel::Keep).await.unwrap();
    let ended = fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(ended) = ended.data else { panic!("{ended:?}") };
    assert_eq!(ended.metadata.stop_reason, StopReason::Cancelled);
    assert!(!fixture.file("made").exists());
    // The CLI may begin a turn of its own about the end of its subagent, which nobody waits for.
    fixture.session.client.terminate(&fixture.session.id).await.unwrap();
}

#[tokio::test]
async fn a_process_with_a_command_in_the_background_does_not_rest() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model);
    let config = format!("[limits]\nidle_seconds = 1\n\n{}", agent.toml());
    let daemon = Setup::new(CLAUDE.program).config(config).start();
    let create = async |name| {
        SessionDriver::create_with(&daemon.client, name, &CreateSessionRequest::new("claude")).await
    };
    let (tends, rests) = (create("tends").await, create("rests").await);
    let go = daemon.work().join("go");
    let waits = format!("until test -e {}; do sleep 0.1; done", go.display());
    let call = json!({"command": waits, "description": "Wait for it.", "run_in_background": true});
    model.push(Reply::tool("Bash", call));
    model.push(Reply::text("It runs."));
    let from = tends.turn("Run it.", PermissionReply::Once).await.last_sequence();
    model.push(Reply::text("Hello."));
    rests.turn("Hi.", PermissionReply::Once).await;
    // The process that worked last is stopped as idle; the other would be, too, without its background work.
    let ended = |event: &UniversalEvent| matches!(&event.data, EventData::SessionUpdated(patch) if patch.connection == Some(None));
    rests.wait_for(0, ended).await;
    let state = daemon.client.detail(&tends.id).await.unwrap().state;
    assert_eq!(state.connection, Some(Connection::Connected));
    model.push(Reply::text("It has ended."));
    std::fs::write(go, "").unwrap();
    tends.wait_for(from, is(UniversalEventType::TurnEnded)).await;
    tends.wait_for(from, ended).await;
    tends.history().await;
    drop(daemon);
}
