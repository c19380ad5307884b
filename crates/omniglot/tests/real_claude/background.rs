//! What goes on behind a turn that has ended, and the turns that nobody asked for.

use omniglot_schema::{EventData, TurnOrigin, UniversalEvent};
use omniglot_testkit::models::{Reply, Request};
use serde_json::json;

use super::CLAUDE;
use super::follow::{now, turn_after};

fn begun_by_agent(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::TurnStarted(turn) if turn.metadata.origin == TurnOrigin::Agent)
}

#[tokio::test]
async fn the_end_of_a_background_command_begins_a_turn_of_the_agent() {
    let waits = "until test -e go; do sleep 0.1; done; echo finished";
    let call = json!({"command": waits, "description": "Wait for it.", "run_in_background": true});
    let stage = CLAUDE.stage([Reply::tool("Bash", call), Reply::text("It runs.")]).await;
    let turn = stage.turn("Run it in the background.").await;
    assert_eq!(turn.text(), "It runs.", "{turn}");
    let from = now(&stage).await;
    stage.model.push(Reply::text("It has finished."));
    std::fs::write(stage.file("go"), "").unwrap();
    let begun = stage.session.wait_for(from, begun_by_agent).await;
    let turn = turn_after(&stage, begun.sequence - 1).await;
    assert_eq!(turn.text(), "It has finished.", "{turn}");
    let next = stage.answered("Thanks.", Reply::text("Welcome.")).await;
    assert_eq!(next.text(), "Welcome.", "{next}");
}

#[tokio::test]
async fn a_subagent_in_the_background_reports_in_a_turn_of_the_agent() {
    let of_subagent = |request: &Request| {
        request.messages.first().is_some_and(|message| message.text().contains("Count to three."))
    };
    let task = json!({"description": "Count", "subagent_type": "general-purpose",
        "run_in_background": true, "prompt": "Count to three."});
    let (report, gate) = Reply::empty().hold();
    let stage = CLAUDE.stage([Reply::tool("Agent", task)]).await;
    stage.model.push(report.and_text("One, two, three.").when(of_subagent));
    stage.model.push(Reply::text("It counts."));
    let turn = stage.turn("Let it count.").await;
    assert_eq!(turn.text(), "It counts.", "{turn}");
    let state = stage.session.client.detail(&stage.session.id).await.unwrap().state;
    assert_eq!(state.subagents.and_then(|list| list.inline().map(<[_]>::len)), Some(1), "{turn}");
    let from = now(&stage).await;
    stage.model.push(Reply::text("It has counted."));
    gate.open();
    let begun = stage.session.wait_for(from, begun_by_agent).await;
    let turn = turn_after(&stage, begun.sequence - 1).await;
    assert!(turn.text().contains("It has counted."), "{turn}");
    let told = serde_json::to_string(&turn.events).unwrap();
    assert!(told.contains("One, two, three."), "{turn}");
    let state = stage.session.client.detail(&stage.session.id).await.unwrap().state;
    assert_eq!(state.subagents, None);
}
