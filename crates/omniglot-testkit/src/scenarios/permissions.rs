//! The possible answers of a person to a permission request.

use omniglot_schema::{PermissionReply, StopReason};

use super::Dialect;
use crate::models::Reply;

pub async fn a_permission_once_is_asked_again(agent: &Dialect) {
    let fixture = agent.asking_stage().await;
    let [first, second] = ["first", "second"].map(|name| fixture.file(name));
    fixture.model.push((agent.make)(&first));
    fixture.model.push((agent.make)(&second));
    fixture.model.push(Reply::text("Done."));
    let turn = fixture.session.turn("Make two files.", PermissionReply::Once).await;
    assert_eq!((turn.asked().len(), turn.stop_reason()), (2, StopReason::EndTurn), "{turn}");
    assert!(first.exists() && second.exists(), "{turn}");
    fixture.session.history().await;
}

pub async fn a_permission_for_ever_is_asked_once(agent: &Dialect) {
    let fixture = agent.asking_stage().await;
    let file = fixture.file("made");
    fixture.model.push((agent.make)(&file));
    fixture.model.push((agent.make)(&file));
    fixture.model.push(Reply::text("Done."));
    let turn = fixture.session.turn("Make it twice.", PermissionReply::Always).await;
    assert_eq!((turn.asked().len(), turn.stop_reason()), (1, StopReason::EndTurn), "{turn}");
    assert_eq!(turn.outputs().len(), 2, "{turn}");
    assert!(file.exists(), "{turn}");
    fixture.session.history().await;
}

/// For agents that stop after a rejection.
pub async fn a_rejected_tool_ends_the_turn(agent: &Dialect) {
    let fixture = agent.asking_stage().await;
    let file = fixture.file("made");
    fixture.model.push((agent.make)(&file));
    let turn = fixture.session.turn("Make a file.", PermissionReply::Reject).await;
    assert!(matches!(turn.stop_reason(), StopReason::EndTurn | StopReason::Cancelled), "{turn}");
    assert_eq!((turn.asked().len(), turn.outputs().len()), (1, 1), "{turn}");
    assert!(!file.exists(), "{turn}");
    assert_eq!(fixture.model.conversation().len(), 1, "{turn}");
    let next = fixture.answered("Then talk.", Reply::text("Gladly.")).await;
    assert_eq!(next.text(), "Gladly.", "{next}");
    fixture.session.history().await;
}

pub async fn a_rejected_tool_does_not_run(agent: &Dialect) {
    let fixture = agent.asking_stage().await;
    let file = fixture.file("made");
    fixture.model.push((agent.make)(&file));
    fixture.model.push(Reply::text("Then not."));
    let turn = fixture.session.turn("Make a file.", PermissionReply::Reject).await;
    assert_eq!((turn.asked().len(), turn.stop_reason()), (1, StopReason::EndTurn), "{turn}");
    assert_eq!(turn.text(), "Then not.", "{turn}");
    assert!(!file.exists(), "{turn}");
    assert_eq!(turn.outputs().len(), 1, "{turn}");
    fixture.session.history().await;
}
