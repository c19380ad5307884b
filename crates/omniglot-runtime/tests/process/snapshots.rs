//! Snapshots of directories by a real git: what is kept, what is left out, and what a revert never touches.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use omniglot_runtime::process::{Limits, Supervisor};
use omniglot_runtime::snapshots::{
    Before, Restore, RestoreError, Restored, SessionSnapshots, SnapshotError, Snapshots, TurnName,
};
use omniglot_schema::TurnId;
use omniglot_store::SessionNo;
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use crate::support::guard_program;

/// A data directory and a directory to work in.
struct Fixture {
    base: TempDir,
    session: SessionSnapshots,
    work: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        Self::at("work")
    }

    fn at(inner: &str) -> Self {
        let base = TempDir::new().unwrap();
        let work = base.path().canonicalize().unwrap().join(inner);
        fs::create_dir_all(&work).unwrap();
        fs::create_dir_all(base.path().join("data/private/run")).unwrap();
        let session = snapshots(base.path()).of_session(SessionNo(1), &work);
        Self { base, session, work }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.work.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.work.join(name)).ok()
    }

    /// Plays a turn that does this to the directory.
    async fn turn(&self, number: u64, act: impl FnOnce(&Self)) -> String {
        let Before::Taken(tree, _) = self.session.before().await else { panic!("no snapshot") };
        let turn = TurnName { seq: number, id: TurnId(format!("turn_{number}")) };
        self.session.begin(&turn, &tree);
        act(self);
        self.session.after(turn.clone()).await.unwrap().unwrap();
        turn.id.0
    }

    async fn restore(&self, turn: &str, force: bool, back: bool) -> Result<Restored, RestoreError> {
        self.session.restore(&Restore { turn: Some(turn.to_owned()), force, back }).await
    }

    async fn revert(&self, turn: &str) -> Result<Vec<String>, RestoreError> {
        self.restore(turn, false, false).await.map(|restored| restored.paths)
    }

    /// The repository of the snapshots.
    fn repository(&self) -> PathBuf {
        let folder = self.base.path().join("data/private/snapshots");
        fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
    }
}

fn snapshots(base: &Path) -> Snapshots {
    let run_dir = base.join("data/private/run");
    let supervisor = Supervisor { guard: guard_program(), run_dir, limits: Limits::default() };
    Snapshots::new(true, &base.join("data"), supervisor, TaskTracker::new())
}

fn git(directory: &Path, words: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn files_are_made_changed_and_removed_and_all_of_it_is_reverted() {
    let place = Fixture::new();
    place.write("kept", "same\n");
    place.write("changed", "old\r\n");
    place.write("removed", "old\n");
    place.write("deep/down/removed", "old\n");
    symlink("kept", place.work.join("link")).unwrap();
    let turn = place
        .turn(1, |place| {
            place.write("changed", "new\n");
            place.write("made/here", "new\n");
            fs::remove_file(place.work.join("removed")).unwrap();
            fs::remove_dir_all(place.work.join("deep")).unwrap();
            fs::remove_file(place.work.join("link")).unwrap();
            symlink("changed", place.work.join("link")).unwrap();
            fs::set_permissions(place.work.join("kept"), fs::Permissions::from_mode(0o755)).unwrap();
        })
        .await;
    let all = ["changed", "deep/down/removed", "kept", "link", "made/here", "removed"];
    assert_eq!(place.revert(&turn).await.unwrap(), all);
    assert_eq!(place.read("changed").unwrap(), "old\r\n");
    assert_eq!(place.read("deep/down/removed").unwrap(), "old\n");
    assert_eq!(place.read("removed").unwrap(), "old\n");
    assert!(!place.work.join("made").exists());
    assert_eq!(fs::read_link(place.work.join("link")).unwrap(), Path::new("kept"));
    assert_eq!(fs::metadata(place.work.join("kept")).unwrap().permissions().mode() & 0o111, 0);
    assert_eq!(place.restore(&turn, false, true).await.unwrap().paths, all);
    assert_eq!(place.read("changed").unwrap(), "new\n");
    assert!(!place.work.join("deep").exists());
}

#[tokio::test]
async fn content_is_kept_byte_by_byte_whatever_the_attributes_say() {
    let place = Fixture::new();
    git(&place.work, &["init", "-q"]);
    let trace = place.base.path().join("evil-filter");
    git(&place.work, &["config", "filter.evil.clean", &format!("touch {}", trace.display())]);
    git(&place.work, &["config", "core.autocrlf", "input"]);
    place.write(".gitattributes", "* text eol=crlf filter=evil ident\n");
    place.write("a", "one\r\ntwo\n$Id$\n");
    let turn = place.turn(1, |place| place.write("a", "new\n")).await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["a"]);
    assert_eq!(place.read("a").unwrap(), "one\r\ntwo\n$Id$\n");
    assert!(!trace.exists());
}

#[tokio::test]
async fn a_file_that_became_a_directory_is_a_file_again() {
    let place = Fixture::new();
    place.write("a", "file\n");
    place.write("b/c", "file\n");
    let turn = place
        .turn(1, |place| {
            fs::remove_file(place.work.join("a")).unwrap();
            place.write("a/inner", "new\n");
            fs::remove_dir_all(place.work.join("b")).unwrap();
            place.write("b", "new\n");
        })
        .await;
    place.write("a/mine", "mine\n");
    let refused = place.revert(&turn).await.unwrap_err();
    assert_eq!(refused, RestoreError::Changed { paths: vec!["a/mine".into()] });
    fs::remove_file(place.work.join("a/mine")).unwrap();
    assert_eq!(place.revert(&turn).await.unwrap(), ["a", "a/inner", "b", "b/c"]);
    assert_eq!(place.read("a").unwrap(), "file\n");
    assert_eq!(place.read("b/c").unwrap(), "file\n");
}

#[tokio::test]
async fn what_no_snapshot_has_is_never_replaced() {
    let place = Fixture::new();
    place.write("a", "small\n");
    place.write("dist/x", "old\n");
    let large = "x".repeat(3 * 1024 * 1024);
    let turn = place
        .turn(1, |place| {
            place.write("a", &large);
            fs::remove_dir_all(place.work.join("dist")).unwrap();
            place.write(".gitignore", "dist\n");
        })
        .await;
    place.write("dist/x", "built\n");
    let refused = place.restore(&turn, true, false).await.unwrap_err();
    assert_eq!(refused, RestoreError::InTheWay { paths: vec!["a".into(), "dist/x".into()] });
    assert_eq!(place.read("dist/x").unwrap(), "built\n");
    fs::remove_dir_all(place.work.join("dist")).unwrap();
    symlink(place.base.path(), place.work.join("dist")).unwrap();
    fs::remove_file(place.work.join("a")).unwrap();
    let refused = place.restore(&turn, true, false).await.unwrap_err();
    assert_eq!(refused, RestoreError::InTheWay { paths: vec!["dist".into()] });
    assert!(!place.base.path().join("x").exists());
}

#[tokio::test]
async fn a_folder_that_became_a_link_is_not_followed() {
    let place = Fixture::new();
    place.write("a/f", "old\n");
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("f"), "theirs\n").unwrap();
    let turn = place
        .turn(1, |place| {
            fs::remove_dir_all(place.work.join("a")).unwrap();
            symlink(outside.path(), place.work.join("a")).unwrap();
        })
        .await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["a", "a/f"]);
    assert_eq!(place.read("a/f").unwrap(), "old\n");
    assert_eq!(fs::read_to_string(outside.path().join("f")).unwrap(), "theirs\n");
}

#[tokio::test]
async fn ignored_files_and_submodules_are_left_out() {
    let place = Fixture::at("project/inner");
    let project = place.base.path().join("project");
    let other = place.base.path().join("other");
    fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q"]);
    fs::write(other.join("f"), "theirs\n").unwrap();
    git(&other, &["add", "."]);
    git(&other, &["commit", "-qm", "f"]);
    git(&project, &["init", "-q"]);
    git(&project, &["submodule", "--quiet", "add", other.to_str().unwrap(), "inner/sub"]);
    fs::write(project.join(".gitignore"), "*.log\n").unwrap();
    fs::write(project.join(".git/info/exclude"), "secret\n").unwrap();
    place.write("a.log", "old\n");
    place.write("secret", "old\n");
    place.write("a", "old\n");
    let turn = place
        .turn(1, |place| {
            for name in ["a.log", "secret", "a", "sub/f"] {
                place.write(name, "new\n");
            }
            fs::write(project.join("outside"), "new\n").unwrap();
        })
        .await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["a"]);
    assert_eq!(place.read("sub/f").unwrap(), "new\n");
    assert!(project.join("outside").exists());
}

#[tokio::test]
async fn the_projects_repository_is_only_read_and_its_index_may_be_broken() {
    let place = Fixture::new();
    git(&place.work, &["init", "-q"]);
    place.write("a", "committed\n");
    git(&place.work, &["add", "."]);
    git(&place.work, &["commit", "-qm", "a"]);
    fs::write(place.work.join(".git/index"), "broken").unwrap();
    let head = git(&place.work, &["rev-parse", "HEAD"]);
    let turn = place.turn(1, |place| place.write("a", "new\n")).await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["a"]);
    assert_eq!(place.read("a").unwrap(), "committed\n");
    assert_eq!(fs::read_to_string(place.work.join(".git/index")).unwrap(), "broken");
    assert_eq!(git(&place.work, &["rev-parse", "HEAD"]), head);
    let alternates = fs::read_to_string(place.repository().join("objects/info/alternates")).unwrap();
    assert_eq!(alternates, format!("{}\n", place.work.join(".git/objects").display()));
}

/// The project says that its objects come from a server, and has a hook for everything that git does.
#[tokio::test]
async fn no_hook_runs_and_no_server_is_asked_for_a_snapshot() {
    let place = Fixture::new();
    git(&place.work, &["init", "-q"]);
    place.write("a", "old\n");
    git(&place.work, &["add", "."]);
    git(&place.work, &["commit", "-qm", "a"]);
    let ran = place.base.path().join("ran");
    let script = place.base.path().join("script");
    fs::write(&script, format!("#!/bin/sh\necho \"$0\" >> {}\nexit 1\n", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for hook in ["post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor"] {
        let hook = place.work.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::copy(&script, hook).unwrap();
    }
    let script = script.to_str().unwrap();
    for (name, value) in [
        ("core.fsmonitor", script),
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "server:/repository"),
        ("remote.origin.promisor", "true"),
        ("core.sshCommand", script),
        ("credential.helper", script),
    ] {
        git(&place.work, &["config", name, value]);
    }
    // An object that is not here would be fetched from that server.
    let blob = git(&place.work, &["rev-parse", "HEAD:a"]);
    let (folder, name) = blob.trim().split_at(2);
    fs::remove_file(place.work.join(".git/objects").join(folder).join(name)).unwrap();
    let turn = place.turn(1, |place| place.write("a", "new\n")).await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["a"]);
    assert_eq!(place.read("a").unwrap(), "old\n");
    assert!(!ran.exists(), "{:?}", fs::read_to_string(&ran));
}

#[tokio::test]
async fn locks_and_an_index_that_a_killed_git_left_do_no_harm() {
    let place = Fixture::new();
    place.write("a", "old\n");
    place.turn(1, |place| place.write("a", "new\n")).await;
    fs::write(place.repository().join("index.lock"), "").unwrap();
    fs::write(place.repository().join("index"), "half").unwrap();
    let again = snapshots(place.base.path()).of_session(SessionNo(1), &place.work);
    let place = Fixture { session: again, ..place };
    let turn = place.turn(2, |place| place.write("b", "new\n")).await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["b"]);
    assert_eq!(place.revert("turn_1").await.unwrap(), ["a"]);
    assert_eq!(place.read("a").unwrap(), "old\n");
}

#[tokio::test]
async fn home_and_the_daemons_own_directory_are_not_kept() {
    let place = Fixture::new();
    let all = snapshots(place.base.path());
    let refused = |directory: PathBuf| {
        let session = all.of_session(SessionNo(2), &directory);
        async move { session.before().await }
    };
    for directory in [PathBuf::from("/"), place.base.path().canonicalize().unwrap()] {
        let before = refused(directory).await;
        assert!(matches!(before, Before::Missing(SnapshotError::Excluded(_))), "{before:?}");
    }
    if let Some(home) = std::env::var_os("HOME") {
        let before = refused(home.into()).await;
        assert!(matches!(before, Before::Missing(SnapshotError::Excluded(_))), "{before:?}");
    }
}

#[tokio::test]
async fn too_many_files_are_not_kept_and_the_session_hears_of_it_once() {
    let place = Fixture::new();
    for number in 0..=50_000 {
        fs::write(place.work.join(number.to_string()), "").unwrap();
    }
    let Before::Missing(error) = place.session.before().await else { panic!("a snapshot") };
    assert_eq!(error, SnapshotError::TooManyFiles);
    assert!(place.session.is_news(&error));
    assert!(!place.session.is_news(&error));
}

#[tokio::test]
async fn snapshots_of_sessions_that_are_gone_are_swept() {
    let place = Fixture::new();
    place.write("a", "old\n");
    place.turn(1, |place| place.write("a", "new\n")).await;
    let all = snapshots(place.base.path());
    all.sweep(|no| no == SessionNo(1));
    assert!(!all.are_empty());
    all.sweep(|_| false);
    assert!(all.are_empty());
}

/// The turn only makes the file visible: it was there before, and no snapshot has it.
#[tokio::test]
async fn a_file_that_was_ignored_before_the_turn_is_not_removed() {
    let place = Fixture::new();
    place.write(".gitignore", ".env\n");
    place.write(".env", "secret\n");
    let turn = place.turn(1, |place| place.write(".gitignore", "\n")).await;
    let refused = place.restore(&turn, true, false).await.unwrap_err();
    assert_eq!(refused, RestoreError::InTheWay { paths: vec![".env".into()] });
    assert_eq!(place.read(".env").unwrap(), "secret\n");
    assert_eq!(place.read(".gitignore").unwrap(), "\n");
}

/// A client that repeats its request must not replace what can be taken back.
#[tokio::test]
async fn a_turn_that_is_reverted_twice_can_be_taken_back() {
    let place = Fixture::new();
    place.write("a", "old\n");
    let turn = place.turn(1, |place| place.write("a", "new\n")).await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["a"]);
    assert_eq!(place.revert(&turn).await.unwrap(), Vec::<String>::new());
    assert_eq!(place.restore(&turn, false, true).await.unwrap().paths, ["a"]);
    assert_eq!(place.read("a").unwrap(), "new\n");
}

/// Paths are relative to the top of the project, so snapshots of another top say nothing about this one.
#[tokio::test]
async fn a_repository_that_a_turn_makes_around_the_directory_removes_nothing() {
    let place = Fixture::at("outer/work");
    place.write("a", "old\n");
    let (outer, work) = (place.work.parent().unwrap().to_owned(), place.work.clone());
    let Before::Taken(tree, _) = place.session.before().await else { panic!("no snapshot") };
    let turn = TurnName { seq: 1, id: TurnId("turn_1".into()) };
    place.session.begin(&turn, &tree);
    git(&outer, &["init", "-q"]);
    assert!(place.session.after(turn).await.unwrap().is_err());
    let refused = place.restore("turn_1", true, false).await.unwrap_err();
    assert_eq!(refused, RestoreError::NoTurn("turn_1".into()));
    assert_eq!(fs::read_to_string(work.join("a")).unwrap(), "old\n");
}

#[tokio::test]
async fn the_directory_stays_when_all_its_files_are_reverted() {
    let place = Fixture::at("outer/work");
    git(place.work.parent().unwrap(), &["init", "-q"]);
    let turn = place.turn(1, |place| place.write("a", "new\n")).await;
    assert_eq!(place.revert(&turn).await.unwrap(), ["a"]);
    assert!(place.work.is_dir());
}

/// Objects of the project are borrowed, and the project may drop them.
#[tokio::test]
async fn nothing_is_restored_when_some_content_is_gone() {
    let place = Fixture::new();
    git(&place.work, &["init", "-q"]);
    place.write("a", "old\n");
    place.write("b", "old too\n");
    git(&place.work, &["add", "."]);
    git(&place.work, &["commit", "-q", "-m", "first"]);
    let turn = place
        .turn(1, |place| {
            place.write("a", "new\n");
            place.write("b", "new too\n");
        })
        .await;
    let object = git(&place.work, &["rev-parse", "HEAD:a"]);
    let (folder, rest) = object.trim().split_at(2);
    fs::remove_file(place.work.join(".git/objects").join(folder).join(rest)).unwrap();
    let refused = place.revert(&turn).await.unwrap_err();
    assert!(matches!(refused, RestoreError::Unavailable(SnapshotError::Failed(_))), "{refused}");
    assert_eq!(place.read("b").unwrap(), "new too\n");
}
