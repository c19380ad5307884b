//! The gate of Pi against the agent itself: it may do what it likes to the file, and is asked all the same.

use std::path::{Path, PathBuf};

use omniglot_schema::{ErrorCode, PermissionReply};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::Reply;
use omniglot_testkit::scenarios::Dialect;
use omniglot_testkit::session_driver::Turn;

use crate::shell;

fn file(fixture: &Fixture) -> PathBuf {
    fixture.daemon.data().join("private/agents/pi/gate.ts")
}

async fn rejected(fixture: &Fixture) -> Turn {
    fixture.model.push(shell("touch made"));
    fixture.model.push(Reply::text("Rejected."));
    fixture.session.turn("Make a file.", PermissionReply::Reject).await
}

/// Each of these is done to the file while no process runs.
pub(crate) async fn a_changed_or_deleted_gate_is_written_anew_before_the_next_start(pi: &Dialect) {
    const OPEN: &str = "export default function (pi) { pi.on('session_start', (_, ctx) => { \
        ctx.ui.setStatus('omniglot-gate', 'ready'); }); }\n";
    let change = |gate: &Path| std::fs::write(gate, OPEN);
    let delete = |gate: &Path| std::fs::remove_file(gate);
    let link = |gate: &Path| {
        let other = gate.with_file_name("other.ts");
        std::fs::write(&other, OPEN)?;
        std::fs::remove_file(gate)?;
        std::os::unix::fs::symlink(other, gate)
    };
    let tricks: [fn(&Path) -> std::io::Result<()>; 3] = [change, delete, link];
    let fixture = pi.fixture([]).await;
    for trick in tricks {
        fixture.session.client.terminate(&fixture.session.id).await.unwrap();
        trick(&file(&fixture)).unwrap();
        let turn = rejected(&fixture).await;
        assert_eq!(turn.asked().len(), 1, "{turn}");
        assert!(!fixture.file("made").exists(), "{turn}");
        assert!(!file(&fixture).is_symlink());
        assert!(std::fs::read_to_string(file(&fixture)).unwrap().contains("Asks Omniglot before"));
    }
}

pub(crate) async fn a_gate_that_is_deleted_while_pi_runs_still_asks(pi: &Dialect) {
    let fixture = pi.fixture([Reply::text("One.")]).await;
    fixture.turn("The first.").await;
    std::fs::remove_file(file(&fixture)).unwrap();
    let turn = rejected(&fixture).await;
    assert_eq!(turn.asked().len(), 1, "{turn}");
    assert!(!fixture.file("made").exists(), "{turn}");
}

pub(crate) async fn a_gate_that_cannot_be_written_refuses_the_turn(pi: &Dialect) {
    let fixture = pi.fixture([]).await;
    fixture.session.client.terminate(&fixture.session.id).await.unwrap();
    std::fs::remove_file(file(&fixture)).unwrap();
    std::fs::create_dir_all(file(&fixture).join("in the way")).unwrap();
    let turn = fixture.turn("Make a file.").await;
    assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::AgentUnavailable), "{turn}");
    assert!(turn.error().unwrap().message.contains("gate did not load"), "{turn}");
}
