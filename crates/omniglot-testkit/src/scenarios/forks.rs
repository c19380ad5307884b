//! Copies of a session.

use omniglot_schema::{EventData, PermissionReply, TurnId};

use super::Dialect;
use crate::models::Reply;
use crate::session_driver::{SessionDriver, session_id};

/// A copy that ends before a turn knows what was said until then, and nothing of the rest.
pub async fn a_fork_may_end_before_a_turn(agent: &Dialect) {
    let replies = ["Apples.", "Pears.", "Plums."].map(Reply::text);
    let fixture = agent.fixture(replies).await;
    for prompt in ["Buy apples.", "Go on.", "Go on."] {
        fixture.turn(prompt).await;
    }
    let turns = turns(&fixture.session).await;
    let [first, _, third] = turns.as_slice() else { panic!("three turns: {turns:?}") };
    let client = &fixture.daemon.client;
    let fork = async |name: &str, turn: &TurnId| {
        client.fork_before(&fixture.session.id, &session_id(name), Some(turn.clone())).await
    };
    fork("third", third).await.expect("a fork");
    let copy = SessionDriver::of(client, "third");
    assert_eq!(self::turns(&copy).await.len(), 2);
    fixture.model.push(Reply::text("No plums."));
    let turn = copy.turn("What do I need?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "No plums.", "{turn}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("Buy apples.") && heard.contains("Pears."), "{heard}");
    assert!(!heard.contains("Plums."), "{heard}");
    copy.history().await;

    fork("empty", first).await.expect("a fork");
    let copy = SessionDriver::of(client, "empty");
    fixture.model.push(Reply::text("Nothing."));
    let turn = copy.turn("What do I need?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "Nothing.", "{turn}");
    assert!(!fixture.model.last().text().contains("Buy apples."));

    let refused = fork("none", &TurnId("turn_none".to_owned())).await.expect_err("no such turn");
    assert_eq!(refused.status(), Some(404), "{refused}");
    fixture.answered("And now?", Reply::text("All three.")).await;
    let heard = fixture.model.last().text();
    assert!(heard.contains("Plums.") && !heard.contains("What do I need?"), "{heard}");
}

async fn turns(session: &SessionDriver) -> Vec<TurnId> {
    let begun = session.history().await.into_iter().filter_map(|event| match event.data {
        EventData::TurnStarted(data) => Some(data.turn_id),
        _ => None,
    });
    begun.collect()
}
