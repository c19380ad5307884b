//! The agent's context and its cost: compaction, clearing, usage, money.

use omniglot_schema::{PermissionReply, StopReason, UniversalEvent};
use omniglot_testkit::models::{Failure, Reply, Usage};
use omniglot_testkit::session_driver::{SessionDriver, Turn, labels, session_id};

use super::CLAUDE;
use super::follow::{now, turn_after};

/// A compaction leaves a summary in the context.
#[tokio::test]
async fn compaction() {
    let fixture = CLAUDE.fixture([Reply::text("A long story."), Reply::text("Another one.")]).await;
    fixture.turn("Tell me about the walrus.").await;
    fixture.turn("And about the seal.").await;
    let from = now(&fixture).await;
    fixture.model.push(Reply::text("<summary>They spoke of animals.</summary>"));
    fixture.session.client.compact(&fixture.session.id).await.unwrap();
    let turn = turn_after(&fixture, from).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    assert!(labels(&turn.events).contains(&"claude.compaction"), "{turn}");
    // The result itself has no numbers for it.
    let used = turn.ended().usage.as_ref().and_then(|usage| usage.total_tokens);
    assert!(used.is_some_and(|used| used > 0), "{turn}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    assert_eq!(state.activity, None);
    let next = fixture.answered("Which animals?", Reply::text("Two of them.")).await;
    assert_eq!(next.text(), "Two of them.", "{next}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("They spoke of animals.") && heard.contains("Which animals?"), "{heard}");
    assert!(!heard.contains("A long story."), "{heard}");
}

#[tokio::test]
async fn trap_a_cleared_context_is_another_native_session_and_said_to_be_lost() {
    let fixture = CLAUDE.fixture([Reply::text("Noted.")]).await;
    fixture.turn("Remember the walrus.").await;
    let detail = |fixture: &omniglot_testkit::fixture::Fixture| {
        let (client, id) = (fixture.session.client.clone(), fixture.session.id.clone());
        async move { client.detail(&id).await.unwrap() }
    };
    let before = detail(&fixture).await.info.native_session_id;
    fixture.turn("/clear").await;
    let next = fixture.answered("Which animal?", Reply::text("None that I know.")).await;
    assert_eq!(next.text(), "None that I know.", "{next}");
    assert_ne!(detail(&fixture).await.info.native_session_id, before);
    assert!(!fixture.model.last().text().contains("Remember the walrus."));
    let history: Vec<UniversalEvent> = fixture.session.history().await;
    assert!(labels(&history).contains(&"claude.memory_lost"), "{:?}", labels(&history));
    let fixture = fixture.restart();
    fixture.answered("And now?", Reply::text("Still none.")).await;
    let heard = fixture.model.last().text();
    assert!(heard.contains("Which animal?") && !heard.contains("Remember the walrus."), "{heard}");
}

fn cost(turn: &Turn) -> f64 {
    turn.ended().cost_usd.unwrap_or_else(|| panic!("a cost:\n{turn}"))
}

#[tokio::test]
async fn the_cost_of_a_turn_is_its_own_share_and_so_after_a_restart() {
    let answer =
        |text: &str, output| Reply::text(text).usage(Usage { input: 1000, cached: 500, output, thoughts: 0 });
    let fixture = CLAUDE.fixture([answer("One.", 100), answer("Two.", 100), answer("Three.", 5000)]).await;
    let first = fixture.turn("The first.").await;
    let second = fixture.turn("The second.").await;
    let third = fixture.turn("The third.").await;
    let usage = third.ended().usage.clone().unwrap();
    let tokens = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens);
    assert_eq!(tokens, (Some(1000), Some(500), Some(5000)), "{third}");
    assert!(cost(&first) > 0.0, "{first}");
    assert_eq!(cost(&first), cost(&second), "{second}");
    assert!(cost(&third) > cost(&second), "{third}");
    let fixture = fixture.restart();
    let fourth = fixture.answered("The fourth.", answer("Four.", 100)).await;
    assert_eq!(cost(&fourth), cost(&first), "{fourth}");
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let sum: f64 = [&first, &second, &third, &fourth].map(cost).iter().sum();
    let told = state.cost_usd.unwrap();
    assert!((told - sum).abs() < 1e-9, "{told} {sum}");
    let context = state.context.unwrap();
    assert_eq!(context.used, 1600);
}

#[tokio::test]
async fn a_context_that_overflows_is_compacted_by_the_agent_and_the_turn_goes_on() {
    let fixture = CLAUDE.fixture([Reply::text("A long story."), Reply::text("Another one.")]).await;
    fixture.turn("Tell me about the walrus.").await;
    fixture.turn("And about the seal.").await;
    fixture.model.push(Reply::fails(Failure::Overflow));
    fixture.model.push(Reply::text("<summary>They spoke of animals.</summary>"));
    let turn = fixture.answered("Which animals?", Reply::text("Two of them.")).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("Two of them.", StopReason::EndTurn), "{turn}");
    assert!(labels(&turn.events).contains(&"claude.compaction"), "{turn}");
    assert!(fixture.model.last().text().contains("They spoke of animals."));
}

/// A copy of a session remembers and leaves the original alone.
#[tokio::test]
async fn fork() {
    let fixture = CLAUDE.fixture([Reply::text("I will remember the walrus.")]).await;
    fixture.turn("Remember the walrus.").await;
    let id = session_id("copy");
    fixture.session.client.fork(&fixture.session.id, &id).await.unwrap();
    let copy = SessionDriver::of(&fixture.session.client, "copy");
    fixture.model.push(Reply::text("The walrus."));
    let turn = copy.turn("Which animal?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "The walrus.", "{turn}");
    assert!(fixture.model.last().text().contains("Remember the walrus."));
    fixture.answered("And you?", Reply::text("I am the first.")).await;
    let heard = fixture.model.last().text();
    assert!(heard.contains("Remember the walrus.") && !heard.contains("Which animal?"), "{heard}");
}

#[tokio::test]
async fn a_command_of_the_project_is_listed_and_expands_to_its_prompt() {
    let fixture = CLAUDE.fixture([Reply::text("Hello.")]).await;
    fixture.turn("Hello?").await;
    std::fs::create_dir_all(fixture.file(".claude/commands")).unwrap();
    std::fs::write(fixture.file(".claude/commands/greet.md"), "Greet the walrus named $ARGUMENTS.\n")
        .unwrap();
    // Commands are read when the agent starts.
    let fixture = fixture.restart();
    let turn = fixture.answered("/greet Bob", Reply::text("Hello, Bob.")).await;
    assert_eq!(turn.text(), "Hello, Bob.", "{turn}");
    assert!(fixture.model.last().text().contains("Greet the walrus named Bob."));
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let commands = state.commands.unwrap();
    let names: Vec<_> = commands.inline().unwrap().iter().map(|command| command.name.as_str()).collect();
    assert!(names.contains(&"greet") && names.contains(&"compact"), "{names:?}");
}
