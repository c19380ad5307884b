//! Sessions with a git worktree of their own: made with the session, removed with it when nothing would be lost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use omniglot_schema::{CreateSessionRequest, PermissionReply, SessionInfo};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id, status_of};

fn git(directory: &Path, words: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// A daemon whose working directory is a project with one commit.
fn project() -> Daemon {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    git(&daemon.work(), &["init", "-q"]);
    std::fs::create_dir(daemon.work().join("inner")).unwrap();
    std::fs::write(daemon.work().join("README.md"), "old\n").unwrap();
    std::fs::write(daemon.work().join("inner/README.md"), "old\n").unwrap();
    let hook = daemon.work().join(".git/hooks/post-checkout");
    std::fs::write(&hook, "#!/bin/sh\ntouch hooked\n").unwrap();
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    git(&daemon.work(), &["add", "."]);
    git(&daemon.work(), &["commit", "-qm", "first"]);
    daemon
}

fn request(directory: Option<PathBuf>) -> CreateSessionRequest {
    let directory = directory.map(|directory| directory.to_string_lossy().into_owned());
    CreateSessionRequest { worktree: true, directory, ..CreateSessionRequest::new("mock") }
}

async fn info(session: &SessionDriver) -> SessionInfo {
    session.client.detail(&session.id).await.unwrap().info
}

#[tokio::test]
async fn a_session_works_in_its_own_worktree_until_it_is_deleted() {
    let daemon = project();
    let session = SessionDriver::create_with(&daemon.client, "s", &request(None)).await;
    let info = info(&session).await;
    let worktree = info.worktree.unwrap();
    assert_eq!(info.directory.as_ref(), Some(&worktree.path));
    assert!(Path::new(&worktree.path).starts_with(daemon.data().join("worktrees").canonicalize().unwrap()));
    session.turn("[[edit]]", PermissionReply::Once).await;
    let edited = |directory: &Path| std::fs::read_to_string(directory.join("README.md")).unwrap() != "old\n";
    assert!(edited(Path::new(&worktree.path)) && !edited(&daemon.work()));

    assert_eq!(status_of(daemon.client.delete(&session.id).await), 409, "not committed");
    git(Path::new(&worktree.path), &["commit", "-qam", "second"]);
    let refused = daemon.client.delete(&session.id).await.unwrap_err();
    assert!(refused.to_string().contains("commits that no other branch has"), "{refused}");
    git(&daemon.work(), &["merge", "-q", &worktree.branch]);
    daemon.client.delete(&session.id).await.unwrap();
    assert!(!Path::new(&worktree.path).exists());
    assert_eq!(git(&daemon.work(), &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(git(&daemon.work(), &["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn a_turn_in_a_worktree_is_reverted_and_force_deletes_it_all() {
    let daemon = project();
    let session =
        SessionDriver::create_with(&daemon.client, "s", &request(Some(daemon.work().join("inner")))).await;
    let info = info(&session).await;
    let directory = PathBuf::from(info.directory.unwrap());
    assert!(directory.ends_with("inner"));
    assert!(!Path::new(&info.worktree.unwrap().path).join("hooked").exists(), "no hook runs");
    session.turn("[[edit]]", PermissionReply::Once).await;
    let reverted = daemon.client.revert(&session.id, &Default::default()).await.unwrap();
    assert_eq!(reverted.paths, ["README.md"]);
    assert_eq!(std::fs::read_to_string(directory.join("README.md")).unwrap(), "old\n");
    session.turn("[[edit]]", PermissionReply::Once).await;
    daemon.client.delete_with(&session.id, true).await.unwrap();
    assert!(!directory.exists());
    assert_eq!(git(&daemon.work(), &["branch", "--format=%(refname:short)"]), "main\n");
}

#[tokio::test]
async fn where_no_worktree_can_be_made_there_is_no_session() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let refused = daemon.client.create(&session_id("s"), &request(None)).await.unwrap_err();
    assert_eq!(refused.status(), Some(400));
    assert!(refused.to_string().contains("not a git repository"), "{refused}");
    git(&daemon.work(), &["init", "-q"]);
    let unborn = daemon.client.create(&session_id("s"), &request(None)).await;
    assert_eq!(status_of(unborn), 400, "there is no commit");
    assert_eq!(status_of(daemon.client.detail(&session_id("s")).await), 404);
    let left = std::fs::read_dir(daemon.data().join("worktrees")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_session_that_was_not_made_leaves_no_worktree() {
    let daemon = project();
    let mut asked = request(None);
    asked.agent_version = Some("9.9.9".into());
    daemon.client.create(&session_id("s"), &asked).await.unwrap_err();
    assert_eq!(git(&daemon.work(), &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(std::fs::read_dir(daemon.data().join("worktrees")).map_or(0, Iterator::count), 0);
}

#[tokio::test]
async fn a_worktree_stays_while_a_fork_works_in_it() {
    let daemon = project();
    let session = SessionDriver::create_with(&daemon.client, "origin", &request(None)).await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    let directory = PathBuf::from(info(&session).await.directory.unwrap());
    daemon.client.fork(&session.id, &session_id("fork")).await.unwrap();
    let fork = SessionDriver::of(&daemon.client, "fork");
    assert_eq!(info(&fork).await.directory.as_deref(), directory.to_str());

    let refused = daemon.client.delete(&session.id).await.unwrap_err();
    assert_eq!(refused.status(), Some(409));
    assert!(refused.to_string().contains("fork"), "{refused}");
    fork.turn("[[text:1]]", PermissionReply::Once).await;
    assert!(directory.exists());
    daemon.client.delete(&fork.id).await.unwrap();
    daemon.client.delete(&session.id).await.unwrap();
    assert!(!directory.exists());
}

#[tokio::test]
async fn force_takes_the_worktree_away_from_a_fork() {
    let daemon = project();
    let session = SessionDriver::create_with(&daemon.client, "origin", &request(None)).await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    let directory = PathBuf::from(info(&session).await.directory.unwrap());
    daemon.client.fork(&session.id, &session_id("fork")).await.unwrap();
    daemon.client.delete_with(&session.id, true).await.unwrap();
    assert!(!directory.exists());
}

#[tokio::test]
async fn filters_of_the_user_and_of_the_project_run_for_a_worktree() {
    let daemon = project();
    let mine = "[filter \"mine\"]\nsmudge = tr a-z A-Z\nclean = tr A-Z a-z\n";
    std::fs::write(daemon.home().join(".gitconfig"), mine).unwrap();
    git(&daemon.work(), &["config", "filter.ours.smudge", "sed s/old/new/"]);
    std::fs::write(daemon.work().join(".gitattributes"), "/README.md filter=mine\n/inner/* filter=ours\n")
        .unwrap();
    git(&daemon.work(), &["add", "."]);
    git(&daemon.work(), &["commit", "-qm", "filters"]);
    let session = SessionDriver::create_with(&daemon.client, "s", &request(None)).await;
    let top = PathBuf::from(info(&session).await.worktree.unwrap().path);
    assert_eq!(std::fs::read_to_string(top.join("README.md")).unwrap(), "OLD\n");
    assert_eq!(std::fs::read_to_string(top.join("inner/README.md")).unwrap(), "new\n");
}
