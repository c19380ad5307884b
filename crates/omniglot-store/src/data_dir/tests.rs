//! The move of an older directory: whole, killed after each step, repeated, and refused.

use std::fs;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::lock::{LockHolder, lock_holder};
use crate::{Options, Store};

const FILES: [(&str, &str); 7] = [
    ("token", "private/token"),
    ("run/a.json", "private/run/a.json"),
    ("agents/gemini.json", "private/agents/gemini.json"),
    ("daemon.log", "private/daemon.log.old"),
    ("mock-agent/mock-1.json", "shared/mock-agent/mock-1.json"),
    ("probe/x", "shared/probe/x"),
    ("attachments/1/a.png", "shared/attachments/1/a.png"),
];

/// A directory as an older version leaves it when it is killed: the rows of the database are in its WAL.
fn older() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, _) in FILES {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    fs::write(dir.path().join("omniglot.toml"), "").unwrap();
    fs::write(dir.path().join(lock::NAME), r#"{"pid":1,"url":"http://old"}"#).unwrap();
    let alive = tempfile::tempdir().unwrap();
    let writer = Connection::open(alive.path().join(DATABASE)).unwrap();
    writer.pragma_update(None, "journal_mode", "WAL").unwrap();
    writer.execute_batch("CREATE TABLE old (x); INSERT INTO old VALUES (42)").unwrap();
    for name in [DATABASE.to_owned(), format!("{DATABASE}-wal"), format!("{DATABASE}-shm")] {
        fs::copy(alive.path().join(&name), dir.path().join(&name)).unwrap();
    }
    dir
}

fn answer(dir: &Path) -> i64 {
    let database = Connection::open(private(dir).join(DATABASE)).unwrap();
    database.query_row("SELECT x FROM old", [], |row| row.get(0)).unwrap()
}

#[track_caller]
fn assert_moved(dir: &Path) {
    for (name, place) in FILES {
        assert_eq!(fs::read_to_string(dir.join(place)).unwrap(), name);
    }
    assert_eq!(answer(dir), 42);
    let mut left: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    // The links keep what configurations and queued messages name.
    assert_eq!(left, ["attachments", "omniglot.toml", "private", "shared", "token"]);
    assert_eq!(fs::read_to_string(dir.join("attachments/1/a.png")).unwrap(), "attachments/1/a.png");
    assert_eq!(fs::read_to_string(dir.join("token")).unwrap(), "token");
    assert!(!is_older(dir));
}

fn start(dir: &Path) -> Result<(), StoreError> {
    make(dir)?;
    let _lock = Lock::take(dir)?;
    migrate(dir)
}

#[test]
fn a_move_that_was_killed_after_any_step_is_continued_by_the_next_start() {
    for done in 0..=STEPS.len() {
        let dir = older();
        make(dir.path()).unwrap();
        for step in &STEPS[..done] {
            step.run(dir.path()).unwrap();
        }
        start(dir.path()).unwrap();
        assert_moved(dir.path());
        start(dir.path()).unwrap();
        assert_moved(dir.path());
    }
}

#[test]
fn a_move_that_was_killed_before_the_rename_of_the_database_keeps_its_rows() {
    let dir = older();
    end_wal(&dir.path().join(DATABASE)).unwrap();
    assert!(!dir.path().join(format!("{DATABASE}-wal")).exists());
    start(dir.path()).unwrap();
    assert_moved(dir.path());
}

#[test]
fn a_new_log_keeps_the_older_one_beside_it() {
    let dir = older();
    make(dir.path()).unwrap();
    fs::write(private(dir.path()).join("daemon.log"), "new").unwrap();
    start(dir.path()).unwrap();
    assert_moved(dir.path());
    assert_eq!(fs::read_to_string(private(dir.path()).join("daemon.log")).unwrap(), "new");
}

#[test]
fn an_older_daemon_that_runs_is_named_and_nothing_is_moved() {
    let dir = older();
    let running = Lock::take_older(dir.path()).unwrap();
    let holder = LockHolder {
        pid: 7,
        url: "http://old".into(),
        token_file: None,
        certificate: None,
        temporary: false,
    };
    running.announce(&holder).unwrap();
    let refused = start(dir.path()).unwrap_err();
    assert!(refused.to_string().contains("in use by the daemon with pid 7 at http://old"), "{refused}");
    assert_eq!(lock_holder(dir.path()), Some(holder));
    assert!(dir.path().join(DATABASE).exists() && !private(dir.path()).join("token").exists());
    drop(running);
    start(dir.path()).unwrap();
    assert_moved(dir.path());
}

#[test]
fn a_database_that_another_program_has_open_is_not_moved() {
    let dir = older();
    let reader = Connection::open(dir.path().join(DATABASE)).unwrap();
    let _: i64 = reader.query_row("SELECT x FROM old", [], |row| row.get(0)).unwrap();
    let refused = start(dir.path()).unwrap_err();
    assert!(matches!(refused, StoreError::DatabaseOpen(_)), "{refused}");
    assert!(dir.path().join("token").symlink_metadata().unwrap().is_file());
    drop(reader);
    start(dir.path()).unwrap();
    assert_moved(dir.path());
}

#[test]
fn files_that_are_there_twice_are_named_and_left() {
    let dir = older();
    start(dir.path()).unwrap();
    fs::remove_file(dir.path().join("token")).unwrap();
    for name in [DATABASE, "token", lock::NAME] {
        fs::write(dir.path().join(name), "of an older version").unwrap();
    }
    let refused = start(dir.path()).unwrap_err().to_string();
    assert!(refused.starts_with("omniglot.db, token of "), "{refused}");
    assert_eq!(answer(dir.path()), 42);
    assert_eq!(fs::read_to_string(dir.path().join("token")).unwrap(), "of an older version");
}

#[tokio::test]
async fn opening_the_log_moves_an_older_directory() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    store.close().await.unwrap();
    drop(store);
    fs::rename(private(dir.path()).join(DATABASE), dir.path().join(DATABASE)).unwrap();
    fs::remove_dir_all(private(dir.path())).unwrap();
    assert_eq!(private_file(dir.path(), DATABASE), dir.path().join(DATABASE));
    let store = Store::open(dir.path(), Options::default()).unwrap();
    assert_eq!(store.count(), 0);
    assert_eq!(private_file(dir.path(), DATABASE), private(dir.path()).join(DATABASE));
    assert!(!dir.path().join(DATABASE).exists());
}
