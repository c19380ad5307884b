//! The possible answers of a person to a permission request.

use omniglot_schema::{PermissionReply, StopReason};

use super::Dialect;
use crate::models::Reply;

/// A permission once is asked again.
pub async fn permissions_once(agent: &Dialect) {
    let fixture = agent.asking_fixture().await;
    let [first, second] = ["first", "second"].map(|name| fixture.file(name));
    fixture.model.push((agent.make)(&first));
    fixture.model.push((agent.make)(&second));
    fixture.model.push(Reply::text("Done."));
    let turn = fixture.session.turn("Make two files.", PermissionReply::Once).await;
    assert_eq!((turn.asked().len(), turn.stop_reason()), (2, StopReason::EndTurn), "{turn}");
    assert!(first.exists() && second.exists(), "{turn}");
    fixture.session.history().await;
}

/// A permission for ever is asked once.
pub async fn permissions_for_the_session(agent: &Dialect) {
    let fixture = agent.asking_fixture().await;
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

/// A rejected tool does not run; the agent goes on, or its turn is over.
pub async fn permissions_reject(agent: &Dialect) {
    let fixture = agent.asking_fixture().await;
    let file = fixture.file("made");
    fixture.model.push((agent.make)(&file));
    if !agent.stops_when_rejected {
        fixture.model.push(Reply::text("Then not."));
    }
    let turn = fixture.session.turn("Make a file.", PermissionReply::Reject).await;
    assert_eq!((turn.asked().len(), turn.outputs().len()), (1, 1), "{turn}");
    assert!(!file.exists(), "{turn}");
    if agent.stops_when_rejected {
        assert!(matches!(turn.stop_reason(), StopReason::EndTurn | StopReason::Cancelled), "{turn}");
        assert_eq!(fixture.model.conversation().len(), 1, "{turn}");
    } else {
        assert_eq!((turn.text().as_str(), turn.stop_reason()), ("Then not.", StopReason::EndTurn), "{turn}");
    }
    let next = fixture.answered("Then talk.", Reply::text("Gladly.")).await;
    assert_eq!(next.text(), "Gladly.", "{next}");
    fixture.session.history().await;
}
