//! Copies of a session.

use omniglot_schema::{EventData, PermissionReply, TurnId};

use super::Dialect;
use crate::models::Reply;
use crate::session_driver::{SessionDriver, session_id};

/// A copy that ends before a turn knows what was said until then, and nothing of the rest.
pub async fn a_fork_may_end_before_a_turn(agent: &Dialect) {
    let replies = ["Apples.", "Pears.", "Plums."].map(Reply::text);
    let fixture = agent.fixture(replies).await;
    for prompt in ["Buy apples.", "Buy pears.", "Buy plums."] {
        fixture.turn(prompt).await;
    }
    let turns = turns(&fixture.session).await;
    let [first, second, _] = turns.as_slice() else { panic!("three turns: {turns:?}") };
    let client = &fixture.daemon.client;
    let fork = async |name: &str, turn: &TurnId| {
        client.fork_before(&fixture.session.id, &session_id(name), Some(turn.clone())).await
    };
    fork("second", second).await.expect("a fork");
    let copy = SessionDriver::of(client, "second");
    assert_eq!(self::turns(&copy).await.len(), 1);
    fixture.model.push(Reply::text("Only apples."));
    let turn = copy.turn("What do I need?", PermissionReply::Once).await;
    assert_eq!(turn.text(), "Only apples.", "{turn}");
    let heard = fixture.model.last().text();
    assert!(heard.contains("Buy apples.") && heard.contains("Apples."), "{heard}");
    assert!(!heard.contains("Buy pears.") && !heard.contains("Plums."), "{heard}");
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
    assert!(heard.contains("Buy plums.") && !heard.contains("What do I need?"), "{heard}");
}

async fn turns(session: &SessionDriver) -> Vec<TurnId> {
    let begun = session.history().await.into_iter().filter_map(|event| match event.data {
        EventData::TurnStarted(data) => Some(data.turn_id),
        _ => None,
    });
    begun.collect()
}
