//! Snapshots around turns: reverted files, refusals, and nothing left behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::path::Path;
use std::process::Command;

use omniglot_client::ClientError;
use omniglot_schema::{
    ContentPart, EventData, PermissionReply, RevertRequest, RevertResponse, TurnId, UniversalEvent,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, Turn, message, status_of};

fn setup() -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_omniglot"))
}

fn write(daemon: &Daemon, name: &str, text: &str) {
    std::fs::write(daemon.work().join(name), text).unwrap();
}

fn read(daemon: &Daemon, name: &str) -> String {
    std::fs::read_to_string(daemon.work().join(name)).unwrap()
}

fn git(directory: &Path, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The mock agent appends a line to README.md.
async fn edit(session: &SessionDriver) -> TurnId {
    turn_id(&session.turn("[[edit]]", PermissionReply::Once).await)
}

fn turn_id(turn: &Turn) -> TurnId {
    match &turn.events.first().unwrap().data {
        EventData::TurnStarted(data) => data.turn_id.clone(),
        other => panic!("{other:?}"),
    }
}

async fn revert(session: &SessionDriver, turn: Option<&TurnId>) -> Result<RevertResponse, ClientError> {
    session.client.revert(&session.id, &RevertRequest { turn: turn.cloned(), force: false }).await
}

async fn force(session: &SessionDriver, turn: &TurnId) -> Result<RevertResponse, ClientError> {
    session.client.revert(&session.id, &RevertRequest { turn: Some(turn.clone()), force: true }).await
}

async fn unrevert(session: &SessionDriver) -> Result<RevertResponse, ClientError> {
    session.client.unrevert(&session.id, &RevertRequest::default()).await
}

fn paths_of(error: &ClientError) -> Vec<String> {
    let ClientError::Problem(problem) = error else { panic!("{error:?}") };
    problem.more["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()).collect()
}

fn statuses(events: &[UniversalEvent], wanted: &str) -> Vec<String> {
    let status = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => match data.item.content.as_slice() {
            [ContentPart::Status { label, detail, .. }] if label.ends_with(wanted) => detail.clone(),
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(status).collect()
}

#[tokio::test]
async fn a_turn_is_reverted_and_the_revert_is_taken_back() {
    let daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = edit(&session).await;
    let edited = read(&daemon, "README.md");
    assert_ne!(edited, "old\n");
    let done = revert(&session, None).await.unwrap();
    assert_eq!(done, RevertResponse { turn: turn.clone(), paths: vec!["README.md".into()] });
    assert_eq!(read(&daemon, "README.md"), "old\n");
    assert_eq!(unrevert(&session).await.unwrap().paths, ["README.md"]);
    assert_eq!(read(&daemon, "README.md"), edited);
    let told = statuses(&session.history().await, ".reverted");
    let turn = turn.as_str();
    assert_eq!(
        told,
        [
            format!("reverted turn {turn}, 1 file: README.md"),
            format!("took back the revert of turn {turn}, 1 file: README.md")
        ]
    );
}

#[tokio::test]
async fn turns_are_reverted_one_after_the_other_also_after_a_restart() {
    let mut daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    let first = edit(&session).await;
    let after_first = read(&daemon, "README.md");
    let second = edit(&session).await;
    let refused = revert(&session, Some(&first)).await.unwrap_err();
    assert_eq!((refused.status(), paths_of(&refused)), (Some(409), vec!["README.md".to_owned()]));
    daemon.stop();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    assert_eq!(revert(&session, None).await.unwrap().turn, second);
    assert_eq!(read(&daemon, "README.md"), after_first);
    assert_eq!(revert(&session, None).await.unwrap().turn, first);
    assert_eq!(read(&daemon, "README.md"), "old\n");
    assert_eq!(status_of(revert(&session, None).await), 409);
    assert_eq!(unrevert(&session).await.unwrap().turn, first);
    assert_eq!(read(&daemon, "README.md"), after_first);
}

#[tokio::test]
async fn a_file_that_somebody_has_changed_since_is_replaced_only_by_force() {
    let daemon = setup().start();
    git(&daemon.work(), &["init", "-q"]);
    write(&daemon, "README.md", "old\n");
    git(&daemon.work(), &["add", "README.md"]);
    let index = std::fs::read(daemon.work().join(".git/index")).unwrap();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = edit(&session).await;
    write(&daemon, "README.md", "mine\n");
    write(&daemon, "other.txt", "mine\n");
    let refused = revert(&session, Some(&turn)).await.unwrap_err();
    assert_eq!((refused.status(), paths_of(&refused)), (Some(409), vec!["README.md".to_owned()]));
    assert_eq!(read(&daemon, "README.md"), "mine\n");
    assert_eq!(force(&session, &turn).await.unwrap().paths, ["README.md"]);
    assert_eq!((read(&daemon, "README.md"), read(&daemon, "other.txt")), ("old\n".into(), "mine\n".into()));
    unrevert(&session).await.unwrap();
    assert_eq!(read(&daemon, "README.md"), "mine\n");
    // The project's own repository is only read.
    assert_eq!(std::fs::read(daemon.work().join(".git/index")).unwrap(), index);
}

#[tokio::test]
async fn a_message_that_waited_has_snapshots_of_its_own() {
    let daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    let first = session.turn("[[edit]]", PermissionReply::Always).await;
    let (_, stream) = session.client.post_stream(&session.id, &message("[[edit]]"), None).await.unwrap();
    let last = session.turn("[[edit]]", PermissionReply::Once).await;
    drop(stream);
    let lines = |text: &str| text.lines().count();
    assert_eq!(lines(&read(&daemon, "README.md")), 4);
    assert_eq!(revert(&session, None).await.unwrap().turn, turn_id(&last));
    assert_eq!(lines(&read(&daemon, "README.md")), 3);
    revert(&session, None).await.unwrap();
    assert_eq!(revert(&session, None).await.unwrap().turn, turn_id(&first));
    assert_eq!(read(&daemon, "README.md"), "old\n");
}

#[tokio::test]
async fn a_revert_while_a_turn_runs_is_refused() {
    let daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = edit(&session).await;
    session.post("[[edit]]").await;
    let asked = session.wait_for(0, |event| matches!(event.data, EventData::PermissionRequested(_))).await;
    assert!(asked.sequence > 0);
    assert_eq!(status_of(force(&session, &turn).await), 409);
    session.client.cancel(&session.id, omniglot_schema::QueueOnCancel::Keep).await.unwrap();
}

#[tokio::test]
async fn a_session_that_has_ended_is_reverted_too() {
    let daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    edit(&session).await;
    session.client.terminate(&session.id).await.unwrap();
    revert(&session, None).await.unwrap();
    assert_eq!(read(&daemon, "README.md"), "old\n");
    assert_eq!(statuses(&session.history().await, ".reverted").len(), 1);
}

#[tokio::test]
async fn a_turn_that_a_killed_daemon_left_is_reverted_by_force() {
    let mut daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[edit]] [[silence]]").await;
    let asked = session.wait_for(0, |event| matches!(event.data, EventData::PermissionRequested(_))).await;
    let EventData::PermissionRequested(ask) = asked.data else { panic!("{asked:?}") };
    let offset = asked.sequence;
    session.reply(ask.permission_id.as_str(), PermissionReply::Once).await.unwrap();
    let is_result = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => {
            data.item.content.iter().any(|part| matches!(part, ContentPart::ToolResult { .. }))
        }
        _ => false,
    };
    session.wait_for(offset, is_result).await;
    assert_ne!(read(&daemon, "README.md"), "old\n");
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let turn = session.history().await.into_iter().find_map(|event| match event.data {
        EventData::TurnStarted(data) => Some(data.turn_id),
        _ => None,
    });
    let turn = turn.unwrap();
    assert_eq!(status_of(revert(&session, Some(&turn)).await), 409);
    force(&session, &turn).await.unwrap();
    assert_eq!(read(&daemon, "README.md"), "old\n");
}

#[tokio::test]
async fn nothing_is_left_of_a_deleted_session() {
    let daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let kept = || std::fs::read_dir(daemon.data().join("private/snapshots")).map_or(0, Iterator::count);
    let first = SessionDriver::create(&daemon.client, "a").await;
    let second = SessionDriver::create(&daemon.client, "b").await;
    let of_first = edit(&first).await;
    edit(&second).await;
    assert_eq!(kept(), 1, "both share a directory");
    daemon.client.delete(&second.id).await.unwrap();
    assert_eq!(kept(), 1);
    assert_eq!(revert(&first, Some(&of_first)).await.unwrap_err().status(), Some(409));
    force(&first, &of_first).await.unwrap();
    assert_eq!(read(&daemon, "README.md"), "old\n");
    daemon.client.delete(&first.id).await.unwrap();
    assert_eq!(kept(), 0);
}

#[tokio::test]
async fn without_snapshots_a_revert_says_why() {
    let daemon = setup().config("snapshots = false\n").start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = edit(&session).await;
    let refused = revert(&session, Some(&turn)).await.unwrap_err();
    assert_eq!(refused.status(), Some(409));
    assert!(refused.to_string().contains("snapshots = false"), "{refused}");
    assert!(!daemon.data().join("private/snapshots").exists());
}

#[tokio::test]
async fn without_git_turns_go_on_and_a_revert_says_what_to_do() {
    let daemon = setup().env("PATH", "/nowhere").start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = edit(&session).await;
    assert!(daemon.work().join("notes.txt").exists());
    assert!(statuses(&session.history().await, ".warning").is_empty());
    let refused = revert(&session, Some(&turn)).await.unwrap_err();
    assert_eq!(refused.status(), Some(409));
    assert!(refused.to_string().contains("git is not installed"), "{refused}");
}

#[tokio::test]
async fn the_command_line_reverts_lists_what_is_in_the_way_and_undoes() {
    let daemon = setup().start();
    write(&daemon, "README.md", "old\n");
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = edit(&session).await;
    let run = |words: &[&str]| {
        let mut command = Command::new(daemon.program());
        command.args(["sessions", "revert", "s"]).args(words).env("OMNIGLOT_HOME", daemon.data());
        let done = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
    };
    let turn = turn.as_str();
    assert_eq!(run(&[]), (0, format!("{turn}: reverted, 1 file\n  README.md\n"), String::new()));
    let undone = format!("{turn}: the revert is taken back, 1 file\n  README.md\n");
    assert_eq!(run(&["--undo"]), (0, undone, String::new()));
    write(&daemon, "README.md", "mine\n");
    let (code, _, said) = run(&["--turn", turn]);
    assert!(code == 1 && said.contains("README.md") && said.contains("`--force` restores"), "{said}");
    assert!(said.contains("`--undo`") && !said.contains("unrevert"), "{said}");
    assert_eq!(run(&["--force"]).0, 0);
    assert_eq!(read(&daemon, "README.md"), "old\n");
}
