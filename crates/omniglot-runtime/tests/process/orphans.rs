//! Nothing is left of an agent, however it or its owner ends: not even a double fork in its own session.

use std::process::Stdio;

use bytes::Bytes;
use omniglot_agents::{Mark, Orphans};
use omniglot_runtime::process::sweep::{Swept, sweep};
use rustix::process::{Pid, Signal, getppid, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::support::{Running, Watched, guard_program, shell, within};

/// An agent with a descendant that left its session and whose parent is gone.
async fn with_runaway(rest: &str) -> (Running, Watched) {
    let mut agent = shell(&format!("\"$0\" leave sleep 1000; {rest}")).await;
    let orphaned_turn = agent.pid_line().await;
    (agent, orphaned_turn)
}

/// An agent with such a descendant, under a guard that is stopped.
async fn under_stopped_guard() -> (Running, Watched, Pid) {
    let mut agent = shell("echo $PPID; \"$0\" leave sleep 1000; exec sleep 1000").await;
    let mut numbers = Vec::new();
    while numbers.len() < 2 {
        let lines = within(agent.io.lines.recv()).await.unwrap();
        numbers.extend(lines.iter().map(|line| crate::support::text(line).parse::<i32>().unwrap()));
    }
    let guard = Pid::from_raw(numbers[0]).unwrap();
    kill_process(guard, Signal::STOP).unwrap();
    (agent, Watched::new(numbers[1]), guard)
}

#[tokio::test]
async fn a_runaway_dies_when_its_agent_is_killed() {
    let (agent, orphaned_turn) = with_runaway("exec sleep 1000").await;
    agent.process.kill();
    orphaned_turn.ended().await;
    within(agent.process.gone()).await;
}

#[tokio::test]
async fn a_runaway_dies_when_its_agent_ends_by_itself() {
    let (agent, orphaned_turn) = with_runaway("exit 0").await;
    orphaned_turn.ended().await;
    assert_eq!(within(agent.process.gone()).await.code, Some(0));
}

#[tokio::test]
async fn a_runaway_dies_when_the_handle_is_dropped() {
    let (Running { process, io, run_dir: _kept }, orphaned_turn) = with_runaway("exec sleep 1000").await;
    let gone = process.gone();
    drop((process, io));
    orphaned_turn.ended().await;
    assert_eq!(within(gone).await.signal, Some(9));
}

#[tokio::test]
async fn a_runaway_dies_when_the_daemon_is_killed() {
    let run_dir = tempfile::tempdir().unwrap();
    let program = guard_program();
    let mut owner = tokio::process::Command::new(&program)
        .arg("own")
        .arg(run_dir.path())
        .args(["sh", "-c", "echo $$; echo $PPID; \"$0\" leave sleep 1000; exec sleep 1000"])
        .arg(&program)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let mut all = Vec::new();
    while all.len() < 3 {
        let line = within(lines.next_line()).await.unwrap().unwrap();
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        all.push(Watched::new(digits.parse().unwrap()));
    }
    assert_eq!(std::fs::read_dir(run_dir.path()).unwrap().count(), 1, "the guard is recorded");

    owner.start_kill().unwrap();
    within(owner.wait()).await.unwrap();
    for process in all {
        process.ended().await;
    }
    assert_eq!(sweep(run_dir.path()), Swept::default(), "nothing was left to sweep");
    assert_eq!(std::fs::read_dir(run_dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_crowd_that_keeps_forking_dies() {
    let mut agent = shell(
        "i=0; while [ $i -lt 20 ]; do i=$((i+1)); \"$0\" leave sh -c 'while :; do sleep 0.01 & sleep 0.02; done'; done
         echo done; exec sleep 1000",
    )
    .await;
    let mut crowd = Vec::new();
    'all: loop {
        for line in within(agent.io.lines.recv()).await.unwrap() {
            match crate::support::text(&line).parse() {
                Ok(pid) => crowd.push(Watched::new(pid)),
                Err(_) => break 'all,
            }
        }
    }
    assert_eq!(crowd.len(), 20);
    agent.process.kill();
    for process in crowd {
        process.ended().await;
    }
    within(agent.process.gone()).await;
}

#[tokio::test]
async fn an_agent_dies_with_its_guard() {
    let mut agent = shell("echo $PPID; exec sleep 1000").await;
    let guard = Pid::from_raw(agent.line().await.parse().unwrap()).unwrap();
    assert_ne!(Some(guard), getppid());
    let watched = Watched::new(agent.process.pid().try_into().unwrap());
    kill_process(guard, Signal::KILL).unwrap();
    watched.ended().await;
    assert_eq!(within(agent.process.wait()).await.signal, Some(9));
}

#[tokio::test]
async fn a_runaway_dies_when_its_agent_kills_the_guard() {
    let (agent, runaway) = with_runaway("kill -9 $PPID; exec sleep 1000").await;
    runaway.ended().await;
    assert_eq!(within(agent.process.gone()).await.signal, Some(9));
    assert_eq!(std::fs::read_dir(agent.run_dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_runaway_is_swept_when_daemon_and_guard_are_killed_at_once() {
    let run_dir = tempfile::tempdir().unwrap();
    let program = guard_program();
    let mut owner = tokio::process::Command::new(&program)
        .arg("own")
        .arg(run_dir.path())
        .args(["sh", "-c", "echo $PPID; \"$0\" leave sleep 1000; exec sleep 1000"])
        .arg(&program)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let mut numbers = Vec::new();
    while numbers.len() < 2 {
        let line = within(lines.next_line()).await.unwrap().unwrap();
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        numbers.push(Pid::from_raw(digits.parse().unwrap()).unwrap());
    }
    let runaway = Watched::new(numbers[1].as_raw_nonzero().get());
    let guard = Watched::new(numbers[0].as_raw_nonzero().get());
    let name = std::fs::read_to_string(format!("/proc/{}/comm", numbers[0])).unwrap();
    assert_eq!(name.trim(), "agent-guard", "killall of the program does not find it");
    // Stopped first, so that it does not see the end of its daemon.
    kill_process(numbers[0], Signal::STOP).unwrap();
    owner.start_kill().unwrap();
    within(owner.wait()).await.unwrap();
    kill_process(numbers[0], Signal::KILL).unwrap();
    guard.ended().await;
    let swept = tokio::task::spawn_blocking(move || sweep(run_dir.path())).await.unwrap();
    assert!(swept.guards.is_empty() && swept.orphans >= 1, "{swept:?}");
    runaway.ended().await;
}

#[tokio::test]
async fn what_a_stopped_guard_watches_is_ended_all_the_same() {
    let (agent, runaway, _) = under_stopped_guard().await;
    agent.process.kill();
    runaway.ended().await;
    assert_eq!(within(agent.process.gone()).await.signal, Some(9));
    assert_eq!(std::fs::read_dir(agent.run_dir.path()).unwrap().count(), 0);
}

#[test]
fn a_daemon_that_stops_leaves_the_record_of_a_guard_that_may_live_on() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (agent, runaway, guard) = runtime.block_on(under_stopped_guard());
    let Running { process, io, run_dir } = agent;
    drop((process, io));
    runtime.shutdown_background();
    assert_eq!(sweep(run_dir.path()).guards, [guard.as_raw_nonzero().get().cast_unsigned()]);
    tokio::runtime::Runtime::new().unwrap().block_on(runaway.ended());
}

#[tokio::test]
async fn a_guard_shrugs_off_signals_and_is_small() {
    let mut agent = shell("echo $PPID; exec cat").await;
    let guard = Pid::from_raw(agent.line().await.parse().unwrap()).unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(guard, signal).unwrap();
    }
    let status = std::fs::read_to_string(format!("/proc/{guard}/status")).unwrap();
    for line in status.lines().filter(|line| line.contains("Rss") || line.starts_with("Threads")) {
        println!("guard {line}");
    }
    assert!(status.contains("Threads:\t1\n"), "{status}");
    // A report that comes after the signals shows that it lives.
    drop(agent.io.frames);
    assert_eq!(within(agent.process.wait()).await.code, Some(0));
}

#[tokio::test]
async fn a_record_lives_as_long_as_its_guard() {
    let agent = shell("exec sleep 1000").await;
    assert_eq!(std::fs::read_dir(agent.run_dir.path()).unwrap().count(), 1);
    agent.process.kill();
    within(agent.process.gone()).await;
    assert_eq!(std::fs::read_dir(agent.run_dir.path()).unwrap().count(), 0);
}

/// A7: children of a session's commands that have left their parents end with the session, though the server that
/// it shares goes on.
#[tokio::test]
async fn a_runaway_of_a_session_ends_with_it_while_the_agent_goes_on() {
    let leave = |thread: &str| format!("THREAD=runaway-{thread} \"$0\" leave sleep 1000;");
    let mut agent = shell(&format!("{} read go; {} exec cat", leave("a"), leave("b"))).await;
    let gone = agent.pid_line().await;
    agent.io.frames.send(vec![Bytes::from_static(b"go")]);
    let other = agent.line().await;
    let mark =
        |name, values: &[&str]| Mark { name, values: values.iter().map(ToString::to_string).collect() };
    let (of, spared) = (mark("THREAD", &["runaway-a"]), mark("CALL", &[]));
    agent.process.end(Orphans { of, spared, detached: true });
    gone.ended().await;
    assert!(std::path::Path::new("/proc").join(&other).exists(), "it belongs to another session");
    agent.io.frames.send(vec![Bytes::from_static(b"still here")]);
    assert_eq!(agent.line().await, "still here");
}
