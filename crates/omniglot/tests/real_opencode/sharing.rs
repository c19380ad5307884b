//! One server for all sessions: each receives only its own events, and nothing is lost with the server.

use omniglot_schema::{
    Connection, CreateSessionRequest, ErrorCode, EventData, PermissionReply, Resume, ServerStatus,
    ServerStatusInfo, SessionEndReason, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, wait_gone, without_forked};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Gate, Reply, Request};
use omniglot_testkit::session_driver::{SessionDriver, text_of};

use crate::{OPENCODE, ended_so, is, shell};

fn servers(daemon: &Daemon) -> Vec<u32> {
    without_forked(daemon.descendants(), |pid| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.ends_with("bin/opencode")
    })
}

fn kill(pid: u32) {
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    wait_gone(pid);
}

async fn status(daemon: &Daemon) -> ServerStatusInfo {
    let agents = daemon.client.agents().await.unwrap().agents;
    agents.into_iter().find(|agent| agent.id == "opencode").and_then(|agent| agent.server_status).unwrap()
}

/// An answer to the session whose prompt has this word, which stops in the middle.
fn halved(word: &'static str, first: &str, second: &str) -> (Reply, Gate) {
    let (half, gate) = Reply::text(first).hold();
    (half.and_text(second).when(move |request: &Request| request.text().contains(word)), gate)
}

async fn never_hear_each_other(fixture: &Fixture, second: &SessionDriver) {
    let first = &fixture.session;
    let server = servers(&fixture.daemon);
    assert_eq!(server.len(), 1, "one server for both");
    let (alpha, alpha_gate) = halved("apple", "Alpha begins.", "Alpha ends.");
    let (beta, beta_gate) = halved("banana", "Beta begins.", "Beta ends.");
    fixture.model.push(alpha);
    fixture.model.push(beta);
    first.post("Speak of the apple.").await;
    alpha_gate.reached().await;
    second.post("Speak of the banana.").await;
    beta_gate.reached().await;
    beta_gate.open();
    second.wait_for(0, ended_so(StopReason::EndTurn)).await;
    alpha_gate.open();
    first.wait_for(0, ended_so(StopReason::EndTurn)).await;
    let [of_first, of_second] = [first.history().await, second.history().await];
    assert_eq!(text_of(&of_first), "Alpha begins.Alpha ends.");
    assert_eq!(text_of(&of_second), "Beta begins.Beta ends.");
    assert_eq!(servers(&fixture.daemon), server);
}

#[tokio::test]
async fn two_sessions_in_one_directory_never_hear_each_other() {
    let fixture = OPENCODE.fixture([]).await;
    let second = CreateSessionRequest::new("opencode");
    let second = SessionDriver::create_with(&fixture.daemon.client, "other", &second).await;
    never_hear_each_other(&fixture, &second).await;
}

#[tokio::test]
async fn two_sessions_in_two_directories_share_one_process() {
    let fixture = OPENCODE.fixture([]).await;
    let elsewhere = fixture.daemon.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let directory = Some(elsewhere.to_str().unwrap().to_owned());
    let second = CreateSessionRequest { directory, ..CreateSessionRequest::new("opencode") };
    let second = SessionDriver::create_with(&fixture.daemon.client, "other", &second).await;
    never_hear_each_other(&fixture, &second).await;
    fixture.model.push(shell("touch here"));
    fixture.model.push(Reply::text("Made."));
    second.turn("Make a file.", PermissionReply::Once).await;
    assert!(elsewhere.join("here").exists() && !fixture.file("here").exists());
}

fn resumed(events: &[UniversalEvent]) -> Option<Resume> {
    events.iter().rev().find_map(|event| match &event.data {
        EventData::SessionStarted(data) => data.metadata.as_ref()?.resume,
        _ => None,
    })
}

/// When the server is killed in mid turn the next message resumes.
#[tokio::test]
async fn resume_after_a_crash() {
    let fixture = OPENCODE.fixture([Reply::text("Noted.")]).await;
    fixture.turn("Remember the apple.").await;
    let (reply, gate) = halved("apple", "It takes", "a while");
    fixture.model.push(reply);
    fixture.session.post("Talk long.").await;
    gate.reached().await;
    let [server] = servers(&fixture.daemon).try_into().unwrap();
    kill(server);
    fixture.session.wait_for(0, ended_so(StopReason::Error)).await;
    let ended = fixture.session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let EventData::SessionEnded(end) = &ended.data else { panic!("an end") };
    assert_eq!(end.reason, SessionEndReason::Error, "{ended:?}");
    let events = fixture.session.history().await;
    let error = events.iter().find_map(|event| match &event.data {
        EventData::Error(error) => error.code,
        _ => None,
    });
    assert_eq!(error, Some(ErrorCode::AgentCrashed), "{ended:?}");
    assert_eq!(status(&fixture.daemon).await.status, ServerStatus::Error);
    let turn = fixture.answered("What was it?", Reply::text("I know.")).await;
    assert_eq!((turn.text().as_str(), turn.stop_reason()), ("I know.", StopReason::EndTurn), "{turn}");
    assert!(fixture.model.last().text().contains("Remember the apple."));
    assert_eq!(resumed(&fixture.session.history().await), Some(Resume::Native));
    let now = status(&fixture.daemon).await;
    assert_eq!((now.status, now.restart_count), (ServerStatus::Running, 1));
}

#[tokio::test]
async fn a_server_that_ended_between_turns_is_started_again_and_remembers() {
    let fixture = OPENCODE.fixture([Reply::text("Noted.")]).await;
    let seen = fixture.turn("Remember the apple.").await.last_sequence();
    let [server] = servers(&fixture.daemon).try_into().unwrap();
    kill(server);
    fixture.session.wait_for(seen, connection_is(None)).await;
    let turn = fixture.answered("What was it?", Reply::text("I know.")).await;
    assert_eq!(turn.text(), "I know.", "{turn}");
    assert!(fixture.model.last().text().contains("Remember the apple."));
    fixture.session.history().await;
}

#[tokio::test]
async fn the_status_of_the_server_is_told_with_the_agent() {
    let fixture = OPENCODE.fixture([]).await;
    let now = status(&fixture.daemon).await;
    assert_eq!((now.status, now.restart_count, now.last_error), (ServerStatus::Running, 0, None));
    assert!(now.uptime_ms.is_some());
}

pub(crate) fn connection_is(wanted: Option<Connection>) -> impl Fn(&UniversalEvent) -> bool {
    move |event| match &event.data {
        EventData::SessionUpdated(patch) => patch.connection == Some(wanted),
        _ => false,
    }
}
