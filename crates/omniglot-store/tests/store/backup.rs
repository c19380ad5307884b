//! Copies of a log that is written, their return under new epochs, and a log that gives its free pages back.

use omniglot_store::{Restored, StoreError, backup, restore, vacuum};

use crate::support::*;

#[tokio::test]
async fn a_copy_of_a_running_log_comes_back_whole_and_refuses_older_cursors() {
    let (dir, store) = temporary();
    let session = create(&store, "a").await;
    append(&store, deltas(&session, 2..=500)).await;
    let copy = dir.path().join("copy.db");
    backup(dir.path(), &copy).unwrap();
    append(&store, deltas(&session, 501..=600)).await;
    let before = store.commit_head().await.unwrap();
    assert!(matches!(restore(dir.path(), &copy), Err(StoreError::Locked { .. })), "a daemon uses it");
    store.close().await.unwrap();
    drop(store);

    let Restored { sessions, replaced } = restore(dir.path(), &copy).unwrap();
    assert_eq!(sessions, 1);
    assert!(replaced.unwrap().exists(), "what was there is kept");
    assert_eq!(faults(dir.path()), [] as [String; 0]);
    let store = open(dir.path());
    let again = store.session(&id("a")).await.unwrap().unwrap();
    assert_eq!(again.last_seq, 500);
    assert_ne!(again.epoch, session.epoch);
    assert_ne!(store.commit_head().await.unwrap().epoch, before.epoch);
    assert_suffix(&read(&store, session.no, after(0)).await.events, "a", 0, 500);
    append(&store, deltas(&again, 501..=501)).await;
}

#[tokio::test]
async fn a_copy_replaces_no_file_and_only_a_log_can_be_put_back() {
    let (dir, store) = temporary();
    create(&store, "a").await;
    let file = dir.path().join("precious");
    std::fs::write(&file, "words").unwrap();
    assert!(backup(dir.path(), &file).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "words");
    assert!(!dir.path().join("precious.part").exists(), "half a copy is left");
    store.close().await.unwrap();
    drop(store);
    assert!(restore(dir.path(), &file).is_err());
    assert!(restore(dir.path(), &dir.path().join("nothing")).is_err());
    let store = open(dir.path());
    assert!(store.session(&id("a")).await.unwrap().is_some(), "nothing was changed");
}

#[tokio::test]
async fn the_pages_of_deleted_sessions_are_given_back_to_the_disk() {
    let (dir, store) = temporary();
    let kept = create(&store, "kept").await;
    let gone = create(&store, "gone").await;
    append(&store, deltas(&gone, 2..=20_000)).await;
    store.delete(gone.no).await.unwrap().unwrap();
    store.close().await.unwrap();
    drop(store);
    let (before, now) = vacuum(dir.path()).unwrap();
    assert!(now * 2 < before, "{before} {now}");
    assert_eq!(faults(dir.path()), [] as [String; 0]);
    let store = open(dir.path());
    assert_eq!(store.session(&id("kept")).await.unwrap().unwrap().epoch, kept.epoch);
}
