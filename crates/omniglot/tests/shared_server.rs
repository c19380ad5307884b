//! Shared servers of a few lines of shell: sessions on one process, its death, its idle stop and its end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::time::{Duration, Instant};

use omniglot_schema::{
    CreateSessionRequest, ErrorCode, EventData, PermissionReply, QueueOnCancel, ServerStatus,
    ServerStatusInfo, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup, is_alive, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, Turn, session_id, status_of};
use omniglot_timeline::check::Allow;

/// Implements the protocol of `codex app-server`. A turn reports the server's pid and how many turns it was
/// asked to stop; the prompt `hang` does not end, `die` ends the server, and `pause` keeps the server from reading
/// until there is a file `go`.
const SERVER: &str = r#"
n=0; stopped=0
say() { printf '%s\n' "$1"; }
result() { say "{\"id\":\"$id\",\"result\":$1}"; }
notice() { say "{\"method\":\"$1\",\"params\":{\"threadId\":\"$thread\",$2}}"; }
while read -r l; do
  id=${l#*\"id\":\"}; id=${id%%\"*}
  thread=${l#*\"threadId\":\"}; thread=${thread%%\"*}
  case "$l" in
    *'"method":"initialize"'*) result '{"userAgent":"codex/0.166.0"}' ;;
    *'"method":"model/list"'*) result '{"data":[]}' ;;
    *'"method":"account/read"'*) result '{"account":null,"requiresOpenaiAuth":false}' ;;
    *'"method":"thread/start"'*) n=$((n+1)); result "{\"thread\":{\"id\":\"t$$-$n\"}}" ;;
    *'"method":"thread/resume"'*) result "{\"thread\":{\"id\":\"$thread\"}}" ;;
    *'"method":"turn/interrupt"'*) stopped=$((stopped+1)); result '{}' ;;
    *'"method":"turn/start"'*)
      n=$((n+1)); turn="{\"id\":\"n$n\",\"rootTurnId\":\"n$n\",\"status\""
      result "{\"turn\":$turn:\"inProgress\"}}"
      notice turn/started "\"turn\":$turn:\"inProgress\"}"
      case "$l" in
        *'"text":"die"'*) exit 7 ;;
        *'"text":"hang"'*) ;;
        *'"text":"pause"'*)
          while [ ! -e "$HOME/go" ]; do sleep 0.02; done
          notice turn/completed "\"turn\":$turn:\"completed\"}" ;;
        *)
          notice item/started "\"turnId\":\"n$n\",\"item\":{\"type\":\"agentMessage\",\"id\":\"m$n\",\"text\":\"\"}"
          notice item/agentMessage/delta "\"turnId\":\"n$n\",\"itemId\":\"m$n\",\"delta\":\"$$ $stopped\""
          notice item/completed "\"turnId\":\"n$n\",\"item\":{\"type\":\"agentMessage\",\"id\":\"m$n\",\"text\":\"$$ $stopped\"}"
          notice turn/completed "\"turn\":$turn:\"completed\"}" ;;
      esac ;;
    *'"method":"'*'"id"'*|*'"id"'*'"method":"'*) result '{}' ;;
  esac
done
"#;

fn daemon(script: &str, more: &str) -> Daemon {
    let script = serde_json::to_string(script).unwrap();
    let config =
        format!("{more}\n[agents.srv]\nprotocol = \"codex\"\ncommand = [\"sh\", \"-c\", {script}]\n");
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

async fn session(daemon: &Daemon, name: &str) -> SessionDriver {
    SessionDriver::create_with(&daemon.client, name, &CreateSessionRequest::new("srv")).await
}

async fn say(session: &SessionDriver, text: &str) -> Turn {
    session.turn(text, PermissionReply::Once).await
}

/// Returns the server that answered, and how many turns it had been asked to stop.
async fn ask(session: &SessionDriver) -> (u32, u32) {
    let turn = say(session, "hello").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{:?}", turn.events);
    let text = turn.text();
    let (pid, stopped) = text.split_once(' ').unwrap_or_else(|| panic!("{text:?}"));
    (pid.parse().unwrap(), stopped.parse().unwrap())
}

async fn status(daemon: &Daemon) -> ServerStatusInfo {
    let agents = daemon.client.agents().await.unwrap().agents;
    agents.into_iter().find(|agent| agent.id == "srv").unwrap().server_status.unwrap()
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

/// A history that is read while a turn runs.
const CUT: Allow = Allow { open_turn: true, unparsed: false };

/// Starts a turn that hangs, and waits until the agent itself has begun it.
async fn hang(session: &SessionDriver) {
    session.post("hang").await;
    session.wait_for(0, is(UniversalEventType::TurnStarted)).await;
}

#[tokio::test]
async fn the_death_of_a_server_ends_the_turn_on_it_and_nobody_else_notices() {
    let daemon = daemon(SERVER, "");
    let (busy, idle) = (session(&daemon, "busy").await, session(&daemon, "idle").await);
    let (server, _) = ask(&busy).await;
    assert_eq!(ask(&idle).await.0, server, "one process for both");
    let turn = say(&busy, "die").await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::AgentCrashed));
    busy.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    let (next, _) = ask(&idle).await;
    assert_ne!(next, server);
    assert!(idle.history().await.iter().all(|event| event.kind() != UniversalEventType::SessionEnded));
    assert_eq!(ask(&busy).await.0, next, "it comes back, too");
    let now = status(&daemon).await;
    assert_eq!((now.status, now.restart_count), (ServerStatus::Running, 1));
    assert!(now.last_error.unwrap().contains("code 7"));
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_refused_with_the_reason() {
    let daemon = daemon(SERVER, "");
    let session = session(&daemon, "s").await;
    for _ in 0..5 {
        assert_eq!(say(&session, "die").await.error().unwrap().code, Some(ErrorCode::AgentCrashed));
    }
    let turn = say(&session, "hello").await;
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::AgentUnavailable));
    assert!(error.message.contains("5 times") && error.message.contains("code 7"), "{}", error.message);
    assert_eq!(status(&daemon).await.status, ServerStatus::Error);
}

#[tokio::test]
async fn a_server_that_nobody_uses_is_ended_and_started_again_when_needed() {
    let daemon = daemon(SERVER, "[limits]\nidle_seconds = 1\n");
    let session = session(&daemon, "s").await;
    let (server, _) = ask(&session).await;
    wait_gone(server);
    assert_ne!(ask(&session).await.0, server);
    assert_eq!(status(&daemon).await.status, ServerStatus::Running);
}

async fn cancel(session: &SessionDriver) {
    let seen = session.history_with(CUT).await.len() as u64;
    session.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
    let end = session.wait_for(seen, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = end.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::Cancelled);
}

#[tokio::test]
async fn a_cancel_that_the_server_ignores_ends_the_turn_and_a_server_that_nobody_else_needs() {
    let daemon = daemon(SERVER, "[limits]\ncancel_seconds = 1\n");
    let (stuck, other) = (session(&daemon, "stuck").await, session(&daemon, "other").await);
    let (server, _) = ask(&other).await;
    hang(&stuck).await;
    cancel(&stuck).await;
    wait_gone(server);
    let (next, stopped) = ask(&other).await;
    assert!(next != server && stopped == 0);
    assert_eq!(ask(&stuck).await, (next, 0));
    assert!(other.history().await.iter().all(|event| event.kind() != UniversalEventType::SessionEnded));
    let now = status(&daemon).await;
    assert_eq!((now.status, now.last_error), (ServerStatus::Running, None));
}

#[tokio::test]
async fn a_message_behind_a_cancel_that_the_server_ignores_finds_a_server() {
    let daemon = daemon(SERVER, "[limits]\ncancel_seconds = 1\n");
    let stuck = session(&daemon, "stuck").await;
    hang(&stuck).await;
    stuck.post("next").await;
    cancel(&stuck).await;
    let cancelled = stuck.wait_for(0, is(UniversalEventType::TurnEnded)).await.sequence;
    let next = stuck.wait_for(cancelled, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(next) = next.data else { unreachable!() };
    assert_eq!(next.metadata.stop_reason, StopReason::EndTurn);
    stuck.history().await;
}

#[tokio::test]
async fn a_cancel_that_the_server_ignores_leaves_it_alone_while_others_work_on_it() {
    let daemon = daemon(SERVER, "[limits]\ncancel_seconds = 1\n");
    let (stuck, other) = (session(&daemon, "stuck").await, session(&daemon, "other").await);
    let (server, _) = ask(&stuck).await;
    hang(&other).await;
    hang(&stuck).await;
    cancel(&stuck).await;
    assert_eq!(ask(&stuck).await, (server, 1), "it goes on for all while the other works");
    assert!(is_alive(server));
    cancel(&other).await;
    wait_gone(server);
    assert_ne!(ask(&stuck).await.0, server);
    other.history().await;
}

#[tokio::test]
async fn a_turn_that_was_silent_for_too_long_is_also_stopped_on_the_server() {
    let daemon = daemon(SERVER, "[limits]\nsilence_seconds = 1\n");
    let session = session(&daemon, "s").await;
    let turn = say(&session, "hang").await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::Timeout));
    assert_eq!(ask(&session).await.1, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_no_server_and_closes_the_turns_on_it() {
    let mut daemon = daemon(SERVER, "");
    let (busy, idle) = (session(&daemon, "busy").await, session(&daemon, "idle").await);
    let (server, _) = ask(&idle).await;
    hang(&busy).await;
    let below = daemon.descendants();
    assert!(below.contains(&server));
    daemon.stop();
    assert!(below.iter().all(|pid| !is_alive(*pid)), "gone when the daemon is");
    let daemon = daemon.restart();
    let events = SessionDriver::of(&daemon.client, "busy").history().await;
    let codes = events.iter().filter_map(|event| match &event.data {
        EventData::Error(error) => error.code,
        _ => None,
    });
    assert_eq!(codes.collect::<Vec<_>>(), [ErrorCode::DaemonRestarted]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_wait_for_a_server_that_is_starting() {
    let mut daemon =
        daemon("read l; echo $$ > \"$HOME/pid.new\"; mv \"$HOME/pid.new\" \"$HOME/pid\"; exec sleep 600", "");
    let client = daemon.client.clone();
    let creating =
        tokio::spawn(async move { client.create(&session_id("s"), &CreateSessionRequest::new("srv")).await });
    let file = daemon.home().join("pid");
    while !file.exists() {
        tokio::task::yield_now().await;
    }
    let server: u32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
    let began = Instant::now();
    daemon.stop();
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    wait_gone(server);
    assert!(creating.await.unwrap().is_err());
}

#[tokio::test]
async fn a_banner_that_never_ends_is_no_handshake_of_a_server() {
    let limits = "[limits]\nhandshake_seconds = 1";
    let daemon = daemon("while :; do echo welcome; sleep 0.1; done", limits);
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("srv")).await;
    assert_eq!(status_of(refused), 504);
}

#[tokio::test]
async fn a_server_that_does_not_read_for_a_while_holds_up_nobody_and_loses_nothing() {
    let daemon = daemon(SERVER, "");
    let (pausing, large, small) =
        (session(&daemon, "pausing").await, session(&daemon, "large").await, session(&daemon, "small").await);
    pausing.post("pause").await;
    pausing.wait_for(0, is(UniversalEventType::TurnStarted)).await;
    // More than its pipe has room for, and something behind it.
    large.post(&"x".repeat(300_000)).await;
    small.post("hello").await;
    for session in [&large, &small] {
        let events = session.history_with(CUT).await;
        assert!(!events.iter().any(is(UniversalEventType::TurnStarted)), "the server has nothing of it");
    }
    // Its own session can still be left, and the others have their turns.
    daemon.client.terminate(&pausing.id).await.unwrap();
    std::fs::write(daemon.home().join("go"), "").unwrap();
    for session in [&large, &small] {
        let end = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
        let EventData::TurnEnded(end) = end.data else { unreachable!() };
        assert_eq!(end.metadata.stop_reason, StopReason::EndTurn);
        session.history().await;
    }
}
