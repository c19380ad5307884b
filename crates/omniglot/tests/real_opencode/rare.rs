//! Features that OpenCode has only with some providers, or with a variable of its own.

use std::path::Path;

use omniglot_schema::{
    ContentPart, EventData, ItemKind, QuestionReplyRequest, ReasoningVisibility, StopReason,
};
use omniglot_schema::{UniversalEvent, UniversalEventType};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::models::{Model, Reply, Request};
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::{Turn, labels};
use serde_json::json;

use crate::{OPENCODE, ended_so, is};

/// A thought that only its maker can read is private.
#[tokio::test]
async fn reasoning_that_is_not_shown() {
    let dialect = Dialect { script: Model::anthropic, agent: RealAgent::opencode_with_anthropic, ..OPENCODE };
    let fixture = dialect.fixture([Reply::empty().and_redacted_thinking().and_text("I have thought.")]).await;
    let turn = fixture.turn("Think.").await;
    let thoughts = turn.items().into_iter().flat_map(|item| &item.content).filter_map(|part| match part {
        ContentPart::Reasoning { text, visibility } => Some((text.as_str(), *visibility)),
        _ => None,
    });
    assert_eq!(thoughts.collect::<Vec<_>>(), [("", ReasoningVisibility::Private)], "{turn}");
    assert_eq!(turn.text(), "I have thought.", "{turn}");
    fixture.session.history().await;
}

/// Returns the file that the agent instructed the model to write its plan to.
fn plan_file(request: &Request) -> String {
    let body = request.body.to_string();
    let folder = body.find("opencode/plans/").expect("a file for the plan");
    let begin = body[..folder].rfind(|c: char| c.is_whitespace() || "`\"'(".contains(c)).unwrap() + 1;
    let end = body[folder..].find(".md").unwrap() + folder + 3;
    body[begin..end].to_owned()
}

/// An approved plan ends plan mode.
#[tokio::test]
async fn plan_to_approve() {
    let dialect = Dialect { agent: RealAgent::opencode_that_plans, ..OPENCODE };
    let fixture = dialect.fixture_with([], |request| request.permission_mode = Some("plan".to_owned())).await;
    fixture.answered("Look around.", Reply::text("I looked.")).await;
    let plan = plan_file(&fixture.model.last());
    fixture.model.push((OPENCODE.write)(Path::new(&plan), "1. Count the seals.\n"));
    fixture.model.push((OPENCODE.edit)(Path::new(&plan), "seals", "walruses"));
    fixture.model.push(Reply::tool("plan_exit", json!({})));
    fixture.model.push(Reply::text("I begin."));
    let seen = fixture.session.history().await.len() as u64;
    fixture.session.post("Plan it.").await;
    let asked = fixture.session.wait_for(seen, is(UniversalEventType::QuestionRequested)).await;
    let EventData::QuestionRequested(ask) = asked.data else { panic!("a question") };
    let shown = ask.metadata.as_ref().unwrap().questions[0].detail.clone();
    assert_eq!(shown.as_deref(), Some("1. Count the walruses.\n"), "{ask:?}");
    let reply = QuestionReplyRequest { answers: vec![vec!["Yes".into()]] };
    fixture
        .session
        .client
        .reply_question(&fixture.session.id, ask.question_id.as_str(), &reply)
        .await
        .unwrap();
    fixture.session.wait_for(seen, ended_so(StopReason::EndTurn)).await;
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let modes = (state.agent_mode.as_deref(), state.permission_mode.as_deref());
    assert_eq!(modes, (Some("build"), Some("default")));
    assert!(state.plan.is_some_and(|plan| plan.text.contains("Count the walruses.")));
    let events = fixture.session.history().await;
    assert_eq!(labels(&events).into_iter().filter(|label| *label == "opencode.mode_changed").count(), 1);
    assert!(injected(&events).contains("has been approved"), "what OpenCode says to the agent that builds");
    // The agent that builds also gets the next prompt: it may write.
    fixture.model.push((OPENCODE.write)(&fixture.file("built"), "text\n"));
    let turn = fixture.answered("Build.", Reply::text("Built.")).await;
    assert!(fixture.file("built").exists(), "{turn}");
    fixture.session.history().await;
}

/// Returns the messages that OpenCode has sent to the model in the user's name.
fn injected(events: &[UniversalEvent]) -> String {
    let turn = Turn { events: events.to_vec() };
    let system = turn.items().into_iter().filter(|item| item.kind == ItemKind::System);
    let texts = system.flat_map(|item| &item.content).filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn tells_of_subagents(event: &UniversalEvent) -> bool {
    let patch = &serde_json::to_value(event).unwrap()["data"];
    patch["subagents"].as_array().is_some_and(|list| !list.is_empty())
}

fn begun_by_agent(event: &UniversalEvent) -> bool {
    serde_json::to_value(event).unwrap()["data"]["metadata"]["origin"] == "agent"
}

/// A subagent in the background reports in a turn of the agent.
#[tokio::test]
async fn turns_that_the_agent_begins() {
    let dialect = Dialect { agent: RealAgent::opencode_with_background, ..OPENCODE };
    let of_subagent = |request: &Request| {
        request.text().contains("Count to three.") && !request.text().contains("Let it count.")
    };
    let task = json!({"description": "Count", "subagent_type": "general", "background": true,
        "prompt": "Count to three."});
    let (report, gate) = Reply::empty().hold();
    let fixture = dialect.fixture([Reply::tool("task", task)]).await;
    fixture.model.push(report.and_text("One, two, three.").when(of_subagent));
    fixture.model.push(Reply::text("It counts."));
    let turn = fixture.turn("Let it count.").await;
    assert!(turn.text().ends_with("It counts."), "{turn}");
    let from = turn.last_sequence();
    // It may begin to work only after the turn.
    fixture.session.wait_for(0, tells_of_subagents).await;
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    assert_eq!(state.subagents.unwrap().inline().unwrap()[0]["agent"], "general", "it is at work");
    fixture.model.push(Reply::text("It has counted."));
    gate.open();
    let begun = fixture.session.wait_for(from, begun_by_agent).await;
    fixture.session.wait_for(begun.sequence, ended_so(StopReason::EndTurn)).await;
    let events = fixture.session.history().await;
    let turn = Turn { events: events.into_iter().filter(|event| event.sequence >= begun.sequence).collect() };
    assert_eq!(turn.text(), "One, two, three.It has counted.", "{turn}");
    assert!(injected(&turn.events).contains("One, two, three."), "what began the turn: {turn}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    assert_eq!(state.subagents.unwrap().inline().unwrap().len(), 0, "its work is done");
    assert!(turn.ended().usage_subagents.is_some(), "{turn}");
}
