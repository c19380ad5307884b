//! One agent with every fault in turn, on every wire: its turns end once, its session goes on or says why not, the
//! sessions of others do not notice, and nothing is left of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::path::PathBuf;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use omniglot_schema::{
    CreateSessionRequest, PermissionReply, QueueOnCancel, SessionStatus, StopReason, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, message, session_id};
use omniglot_timeline::check::Allow;

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

/// The faults, by the names that the agent takes.
const FAULTS: [&str; 47] = [
    "never-reads",
    "exits-at-once",
    "never-answers",
    "garbage-at-start",
    "flood-at-start",
    "dies-in-handshake",
    "closes-output-at-start",
    "huge-line-at-start",
    "endless-line-at-start",
    "answers-twice",
    "silent",
    "dies-unanswered",
    "dies-in-mid-line",
    "dies-in-mid-turn",
    "kills-itself",
    "closes-output",
    "closes-input",
    "ends-twice",
    "ends-without-beginning",
    "never-ends",
    "speaks-after-the-end",
    "asks-after-the-end",
    "floods-after-the-end",
    "garbage",
    "not-utf8",
    "nul-bytes",
    "empty-lines",
    "carriage-returns",
    "huge-line",
    "huge-sum",
    "floods",
    "deep-json",
    "unknown-frames",
    "wrong-types",
    "stray-answer",
    "answers-itself",
    "other-session",
    "endless-requests",
    "repeats-request",
    "repeats-frames",
    "ignores-signals",
    "leaves-child",
    "leaves-daemon",
    "floods-stderr",
    "drips",
    "eats-memory",
    "fills-disk",
];

const WIRES: [&str; 6] = ["acp", "claude", "codex", "pi", "amp", "opencode"];

/// The number of faults that are tried at once.
const AT_ONCE: usize = 8;
/// A turn that has not ended by then waits for somebody, and is cancelled.
const TURN_TIMEOUT: Duration = Duration::from_secs(2);
/// A cancelled turn ends within this time, whatever the agent does.
const CANCELLED_WITHIN: Duration = Duration::from_secs(20);
/// All of a fault takes less than this, on a busy machine.
const TRIED_WITHIN: Duration = Duration::from_secs(80);
const ALLOW: Allow = Allow { open_turn: true, unparsed: true };

const LIMITS: &str = "[limits]\nhandshake_seconds = 2\ncancel_seconds = 1\nsilence_seconds = 2\n\
    max_line_bytes = \"1 MiB\"\nlive_agents = 1000\nidle_seconds = 1\n";

/// A daemon with an agent for each fault.
fn daemon(wire: &str, env: &str) -> Daemon {
    let program = PathBuf::from(OMNIGLOT).with_file_name("misbehaving");
    assert!(program.exists(), "{} is built by `cargo build -p omniglot-testkit --bins`", program.display());
    let agents = FAULTS.iter().map(|fault| {
        // What a shell ignores, the program ignores that takes its place.
        let script = "trap '' TERM INT HUP; exec \"$0\" \"$@\"";
        let command = match *fault {
            "ignores-signals" => {
                format!("[\"sh\", \"-c\", {script:?}, {program:?}, \"{wire}\", \"{fault}\"]")
            }
            fault => format!("[{program:?}, \"{wire}\", \"{fault}\"]"),
        };
        format!("[agents.{fault}]\nprotocol = \"{wire}\"\ncommand = {command}\nenv = {{ {env} }}\n")
    });
    Setup::new(OMNIGLOT).config(format!("{LIMITS}{}", agents.collect::<String>())).start()
}

/// Posts a message and waits for the end of its turn; cancels a turn that does not end.
async fn turn(session: &SessionDriver, after: u64) -> u64 {
    let ended = |event: &omniglot_schema::UniversalEvent| event.kind() == UniversalEventType::TurnEnded;
    if session.client.post(&session.id, &message("Go."), None).await.is_err() {
        return after;
    }
    if let Ok(end) = tokio::time::timeout(TURN_TIMEOUT, session.wait_for(after, ended)).await {
        return end.sequence;
    }
    match session.client.cancel(&session.id, QueueOnCancel::Drop).await {
        Ok(_) => {}
        // A flood is before it in the log; it takes effect all the same.
        Err(late) => assert_eq!(late.status(), Some(503), "{late}"),
    }
    let end = tokio::time::timeout(CANCELLED_WITHIN, session.wait_for(after, ended)).await;
    end.unwrap_or_else(|_| panic!("{}: a cancelled turn goes on", session.id)).sequence
}

async fn tries(daemon: &Daemon, fault: &'static str) {
    let id = session_id(fault);
    let created = daemon.client.create(&id, &CreateSessionRequest::new(fault)).await;
    if let Ok(created) = created {
        let session = SessionDriver::of(&daemon.client, fault);
        assert!(created.healthy || created.error.is_some(), "{fault}: {created:?}");
        let end = turn(&session, 0).await;
        turn(&session, end).await;
        session.history_with(ALLOW).await;
        let detail = daemon.client.detail(&id).await.unwrap();
        assert_ne!(detail.status, SessionStatus::Running, "{fault}");
        daemon.client.delete(&id).await.unwrap();
    } else {
        let refused = created.unwrap_err();
        assert!(refused.status().is_some(), "{fault}: {refused}");
    }
}

/// Every third fault, another third on the next wire; `cargo xtask soak --counts` tries all on every wire.
fn faults(wire: &str) -> Vec<&'static str> {
    let first = WIRES.iter().position(|known| *known == wire).expect("a wire") % 3;
    let step = if std::env::var_os("OMNIGLOT_ALL_FAULTS").is_some() { 1 } else { 3 };
    FAULTS.into_iter().skip(if step == 1 { 0 } else { first }).step_by(step).collect()
}

async fn survives(wire: &str, env: &str) {
    let daemon = daemon(wire, env);
    let witness = SessionDriver::create(&daemon.client, "witness").await;
    witness.turn("[[text:1]]", PermissionReply::Once).await;
    let bounded = async |fault| {
        let tried = tokio::time::timeout(TRIED_WITHIN, tries(&daemon, fault)).await;
        assert!(tried.is_ok(), "{fault}: something waits for ever");
    };
    stream::iter(faults(wire)).for_each_concurrent(AT_ONCE, bounded).await;
    let turn = witness.turn("[[text:2]]", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    witness.history().await;
    // An agent that waits is seen, so that a list without any says something.
    let end = turn.last_sequence();
    witness.post("[[permission]]").await;
    witness.wait_for(end, |event| event.kind() == UniversalEventType::PermissionRequested).await;
    assert!(!started_by(&daemon).is_empty());
    daemon.client.delete(&witness.id).await.unwrap();
    started_by(&daemon).into_iter().for_each(wait_gone);
}

/// Returns every process that has the environment of the daemon, wherever it has gone; not the daemon itself.
fn started_by(daemon: &Daemon) -> Vec<u32> {
    let home = format!("HOME={}\0", daemon.home().display());
    let is_ours = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        *pid != daemon.pid() && String::from_utf8_lossy(&environment).contains(&home)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_wire_of_acp() {
    survives("acp", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_wire_of_claude() {
    survives("claude", "ANTHROPIC_API_KEY = \"dummy\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_wire_of_codex() {
    survives("codex", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_wire_of_pi() {
    survives("pi", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_wire_of_amp() {
    survives("amp", "AMP_API_KEY = \"dummy\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_wire_of_opencode() {
    survives("opencode", "").await;
}
