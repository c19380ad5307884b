//! What a person may answer when an agent asks.

use omniglot_schema::{PermissionReply, StopReason};

use super::Dialect;
use crate::models::Reply;

pub async fn a_permission_once_is_asked_again(agent: &Dialect) {
    let stage = agent.asking_stage().await;
    let [first, second] = ["first", "second"].map(|name| stage.file(name));
    stage.model.push((agent.make)(&first));
    stage.model.push((agent.make)(&second));
    stage.model.push(Reply::text("Done."));
    let turn = stage.session.turn("Make two files.", PermissionReply::Once).await;
    assert_eq!((turn.asked().len(), turn.stop_reason()), (2, StopReason::EndTurn), "{turn}");
    assert!(first.exists() && second.exists(), "{turn}");
    stage.session.history().await;
}

pub async fn a_permission_for_ever_is_asked_once(agent: &Dialect) {
    let stage = agent.asking_stage().await;
    let file = stage.file("made");
    stage.model.push((agent.make)(&file));
    stage.model.push((agent.make)(&file));
    stage.model.push(Reply::text("Done."));
    let turn = stage.session.turn("Make it twice.", PermissionReply::Always).await;
    assert_eq!((turn.asked().len(), turn.stop_reason()), (1, StopReason::EndTurn), "{turn}");
    assert_eq!(turn.outputs().len(), 2, "{turn}");
    assert!(file.exists(), "{turn}");
    stage.session.history().await;
}

/// For agents that stop when they are refused something.
pub async fn a_rejected_tool_ends_the_turn(agent: &Dialect) {
    let stage = agent.asking_stage().await;
    let file = stage.file("made");
    stage.model.push((agent.make)(&file));
    let turn = stage.session.turn("Make a file.", PermissionReply::Reject).await;
    assert!(matches!(turn.stop_reason(), StopReason::EndTurn | StopReason::Cancelled), "{turn}");
    assert_eq!((turn.asked().len(), turn.outputs().len()), (1, 1), "{turn}");
    assert!(!file.exists(), "{turn}");
    assert_eq!(stage.model.conversation().len(), 1, "{turn}");
    let next = stage.answered("Then talk.", Reply::text("Gladly.")).await;
    assert_eq!(next.text(), "Gladly.", "{next}");
    stage.session.history().await;
}

pub async fn a_rejected_tool_does_not_run(agent: &Dialect) {
    let stage = agent.asking_stage().await;
    let file = stage.file("made");
    stage.model.push((agent.make)(&file));
    stage.model.push(Reply::text("Then not."));
    let turn = stage.session.turn("Make a file.", PermissionReply::Reject).await;
    assert_eq!((turn.asked().len(), turn.stop_reason()), (1, StopReason::EndTurn), "{turn}");
    assert_eq!(turn.text(), "Then not.", "{turn}");
    assert!(!file.exists(), "{turn}");
    assert_eq!(turn.outputs().len(), 1, "{turn}");
    stage.session.history().await;
}
