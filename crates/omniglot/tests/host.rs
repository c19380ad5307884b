//! The daemon as the host of an ACP agent, over real HTTP and with real children: files of the session's
//! directory and nothing else, and commands in terminals that never outlive it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::os::unix::fs::symlink;

use omniglot_schema::{
    ContentPart, CreateSessionRequest, EventData, ItemKind, PermissionReply, QueueOnCancel, StopReason,
    UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup, is_alive, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, Turn};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

async fn play(daemon: &Daemon, words: &str) -> Turn {
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn(words, PermissionReply::Once).await;
    session.history().await;
    turn
}

/// Returns the streamed output of tools.
fn streamed(events: &[UniversalEvent]) -> String {
    let delta = |event: &UniversalEvent| match &event.data {
        EventData::ItemDelta(data) if data.part_type.is_some() => Some(data.delta.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

/// Returns the output and exit code of the first tool result.
fn result(events: &[UniversalEvent]) -> (String, Option<i64>) {
    let part = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) if data.item.kind == ItemKind::ToolResult => {
            data.item.content.iter().find_map(|part| match part {
                ContentPart::ToolResult { output, exit_code, .. } => Some((output.clone(), *exit_code)),
                _ => None,
            })
        }
        _ => None,
    };
    events.iter().find_map(part).expect("a tool result")
}

#[tokio::test]
async fn files_are_read_whole_and_by_lines() {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "one\ntwo\nthree\nfour\n").unwrap();
    let turn = play(&daemon, "[[fs]] [[fs:lines]]").await;
    assert_eq!(
        turn.text(),
        "The client gave me 19 characters of README.md.Two lines from the second on: \"two\\nthree\\n\""
    );
}

#[tokio::test]
async fn a_file_that_is_not_there_is_told_and_a_written_one_is_made() {
    let daemon = daemon();
    let turn = play(&daemon, "[[fs]] [[fs:write]]").await;
    assert!(turn.text().contains("with error -32002:"), "{}", turn.text());
    assert!(turn.text().contains("README.md does not exist"), "{}", turn.text());
    let made = std::fs::read_to_string(daemon.work().join("made/by-agent.txt")).unwrap();
    assert_eq!(made, "Written by the client.\n");
}

#[tokio::test]
async fn no_path_and_no_link_leads_out_of_the_sessions_directory() {
    let daemon = daemon();
    let outside = daemon.home().join("outside.txt");
    std::fs::write(&outside, "untouched").unwrap();
    symlink(daemon.home(), daemon.work().join("link")).unwrap();
    let turn = play(&daemon, "[[fs:escape]]").await;
    let text = turn.text();
    assert!(!text.contains("I could"), "{text}");
    // Three ways lead out by name or link, both for reading and for writing; a directory is no file.
    assert_eq!(text.matches("is outside of the session's directory").count(), 8, "{text}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "untouched");
}

#[tokio::test]
async fn private_files_of_the_daemon_are_refused_in_a_directory_that_holds_them() {
    let daemon = daemon();
    symlink("data/private/token", daemon.home().join("README.md")).unwrap();
    symlink("data/private", daemon.home().join("made")).unwrap();
    let mut request = CreateSessionRequest::new("mock");
    request.directory = Some(daemon.home().to_str().unwrap().to_owned());
    let session = SessionDriver::create_with(&daemon.client, "s", &request).await;
    let turn = session.turn("[[fs]] [[fs:lines]] [[fs:write]]", PermissionReply::Once).await;
    let text = turn.text();
    assert_eq!(text.matches("is a private file of the daemon").count(), 3, "{text}");
    assert!(!daemon.data().join("private/by-agent.txt").exists());
}

#[tokio::test]
async fn a_terminal_runs_in_the_directory_and_its_output_is_streamed() {
    let daemon = daemon();
    let turn = play(&daemon, "[[terminal]]").await;
    let said = format!("one word\ntwo\n{}\n", daemon.work().canonicalize().unwrap().display());
    assert_eq!(turn.text(), format!("It ended with code 0 and said {said:?}."));
    assert_eq!(result(&turn.events), (said.clone(), Some(0)));
    assert_eq!(streamed(&turn.events), said);
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}

#[tokio::test]
async fn the_exit_code_of_a_terminal_is_in_its_result() {
    let daemon = daemon();
    let turn = play(&daemon, "[[terminal:fail]]").await;
    assert_eq!(turn.text(), "It ended with code 3.");
    assert_eq!(result(&turn.events), ("oh no\n".to_owned(), Some(3)));
}

#[tokio::test]
async fn a_limit_cuts_what_the_agent_sees_and_not_what_the_transcript_has() {
    let daemon = daemon();
    let turn = play(&daemon, "[[terminal:limit]]").await;
    assert_eq!(turn.text(), "I see \"€€\", truncated true.");
    assert_eq!(result(&turn.events).0, "€€€€€");
}

#[tokio::test]
async fn a_killed_command_ends_with_all_that_it_started() {
    let daemon = daemon();
    let turn = play(&daemon, "[[terminal:kill]]").await;
    assert!(turn.text().starts_with("It ended with SIGKILL."), "{}", turn.text());
    assert!(turn.text().contains("after release with error -32002"), "{}", turn.text());
    // Its guard has exited with it: the agent and the agent's own child are left.
    assert_eq!(daemon.descendants().len(), 2);
}

#[tokio::test]
async fn a_cancel_ends_a_command_that_the_agent_waits_for() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[terminal:wait]]").await;
    let pids = pids_of_command(&session).await;
    daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let ended = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &ended.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
    pids.into_iter().for_each(wait_gone);
    let turn = session.turn("[[terminal]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    session.history().await;
}

#[tokio::test]
async fn the_end_of_a_session_is_the_end_of_its_commands() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[terminal:leave]]").await;
    let pids = pids_of_command(&session).await;
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    assert!(pids.iter().all(|pid| is_alive(*pid)), "a command may outlive its turn");
    daemon.client.terminate(&session.id).await.unwrap();
    pids.into_iter().for_each(wait_gone);
}

#[tokio::test]
async fn the_end_of_an_agent_is_the_end_of_its_commands() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[terminal:leave]] [[crash]]").await;
    let pids = pids_of_command(&session).await;
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    pids.into_iter().for_each(wait_gone);
    session.history().await;
}

#[tokio::test]
async fn a_daemon_that_is_killed_leaves_no_command_behind() {
    let mut daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[terminal:leave]]").await;
    let pids = pids_of_command(&session).await;
    session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    daemon.kill();
    pids.into_iter().for_each(wait_gone);
    drop(daemon.restart());
}

#[tokio::test]
async fn what_is_not_offered_is_refused_at_once() {
    let config = format!(
        "[agents.closed]\nprotocol = \"acp\"\nquirks = \"gemini\"\ncommand = [{:?}, \"mock-agent\"]\n",
        env!("CARGO_BIN_EXE_omniglot")
    );
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let session = SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("closed")).await;
    let turn = session.turn("[[fs]]", PermissionReply::Once).await;
    assert!(turn.text().contains("with error -32601:"), "{}", turn.text());
    let unparsed = |event: &&UniversalEvent| event.kind() == UniversalEventType::AgentUnparsed;
    assert_eq!(turn.events.iter().filter(unparsed).count(), 1);
}

/// Returns the pids of the command and of its detached child, which it writes first.
async fn pids_of_command(session: &SessionDriver) -> Vec<u32> {
    let mut said = String::new();
    let mut after = 0;
    loop {
        let delta = session.wait_for(after, is(UniversalEventType::ItemDelta)).await;
        after = delta.sequence;
        said.push_str(&streamed(&[delta]));
        let pids: Vec<u32> = said.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() == 2 && said.ends_with('\n') {
            return pids;
        }
    }
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}
