//! Tests that a process's output comes whole and in order, and its end after it.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use bytes::Bytes;
use omniglot_runtime::process::lines::Line;
use omniglot_runtime::process::{Exit, Limits, SpawnError};

use crate::support::{launch, shell, start, start_with, text, within};

#[tokio::test]
async fn the_exit_code_comes_after_the_last_line() {
    let mut agent = shell("echo one; echo two; exit 3").await;
    assert_eq!(agent.all_text().await, ["one", "two"]);
    let (first, second) = (agent.process.wait(), agent.process.wait());
    let exit = Exit { code: Some(3), signal: None };
    assert_eq!((within(first).await, within(second).await), (exit, exit), "several may ask");
}

#[tokio::test]
async fn a_process_that_kills_itself_is_told_with_its_signal() {
    let agent = shell("kill -SEGV $$").await;
    assert_eq!(within(agent.process.wait()).await, Exit { code: None, signal: Some(11) });
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_not_found() {
    for program in ["no-such-agent", "./no-such-agent", "/no/such/agent"] {
        let error = start(program, &[]).await.map(|_| ()).unwrap_err();
        assert!(matches!(&error, SpawnError::NotFound { program: named } if named == program), "{error:?}");
    }
}

#[tokio::test]
async fn a_directory_that_does_not_exist_is_told_apart() {
    let launch = launch("true", &[]);
    let launch = omniglot_runtime::process::Launch { cwd: "/no/such/directory".into(), ..launch };
    let error = start_with(launch, Limits::default()).await.map(|_| ()).unwrap_err();
    assert!(matches!(error, SpawnError::Directory(_)), "{error:?}");
}

#[tokio::test]
async fn a_program_that_the_system_refuses_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("agent");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let program = script.to_str().unwrap();

    let Err(SpawnError::Refused { errno, .. }) = start(program, &[]).await else { panic!("it started") };
    assert_eq!(errno, rustix::io::Errno::ACCESS.raw_os_error());

    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let Err(SpawnError::Refused { message, .. }) = start(program, &[]).await else { panic!("it started") };
    assert!(message.contains("interpreter"), "{message}");
}

#[tokio::test]
async fn half_a_line_at_the_end_is_told_as_such() {
    let mut agent = shell("printf 'whole\\nhalf'").await;
    let [whole, half] = agent.all_lines().await.try_into().unwrap();
    assert_eq!(text(&whole), "whole");
    assert_eq!(half, Line::Partial(Bytes::from_static(b"half")));
}

#[tokio::test]
async fn a_reader_that_looks_away_loses_nothing() {
    let limits = Limits { queued_batches: 1, queued_bytes: 10_000, ..Limits::default() };
    let mut flood = start_with(launch("seq", &["1", "200000"]), limits).await.unwrap();
    let first = within(flood.io.lines.recv()).await.unwrap();
    // Another process lives its whole life meanwhile.
    let mut other = shell("seq 1 20000").await;
    assert_eq!(other.all_lines().await.len(), 20_000);

    let numbers = first.iter().map(text).chain(flood.all_text().await);
    let wrong = numbers.enumerate().find(|(at, number)| *number != (at + 1).to_string());
    assert_eq!(wrong, None);
    assert_eq!(within(flood.process.wait()).await.code, Some(0));
}

#[tokio::test]
async fn the_end_is_told_though_nobody_takes_the_lines_and_they_outlive_it() {
    // The pipe holds all that is written; the queue does not.
    let limits = Limits { queued_batches: 1, queued_bytes: 1000, ..Limits::default() };
    let mut agent = start_with(launch("seq", &["1", "10000"]), limits).await.unwrap();
    assert_eq!(within(agent.process.gone()).await.code, Some(0));
    assert_eq!(agent.all_text().await.len(), 10_000);
}

#[tokio::test]
async fn an_endless_line_gives_its_head_and_the_next_one_is_whole() {
    let script = "echo before; head -c 52428800 /dev/zero | tr '\\0' x; echo; echo after";
    let limits = Limits { line_cap: 1024 * 1024, ..Limits::default() };
    let mut agent = start_with(launch("sh", &["-c", script]), limits).await.unwrap();
    let [before, long, after] = agent.all_lines().await.try_into().unwrap();
    assert_eq!((text(&before), text(&after)), ("before".into(), "after".into()));
    assert_eq!(long, Line::TooLong { head: Bytes::from(vec![b'x'; 4096]), length: 52_428_800 });
}

#[tokio::test]
async fn frames_reach_the_agent_and_dropping_the_sender_closes_its_stdin() {
    let mut agent = start("cat", &[]).await.unwrap();
    agent.io.frames.send(vec![Bytes::from_static(b"{\"id\":1}"), Bytes::from_static(b"{\"id\":2}")]);
    within(agent.io.frames.progress()).await;
    drop(agent.io.frames);
    let mut lines = vec![];
    while let Some(more) = within(agent.io.lines.recv()).await {
        lines.extend(more.iter().map(text));
    }
    assert_eq!(lines, ["{\"id\":1}", "{\"id\":2}"]);
    assert_eq!(within(agent.process.wait()).await.code, Some(0));
}

#[tokio::test]
async fn an_agent_that_closes_its_stdin_is_noticed_by_the_sender() {
    let mut agent = shell("exec 0<&-; echo closed; exec sleep 1000").await;
    assert_eq!(agent.line().await, "closed");
    // Not always the first: a process that another test is just starting may hold the pipe until its exec.
    within(async {
        while !agent.io.frames.is_closed() {
            agent.io.frames.send(vec![Bytes::from_static(b"{}")]);
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_never_reads_is_sent_nothing_and_still_dies() {
    let agent = start("sleep", &["1000"]).await.unwrap();
    let large = Bytes::from(vec![b'x'; 1024 * 1024]);
    agent.io.frames.send(vec![large.clone(), large]);
    agent.process.kill();
    assert_eq!(within(agent.process.wait()).await.signal, Some(9));
    within(agent.io.frames.closed()).await;
    assert_eq!(agent.io.frames.take_written(), 0);
}

#[tokio::test]
async fn stderr_is_kept_by_its_first_and_last_lines() {
    let agent = shell("for i in $(seq 1 100); do echo oops $i >&2; done; exit 1").await;
    assert_eq!(within(agent.process.wait()).await.code, Some(1));
    let stderr = agent.process.stderr();
    assert!(stderr.truncated);
    assert_eq!(stderr.total_lines, Some(100));
    assert!(stderr.head.unwrap().starts_with("oops 1\noops 2\n"));
    assert!(stderr.tail.unwrap().ends_with("oops 99\noops 100"));
}

#[tokio::test]
async fn a_child_that_keeps_the_pipes_does_not_delay_the_end() {
    let mut agent = shell("sleep 1000 & echo $!; exit 0").await;
    let child = agent.pid_line().await;
    let begun = Instant::now();
    assert_eq!(agent.all_lines().await, []);
    assert_eq!(within(agent.process.wait()).await.code, Some(0));
    println!("the end was told after {:?}", begun.elapsed());
    child.ended().await;
}
