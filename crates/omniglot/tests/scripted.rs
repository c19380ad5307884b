//! An agent that plays a script of its user's own, through a real daemon.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    ContentPart, CreateSessionRequest, ErrorCode, EventData, PermissionReply, StopReason, UniversalEvent,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id};
use omniglot_timeline::check::Allow;

/// Returns the examples of the documentation.
fn examples() -> Vec<&'static str> {
    let text = include_str!("../../../docs/MOCK.md");
    text.split("```jsonl\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Starts a daemon whose agent `scripted` plays a script; also returns the directory that holds it.
fn daemon(script: &str) -> (Daemon, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("script.jsonl");
    std::fs::write(&file, script).unwrap();
    let program = env!("CARGO_BIN_EXE_omniglot");
    let config = format!(
        "[agents.scripted]\nprotocol = \"acp\"\ncommand = [{program:?}, \"mock-agent\", \"--script\", {file:?}]\n"
    );
    (Setup::new(program).config(config).start(), dir)
}

fn diffs(events: &[UniversalEvent]) -> usize {
    let items = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) => Some(&data.item.content),
        _ => None,
    });
    items.flatten().filter(|part| matches!(part, ContentPart::FileRef { diff: Some(_), .. })).count()
}

#[tokio::test]
async fn the_first_example_asks_edits_and_reports_for_every_prompt() {
    let (daemon, _script) = daemon(examples()[0]);
    let session =
        SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("scripted")).await;
    for round in 1..=2 {
        let turn = session.turn("write a note", PermissionReply::Once).await;
        assert_eq!(turn.stop_reason(), StopReason::EndTurn);
        assert!(turn.text().contains("You want: write a note."), "{}", turn.text());
        assert_eq!(diffs(&turn.events), 1, "{:?}", turn.events);
        let notes = std::fs::read_to_string(daemon.work().join("notes.txt")).unwrap();
        assert_eq!(notes, "One more line.\n".repeat(round));
    }
    let state = daemon.client.detail(&session.id).await.unwrap().state;
    let context = state.context.unwrap();
    assert_eq!((context.used, context.window, state.cost_usd), (24_000, 200_000, Some(0.02)));
    session.history().await;
}

#[tokio::test]
async fn the_second_example_survives_its_banner_and_dies_with_its_code() {
    let (daemon, _script) = daemon(examples()[1]);
    let session =
        SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("scripted")).await;
    let turn = session.turn("hello", PermissionReply::Once).await;
    assert_eq!((turn.stop_reason(), turn.text().trim()), (StopReason::EndTurn, "Fine so far."));
    let turn = session.turn("again", PermissionReply::Once).await;
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::AgentCrashed), "{error:?}");
    session.history_with(Allow { open_turn: false, unparsed: true }).await;
}

#[tokio::test]
async fn a_bad_script_is_refused_when_the_agent_starts() {
    let (daemon, _script) = daemon("{\"wait\": {\"method\": \"session/prompt\"}}\n{\"snd\": {}}\n");
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("scripted")).await;
    let error = refused.unwrap_err();
    let problem = format!("{:?}", error.problem());
    assert!(problem.contains("script.jsonl:2: unknown variant `snd`"), "{problem}");
}
